"""The outbox: background tasks are asked for in the transaction that needs them.

A row written here commits or rolls back with the answer or the campaign that caused it. The
dispatcher (`workers/dispatcher.py`) hands it to Celery by name; losing Redis or a process between
the two loses nothing.
"""

from datetime import datetime
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
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import latest_now
from app.core.database import Base

NOTIFY_CHANNEL = "likewise_outbox"


class OutboxMessage(Base):
    """One task to be handed to Celery; `dispatched_at` is null until that was tried, `refused`
    says why it could not be done."""

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


def sent_since(moment: datetime) -> ColumnElement[bool]:
    """Whether a message waits, or was sent between then and now.

    A clock that was put back leaves messages of the future: they count as lost, since they could
    be, and one too many is harmless.
    """
    sent = OutboxMessage.dispatched_at
    return or_(sent.is_(None), sent.between(moment, latest_now()))


def send_after_commit(
    session: Session, task: str, arguments: dict[str, Any], job_id: UUID | None = None
) -> None:
    """Ask for Celery task `task` to run with JSON `arguments` once the transaction commits."""
    row = {"task": task, "arguments": arguments, "job_id": job_id}
    # Nothing is read back, as its number would be: requests of requesters may not.
    session.execute(insert(OutboxMessage).inline(), row)
    session.execute(func.pg_notify(NOTIFY_CHANNEL, "").select())
