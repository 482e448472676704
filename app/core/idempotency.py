"""Idempotency keys: a request sent twice takes effect once and gets the same response.

The response is stored in the transaction that had the effect, so a crash loses both or neither.
This follows the Internet-Draft "The Idempotency-Key HTTP Header Field" of the IETF's httpapi
working group. A failed request has changed nothing and stores no response, so it can be tried
again.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary, String, delete, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.database import Base
from app.core.errors import Conflict, InvalidInput
from app.core.security import decrypt, encrypt

KEPT = timedelta(hours=24)
KEPT_HEADERS = ("content-type", "location")
PURPOSE = "idempotent-reply"


class KeyReused(InvalidInput):
    """The key was used with a different request before."""

    code = "idempotency_key_reused"


class KeyInFlight(Conflict):
    """The first request with this key has not ended yet."""

    code = "idempotency_key_in_flight"


class StoredResponse(Base):
    """The stored response to a request with a key. It is encrypted, because it may contain a secret
    that is shown only once."""

    __tablename__ = "kept_reply"

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True
    )
    route: Mapped[str] = mapped_column(String(500), primary_key=True)
    key: Mapped[str] = mapped_column(String(100), primary_key=True)
    request_hash: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    headers: Mapped[dict[str, Any]] = mapped_column(JSONB)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)


@dataclass(frozen=True)
class IdempotentRequest:
    """A request with a key: its account, its method and path, and a hash of its content."""

    account_id: UUID
    route: str
    key: str
    request_hash: str


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


def earlier_reply(session: Session, request: IdempotentRequest) -> Reply | None:
    """Return the stored response to this request if it was answered before. Otherwise this
    transaction holds the key until it ends.

    Raises KeyInFlight while another transaction holds it, KeyReused for another request.
    """
    text = f"{request.account_id} {request.route} {request.key}".encode()
    number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big", signed=True)
    if not session.scalar(select(func.pg_try_advisory_xact_lock(number))):
        raise KeyInFlight(
            "The first request with this Idempotency-Key is still being processed. Try "
            "again in a moment."
        )
    # This must be a separate statement, so that it sees what the lock's last holder has committed.
    kept = session.get(StoredResponse, (request.account_id, request.route, request.key))
    if kept is None or kept.created_at < datetime.now(UTC) - KEPT:
        return None
    if kept.request_hash != request.request_hash:
        raise KeyReused(
            "This Idempotency-Key was already used for a different request. Use a new key "
            "for each request, and reuse a key only to send the same request again."
        )
    body = decrypt(PURPOSE, kept.body)
    return Reply(kept.status, kept.headers, body) if body is not None else None


def keep_reply(session: Session, request: IdempotentRequest, reply: Reply) -> None:
    """Store the response, in the transaction of the change that it describes."""
    identity = (request.account_id, request.route, request.key)
    outdated = session.get(StoredResponse, identity)
    if outdated is not None:
        session.delete(outdated)
        session.flush()
    session.add(
        StoredResponse(
            account_id=request.account_id,
            route=request.route,
            key=request.key,
            request_hash=request.request_hash,
            status=reply.status,
            headers={name: reply.headers[name] for name in KEPT_HEADERS if name in reply.headers},
            body=encrypt(PURPOSE, reply.body),
        )
    )
    session.flush()


def forget_old_replies(session: Session) -> None:
    """Delete responses that are older than a day."""
    session.execute(
        delete(StoredResponse)
        .where(StoredResponse.created_at < datetime.now(UTC) - KEPT)
        .execution_options(synchronize_session=False)
    )
