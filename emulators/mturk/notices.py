"""Notices of events, which are sent to the queue that a HIT type names.

The body is as documented: EventDocVersion, EventDocId, CustomerId and Events. The same EventDocId
can come twice "in rare cases", which the fault `duplicate_notifications` causes.
"""

from datetime import datetime
from uuid import uuid4

import orjson

from emulators.mturk.queue import put, queue_name
from emulators.mturk.records import Assignment, Hit
from emulators.mturk.shapes import Document
from emulators.mturk.state import State


def tell(
    state: State,
    event: str,
    hit: Hit,
    assignment: Assignment | None = None,
    at: datetime | None = None,
) -> None:
    """Send a notice if the HIT's type subscribes to this kind of event."""
    wanted = hit.hit_type.notification
    if not hit.hit_type.notifying or wanted is None or event not in wanted["EventTypes"]:
        return
    what: Document = {"HITTypeId": hit.hit_type.hit_type_id, "HITId": hit.hit_id}
    if assignment:
        what["AssignmentId"] = assignment.assignment_id
    send(state, hit.owner, wanted, event, what, at)


def send(
    state: State,
    owner: str,
    wanted: Document,
    event: str,
    what: Document,
    at: datetime | None = None,
) -> None:
    stamp = (at or state.clock.now()).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "EventDocVersion": wanted["Version"],
        "EventDocId": uuid4().hex,
        "CustomerId": state.requesters[owner].customer_id,
        "Events": [{"EventType": event, "EventTimestamp": stamp, **what}],
    }
    for _ in range(2 if state.faults.twice() else 1):
        put(state, queue_name(wanted["Destination"]), orjson.dumps(body).decode())
