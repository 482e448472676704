"""Prolific's signed notifications: is this one real, fresh, and what does it tell?

They are hints: what is so is read from Prolific by who receives one. docs.prolific.com, Webhooks:
the signature is base64(HMAC-SHA256(secret, X-Prolific-Request-Timestamp + body)).
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
# [reliability.md §1b, judgement] Prolific names no limit.
MOST_SKEW = timedelta(minutes=5)
_SIGNATURE = "x-prolific-request-signature"
_TIMESTAMP = "x-prolific-request-timestamp"
_EVENT = "x-event-id"
_SENT = "x-timestamp"


class BadHook(LikewiseError):
    """The notification is not Prolific's, or not of now: nothing is done."""

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
    """What a notification tells.

    seen_keys: remember both and take no second notification with either. Prolific sends an event
    again under the same id with a new signature; who replays a body under another id, which is not
    signed, repeats the signature.
    sent_at: for telling which of two is the newer one
    submission, study: the id of what changed; "" for the one that it is not
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
    """The value of `X-Prolific-Request-Signature`."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def verified(headers: Mapping[str, str], raw_body: bytes, secret: str, now: datetime) -> HookEvent:
    """The event of a request. raw_body: its bytes as they came, before any parsing.

    Raises BadHook for a wrong signature, one that is older or newer than five minutes, or missing
    headers.
    """
    found = {name.lower(): value for name, value in headers.items()}
    given, stamp, event = (found.get(name, "") for name in (_SIGNATURE, _TIMESTAMP, _EVENT))
    if not (given and stamp and event):
        raise BadHook("The notification lacks one of Prolific's headers.", code="hook_headers")
    # Compared as bytes: compare_digest takes no text beyond ASCII.
    if not hmac.compare_digest(signature(secret, stamp, raw_body).encode(), given.encode()):
        raise BadHook("The notification's signature is wrong.", code="hook_signature")
    signed_at = _moment(stamp)
    if abs(now - signed_at) > MOST_SKEW:
        raise BadHook("The notification is too old or from the future.", code="hook_time")
    return _event(event, given, _moment(found.get(_SENT, stamp)), raw_body)


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
    """Of seconds since 1970; raises BadHook for anything else."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise BadHook("The notification's time is not valid.", code="hook_time") from error
