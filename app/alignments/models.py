"""The table of alignments."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base
from app.core.leased import Leased


class Alignment(Leased, Base):
    """A feature set aligned with the answers of a campaign.

    progress:      of learning, 0 to 1
    model_version: the campaign's model whose space it maps to
    n_answers:     answers that it learned from
    n_images:      images of the campaign that have a row in the set
    used:          whether the features predict what annotators put together
    figures:       how well they do (app/alignments/figures.py)
    key:           prefix of its objects in storage, empty until it is learned. It stays usable
                   while it is learned again.
    sha256:        of the exported object
    """

    NOUN = "alignment"
    __tablename__ = "feature_alignment"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="state"),
        UniqueConstraint("campaign_id", "set_id", name="uq_feature_alignment_campaign_id"),
        Index(
            "ix_feature_alignment_active_state",
            "state",
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    set_id: Mapped[UUID] = mapped_column(
        ForeignKey("feature_set.id", ondelete="CASCADE"), index=True
    )
    state: Mapped[str] = mapped_column(String(20), default="queued")
    progress: Mapped[float] = mapped_column(default=0.0, server_default="0")
    attempts: Mapped[int] = mapped_column(default=0, server_default="0")
    epoch: Mapped[int] = mapped_column(default=0, server_default="0")
    n_answers: Mapped[int] = mapped_column(default=0, server_default="0")
    n_images: Mapped[int] = mapped_column(default=0, server_default="0")
    model_version: Mapped[int | None]
    used: Mapped[bool | None]
    figures: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    key: Mapped[str] = mapped_column(String(300), default="", server_default="")
    sha256: Mapped[str] = mapped_column(String(64), default="", server_default="")
    lease_until: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
