"""MTurk's notifications from an SQS queue: hints that it is worth asking MTurk at once.

Whoever may write to the queue may write anything, messages come late, twice or never; so nothing
rests on them but when MTurk is asked next.
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
from app.recruitment.channels.mturk_api import CONNECT_SECONDS, REGION, making_clients
from app.recruitment.channels.mturk_errors import translated

log = logging.getLogger(__name__)
BATCH = 10
MAX_BODY = 262_144
_ID = re.compile(r"[A-Z0-9]{1,64}")
_DOCUMENT = re.compile(r"[\w-]{1,150}", re.ASCII)


@dataclass(frozen=True)
class TurkEvent:
    """event_id: MTurk's id of the message (EventDocId) and the event's number in it; the same
    when a message comes twice. hit_id or assignment_id are empty where the event has none."""

    event_id: str
    event_type: str
    hit_id: str
    assignment_id: str
    at: datetime | None


class MTurkQueue:
    """The operator's queue. Its address's host is who is asked, so that it may be anywhere.

    keys: access key id and secret; None: the server's own AWS credentials
    """

    def __init__(self, url: str, keys: tuple[str, str] | None = None) -> None:
        self._url = url
        self._keys = keys

    def take(self, handle: Callable[[list[TurkEvent]], None], wait_seconds: int = 0) -> int:
        """Give the events of up to ten messages to `handle`, then remove them from the queue.

        Returns how many messages there were. When `handle` raises they stay, and come again.
        Raises ChannelUnavailable.
        """
        messages = self._ask(
            "receive_message",
            QueueUrl=self._url,
            MaxNumberOfMessages=BATCH,
            WaitTimeSeconds=wait_seconds,
        ).get("Messages", [])
        if not messages:
            return 0
        handle([event for one in messages for event in events_of(one.get("Body", ""))])
        for one in messages:
            self._ask("delete_message", QueueUrl=self._url, ReceiptHandle=one["ReceiptHandle"])
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
    """The events of one message; none, and a line in the log, where it is not one of MTurk's."""
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
    events = (_event(f"{name}:{n}", one) for n, one in enumerate(document["Events"]))
    return [event for event in events if event is not None]


def _event(event_id: str, told: object) -> TurkEvent | None:
    if not isinstance(told, dict) or not re.fullmatch(r"[A-Za-z]{1,40}", _text(told, "EventType")):
        return None
    hit_id, assignment_id = (
        text if _ID.fullmatch(text) else ""
        for text in (_text(told, "HITId"), _text(told, "AssignmentId"))
    )
    return TurkEvent(
        event_id, _text(told, "EventType"), hit_id, assignment_id, _time(told, "EventTimestamp")
    )


def _text(told: dict[str, object], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""


def _time(told: dict[str, object], key: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(_text(told, key))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
