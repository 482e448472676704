"""The outbox: background tasks are requested in the transaction that needs them.

A row written here commits or rolls back together with the answer or campaign that caused it. The
dispatcher (`workers/dispatcher.py`) sends it to Celery by name. If Redis or a process fails in
between, nothing is lost.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Identity,
    Index,
    String,
    Text,
    func,
    insert,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import latest_now
from app.core.database import Base
from app.core.settings import get_settings

NOTIFY_CHANNEL = "likewise_outbox"


class OutboxMessage(Base):
    """One task to send to Celery. `dispatched_at` is null until that was tried; `refused` says why
    it failed."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index("ix_outbox_waiting", "id", postgresql_where=text("dispatched_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    task: Mapped[str] = mapped_column(String(200))
    arguments: Mapped[dict[str, Any]] = mapped_column(JSONB)
    job_id: Mapped[UUID | None] = mapped_column(index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    dispatched_at: Mapped[datetime | None]
    refused: Mapped[str | None] = mapped_column(Text)


def counts_as_lost() -> datetime:
    """Return the time before which a message was sent that counts as lost."""
    return datetime.now(UTC) - timedelta(seconds=get_settings().redispatch_seconds)


def has_recent_message(**columns: object) -> ColumnElement[bool]:
    """Return the condition that a message with these values is waiting, or was sent recently.

    If the clock was set back, messages can have times in the future. They count as lost, because
    they may be, and an extra message is harmless.
    """
    sent = OutboxMessage.dispatched_at
    recent = or_(sent.is_(None), sent.between(counts_as_lost(), latest_now()))
    named = (getattr(OutboxMessage, name) == value for name, value in columns.items())
    return select(OutboxMessage.id).where(recent, *named).exists()


def send_after_commit(
    session: Session, task: str, arguments: dict[str, Any], job_id: UUID | None = None
) -> None:
    """Request that Celery task `task` runs with JSON `arguments` once the transaction commits."""
    row = {"task": task, "arguments": arguments, "job_id": job_id}
    # The row's id is not read back, because requesters' requests may not read this table.
    session.execute(insert(OutboxMessage).inline(), row)
    session.execute(func.pg_notify(NOTIFY_CHANNEL, "").select())
