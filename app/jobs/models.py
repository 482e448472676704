"""Table of jobs."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base
from app.core.leased import Leased


class Job(Leased, Base):
    """A unit of background work.

    watermark: number of answers when the job was requested
    rerun_wanted: answers arrived while it ran that need another job
    """

    NOUN = "job"
    LEASE = ("lease_owner", "lease_until")
    __tablename__ = "job"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="state"),
        # A campaign has at most one active job of a kind.
        Index(
            "uq_job_active",
            "campaign_id",
            "kind",
            unique=True,
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
        Index(
            "ix_job_active_state", "state", postgresql_where=text("state IN ('queued','running')")
        ),
    )

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    kind: Mapped[str] = mapped_column(String(20), default="learn")
    state: Mapped[str] = mapped_column(String(20), default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    # Nothing reads this (LIKEWISE_JOB_MAX_ATTEMPTS is the limit), but the previous release still
    # writes it.
    max_attempts: Mapped[int] = mapped_column(server_default="3")
    epoch: Mapped[int] = mapped_column(default=0)
    lease_owner: Mapped[str | None] = mapped_column(String(200))
    lease_until: Mapped[datetime | None]
    watermark: Mapped[int] = mapped_column(default=0)
    rerun_wanted: Mapped[bool] = mapped_column(default=False)
    rerun_anew: Mapped[bool] = mapped_column(default=False, server_default="false")
    progress: Mapped[float] = mapped_column(default=0.0)
    metrics: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    error: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
