"""Tables of webhooks and their deliveries."""

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
from app.core.work import Attempted


class Webhook(Identified, Base):
    """An address to which an account wants events sent.

    campaign_id: send only events of this campaign; null for all that the account can see
    secret:      encrypted signing key
    disabled_at: if set, nothing is sent, and `disabled_because` says why
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


class Delivery(Attempted, Base):
    """One event for one webhook: its content, and the result. The table is its own outbox.

    body:    what is signed and sent, byte for byte the same at every attempt
    history: of every attempt: time, HTTP status or error, seconds, the beginning of the response
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
