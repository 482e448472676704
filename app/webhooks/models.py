"""Tables of webhooks and what was sent."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified


class Webhook(Identified, Base):
    """An address that an account wants told of events.

    campaign_id: of this campaign only; null for all that the account may see
    secret:      sealed signing key; disabled_at: nothing is sent, `disabled_because` says why
    """

    __tablename__ = "webhook"
    __table_args__ = (CheckConstraint("cardinality(events) > 0", name="events"),)

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), index=True
    )
    campaign_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    url: Mapped[str] = mapped_column(String(2000))
    events: Mapped[list[str]] = mapped_column(ARRAY(String(40)))
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    disabled_at: Mapped[datetime | None]
    disabled_because: Mapped[str] = mapped_column(String(300), default="", server_default="")


class Delivery(Identified, Base):
    """One event for one webhook: what is sent, and how it went. Its own outbox.

    body:    what is signed and sent, byte for byte the same at every attempt
    due_at:  when the next attempt is due; while one is under way, when it counts as lost
    history: of every attempt: when, HTTP status or what went wrong, seconds, the reply's beginning
    """

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state"),
        Index("ix_webhook_delivery_due", "due_at", postgresql_where=text("state = 'pending'")),
        Index("ix_webhook_delivery_webhook_id_id", "webhook_id", "id"),
        Index("ix_webhook_delivery_created_at", "created_at"),
    )

    webhook_id: Mapped[UUID] = mapped_column(ForeignKey("webhook.id", ondelete="CASCADE"))
    event: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="pending")
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]
    history: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default="[]")
