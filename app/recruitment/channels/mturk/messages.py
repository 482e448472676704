"""Messages to workers (NotifyWorkers). MTurk neither takes tokens for them nor lists them, so one
that may have been sent is not sent again."""

from app.recruitment.channel import MAYBE_SENT, ChannelRefused, Message, OutcomeUnknown
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.texts import clipped


def send(api: MTurkApi, message: Message) -> None:
    """Send a message to one worker. Raises ChannelRefused if MTurk does not deliver it, for example
    because no work of this worker was ever approved or rejected, and ChannelError otherwise."""
    if message.unanswered:
        raise ChannelRefused(MAYBE_SENT, "maybe_sent")
    try:
        # As for payments: what may have happened is told apart from what did not.
        reply = api.pay(
            "notify_workers",
            Subject=clipped(message.subject, 200),
            MessageText=message.text,
            WorkerIds=[message.person],
        )
    except OutcomeUnknown as error:
        raise ChannelRefused(MAYBE_SENT, "maybe_sent") from error
    for failure in reply.get("NotifyWorkersFailureStatuses", []):
        why = failure.get("NotifyWorkersFailureMessage") or "no reason was given"
        raise ChannelRefused(f"MTurk did not deliver the message: {why}", "not_delivered")
