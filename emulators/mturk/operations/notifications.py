"""The queues to which a HIT type's events are sent."""

from emulators.mturk import notices
from emulators.mturk.errors import Refused, not_emulated
from emulators.mturk.operations.call import Call, operation
from emulators.mturk.queue import queue_name
from emulators.mturk.shapes import Document

# The reference names the newer version, the service model's text the older one.
VERSIONS = ("2014-08-15", "2006-05-05")


def _checked(call: Call, notification: Document) -> Document:
    if notification["Transport"] != "SQS":
        raise not_emulated(f"Transport {notification['Transport']}")
    if notification["Version"] not in VERSIONS:
        raise Refused(f"Version must be one of {VERSIONS}.", "InvalidParameterValue")
    if not notification["EventTypes"]:
        raise Refused("EventTypes is empty.", "InvalidParameterValue")
    if queue_name(notification["Destination"]) not in call.state.queues:
        raise Refused("The queue does not exist.", "InvalidTransportEndpoint")
    return notification


@operation("UpdateNotificationSettings")
def update_notification_settings(call: Call) -> Document:
    kind, params = call.hit_type(), call.params
    if "Notification" not in params and "Active" not in params:
        raise Refused("Notification or Active must be given.", "InvalidParameterValue")
    if "Notification" in params:
        wanted = _checked(call, params["Notification"])
        if "Ping" in wanted["EventTypes"]:
            raise Refused("Ping is for SendTestEventNotification only.", "InvalidParameterValue")
        # "If you specify a notification but not Active, it becomes active" (API reference).
        kind.notification, kind.notifying = wanted, True
    if params.get("Active") and kind.notification is None:
        raise Refused("There is no notification to activate.", "InvalidParameterValue")
    kind.notifying = params.get("Active", kind.notifying)
    return {}


@operation("SendTestEventNotification")
def send_test_event(call: Call) -> Document:
    wanted, event = _checked(call, call.params["Notification"]), call.params["TestEventType"]
    what: Document = {"HITTypeId": call.state.new_id(), "HITId": call.state.new_id()}
    if event.startswith("Assignment"):
        what["AssignmentId"] = call.state.new_id()
    if event != "Ping" and event not in wanted["EventTypes"]:
        return {}
    notices.send(call.state, call.owner, wanted, event, what)
    return {}
