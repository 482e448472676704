"""The table of dry runs."""

from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Base, Identified


class DryRun(Identified, Base):
    """A campaign simulated with a simulated crowd.

    asked: the crowd (`by`, `annotators`, `noise`), the design, and how many images.
    ends: the last points of simulated campaigns of several budgets (app.planning.dry_run.Point), in
        the order in which they finished.
    rounds: the points of the campaign's own budget.
    picture: the last model of that budget, {"images": positions, "x": [...], "y": [...]}.
    """

    __tablename__ = "dry_run"

    campaign_id: Mapped[UUID] = mapped_column(
        ForeignKey("campaign.id", ondelete="CASCADE"), index=True
    )
    job_id: Mapped[UUID] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), unique=True)
    asked: Mapped[dict[str, Any]] = mapped_column(JSONB)
    ends: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default="[]")
    rounds: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list, server_default="[]")
    picture: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
