"""Prolific's signed notifications: checking that they are genuine and recent, and reading them.

Notifications only tell that something changed. The receiver reads the actual state from Prolific.
From docs.prolific.com, Webhooks: the signature is base64(HMAC-SHA256(secret,
X-Prolific-Request-Timestamp + body)).
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict, ValidationError

from app.core.errors import LikewiseError

EVENT_TYPES = ("submission.status.change", "study.status.change")
# Prolific documents no limit; this one is our judgement (reliability.md §1b).
MOST_SKEW = timedelta(minutes=5)
_SIGNATURE = "x-prolific-request-signature"
_TIMESTAMP = "x-prolific-request-timestamp"
_EVENT = "x-event-id"
_SENT = "x-timestamp"


class BadHook(LikewiseError):
    """The notification is not from Prolific or not recent, so nothing is done."""

    code = "bad_hook"
    status = 401


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")

    event_type: str
    resource_id: str
    status: str = ""
    participant_id: str = ""


@dataclass(frozen=True)
class HookEvent:
    """The content of a notification.

    seen_keys: remember both, and ignore later notifications with either. Prolific sends an event
        again under the same id with a new signature. Someone who replays a body under another id,
        which is not signed, repeats the signature.
    sent_at: tells which of two notifications is newer.
    submission, study: the id of what changed; the other one is "".
    """

    event_id: str
    seen_keys: tuple[str, str]
    sent_at: datetime
    event_type: str
    status: str
    submission: str = ""
    study: str = ""
    participant: str = ""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of `X-Prolific-Request-Signature`."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def verified(headers: Mapping[str, str], raw_body: bytes, secret: str, now: datetime) -> HookEvent:
    """Return the event of a request. `raw_body` must be its bytes as they came, before any parsing.

    Raises BadHook for a wrong signature, for one that is more than five minutes old or in the
    future, or for missing headers.
    """
    header_values = {name.lower(): value for name, value in headers.items()}
    given, stamp, event = (header_values.get(name, "") for name in (_SIGNATURE, _TIMESTAMP, _EVENT))
    if not (given and stamp and event):
        raise BadHook("The notification lacks one of Prolific's headers.", code="hook_headers")
    # Bytes are compared, because compare_digest accepts only ASCII text.
    if not hmac.compare_digest(signature(secret, stamp, raw_body).encode(), given.encode()):
        raise BadHook("The notification's signature is wrong.", code="hook_signature")
    signed_at = _moment(stamp)
    if abs(now - signed_at) > MOST_SKEW:
        raise BadHook("The notification is too old or from the future.", code="hook_time")
    return _event(event, given, _moment(header_values.get(_SENT, stamp)), raw_body)


def _event(event: str, given: str, sent_at: datetime, raw_body: bytes) -> HookEvent:
    try:
        body = _Body.model_validate_json(raw_body)
    except ValidationError as error:
        raise BadHook("The notification's body is not valid.", code="hook_body") from error
    of_submission = body.event_type.startswith("submission.")
    return HookEvent(
        event_id=event[:200],
        seen_keys=(
            f"id:{hashlib.sha256(event.encode()).hexdigest()}",
            f"signature:{hashlib.sha256(given.encode()).hexdigest()}",
        ),
        sent_at=sent_at,
        event_type=body.event_type,
        status=body.status,
        submission=body.resource_id if of_submission else "",
        study="" if of_submission else body.resource_id,
        participant=body.participant_id,
    )


def _moment(text: str) -> datetime:
    """Convert seconds since 1970. Raises BadHook for anything else."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise BadHook("The notification's time is not valid.", code="hook_time") from error
