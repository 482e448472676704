"""Queues for notifications, with the SQS operations that a reader needs."""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import uuid4

from emulators.mturk.errors import Refused
from emulators.mturk.shapes import Document
from emulators.mturk.state import Message, State

VISIBILITY = 30  # seconds; SQS's own default
_ACCOUNT = "000000000000"


def queue_name(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def put(state: State, name: str, body: str) -> None:
    now = state.clock.now()
    state.queues[name].append(Message(str(uuid4()), body, now, now))


def _queue(state: State, params: Document) -> list[Message]:
    name = queue_name(params["QueueUrl"])
    if name not in state.queues:
        raise _no_queue()
    return state.queues[name]


def _no_queue() -> Refused:
    return Refused("The specified queue does not exist.", kind="QueueDoesNotExist")


def _url(origin: str, name: str) -> Document:
    return {"QueueUrl": f"{origin}/{_ACCOUNT}/{name}"}


def create_queue(state: State, params: Document, origin: str) -> Document:
    state.queues.setdefault(params["QueueName"], [])
    return _url(origin, params["QueueName"])


def get_queue_url(state: State, params: Document, origin: str) -> Document:
    if params["QueueName"] not in state.queues:
        raise _no_queue()
    return _url(origin, params["QueueName"])


def is_waiting(state: State, url: str) -> bool:
    """Whether a queue has a visible message now."""
    now = state.clock.now()
    return any(message.visible <= now for message in state.queues.get(queue_name(url), []))


def receive_message(state: State, params: Document, origin: str) -> Document:
    now = state.clock.now()
    waiting = [message for message in _queue(state, params) if message.visible <= now]
    taken = waiting[: params.get("MaxNumberOfMessages", 1)]
    hidden = timedelta(seconds=params.get("VisibilityTimeout", VISIBILITY))
    return {"Messages": [_handed_out(message, now + hidden) for message in taken]} if taken else {}


def _handed_out(message: Message, visible: datetime) -> Document:
    message.visible, message.receipt = visible, str(uuid4())
    message.received += 1
    return {
        "MessageId": message.message_id,
        "ReceiptHandle": message.receipt,
        "MD5OfBody": hashlib.md5(message.body.encode(), usedforsecurity=False).hexdigest(),
        "Body": message.body,
        "Attributes": {"ApproximateReceiveCount": str(message.received)},
    }


def delete_message(state: State, params: Document, origin: str) -> Document:
    queue = _queue(state, params)
    # As in SQS, a handle that is not the newest deletes nothing and causes no error.
    queue[:] = [message for message in queue if message.receipt != params["ReceiptHandle"]]
    return {}


def delete_message_batch(state: State, params: Document, origin: str) -> Document:
    for entry in params["Entries"]:
        delete_message(state, {**params, **entry}, origin)
    return {"Successful": [{"Id": entry["Id"]} for entry in params["Entries"]], "Failed": []}


def get_queue_attributes(state: State, params: Document, origin: str) -> Document:
    queue, now = _queue(state, params), state.clock.now()
    waiting = sum(message.visible <= now for message in queue)
    return {
        "Attributes": {
            "ApproximateNumberOfMessages": str(waiting),
            "ApproximateNumberOfMessagesNotVisible": str(len(queue) - waiting),
        }
    }


def purge_queue(state: State, params: Document, origin: str) -> Document:
    _queue(state, params).clear()
    return {}


OPERATIONS: dict[str, Callable[[State, Document, str], Document]] = {
    "CreateQueue": create_queue,
    "GetQueueUrl": get_queue_url,
    "ReceiveMessage": receive_message,
    "DeleteMessage": delete_message,
    "DeleteMessageBatch": delete_message_batch,
    "GetQueueAttributes": get_queue_attributes,
    "PurgeQueue": purge_queue,
}
