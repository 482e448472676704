"""MTurk's notifications from an SQS queue. They only tell that it is worth asking MTurk now.

Anyone who can write to the queue can write anything, and messages can arrive late, twice or never.
So they influence only when MTurk is asked next.
"""

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.recruitment.channel import ChannelUnavailable
from app.recruitment.channels.mturk.api import CONNECT_SECONDS, REGION, making_clients
from app.recruitment.channels.mturk.errors import translated

log = logging.getLogger(__name__)
BATCH = 10
MAX_BODY = 262_144
_ID = re.compile(r"[A-Z0-9]{1,64}")
_DOCUMENT = re.compile(r"[\w-]{1,150}", re.ASCII)


@dataclass(frozen=True)
class TurkEvent:
    """An event. `event_id` is MTurk's id of the message (EventDocId) with the event's number in it,
    so it is the same if a message arrives twice. `hit_id` or `assignment_id` is empty if the event
    has none."""

    event_id: str
    event_type: str
    hit_id: str
    assignment_id: str
    at: datetime | None


class MTurkQueue:
    """The operator's queue. Requests go to the host of its address, so it can be anywhere.

    keys: access key id and secret; None uses the server's own AWS credentials.
    """

    def __init__(self, url: str, keys: tuple[str, str] | None = None) -> None:
        self._url = url
        self._keys = keys

    def take(self, handle: Callable[[list[TurkEvent]], None], wait_seconds: int = 0) -> int:
        """Pass the events of up to ten messages to `handle`, then remove the messages from the
        queue.

        Return how many messages there were. If `handle` raises, they stay in the queue and come
        again. Raises ChannelUnavailable.
        """
        messages = self._ask(
            "receive_message",
            QueueUrl=self._url,
            MaxNumberOfMessages=BATCH,
            WaitTimeSeconds=wait_seconds,
        ).get("Messages", [])
        if not messages:
            return 0
        handle([event for message in messages for event in events_of(message.get("Body", ""))])
        for message in messages:
            self._ask("delete_message", QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)

    def _ask(self, operation: str, **parameters: object) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = getattr(self._client, operation)(**parameters)
        except (ClientError, BotoCoreError) as error:
            raise ChannelUnavailable(f"Notification queue: {translated(error)}") from error
        return reply

    @cached_property
    def _client(self) -> Any:
        parts = urlsplit(self._url)
        region = re.fullmatch(r"sqs\.([a-z0-9-]+)\.amazonaws\.com", parts.hostname or "")
        key, secret = self._keys or (None, None)
        with making_clients:
            session = boto3.session.Session(
                aws_access_key_id=key,
                aws_secret_access_key=secret,
                region_name=region[1] if region else REGION,
            )
            return session.client(
                "sqs",
                endpoint_url=f"{parts.scheme}://{parts.netloc}",
                config=Config(
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=40,
                    retries={"mode": "standard", "total_max_attempts": 2},
                ),
            )


def events_of(body: str) -> list[TurkEvent]:
    """Return the events of one message. If it is not from MTurk, this is logged and there are
    none."""
    try:
        document = json.loads(body) if len(body) <= MAX_BODY else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("Events"), list):
        log.warning("dropped a message in MTurk's queue that is not from MTurk")
        return []
    name = document.get("EventDocId")
    if not isinstance(name, str) or not _DOCUMENT.fullmatch(name):
        log.warning("dropped a message in MTurk's queue that has no EventDocId")
        return []
    events = (_event(f"{name}:{n}", entry) for n, entry in enumerate(document["Events"]))
    return [event for event in events if event is not None]


def _event(event_id: str, fields: object) -> TurkEvent | None:
    if not isinstance(fields, dict) or not re.fullmatch(
        r"[A-Za-z]{1,40}", _text(fields, "EventType")
    ):
        return None
    hit_id, assignment_id = (
        text if _ID.fullmatch(text) else ""
        for text in (_text(fields, "HITId"), _text(fields, "AssignmentId"))
    )
    return TurkEvent(
        event_id, _text(fields, "EventType"), hit_id, assignment_id, _time(fields, "EventTimestamp")
    )


def _text(fields: dict[str, object], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _time(fields: dict[str, object], key: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(_text(fields, key))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
