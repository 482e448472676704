"""Answers with what was done when, to be played back."""

from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.collections.media import image_url

NEWEST = 30


class ReplayImage(BaseModel):
    image: int
    url: str


class ReplayOut(BaseModel):
    """One answer; the trace as the page sent it (docs/annotator-api.md)."""

    grid: int
    role: str
    submitted_at: str
    elapsed_ms: int | None
    images: list[ReplayImage]
    groups: list[int]
    truth: list[int] | None
    agreement: float | None
    descriptions: list[str]
    device: dict[str, Any] | None
    trace: list[Any]


def read_replays(session: Session, campaign: Campaign, position: int) -> list[ReplayOut]:
    """The newest answers of annotator `position`, the newest first; none for an unknown one."""
    query = (
        select(Answer, Grid)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(
            Answer.campaign_id == campaign.id,
            Annotator.position == position,
            Answer.state.in_(FINISHED),
        )
        .order_by(Answer.submitted_at.desc())
        .limit(NEWEST)
    )
    return [_replay(session, campaign, answer, grid) for answer, grid in session.execute(query)]


def _replay(session: Session, campaign: Campaign, answer: Answer, grid: Grid) -> ReplayOut:
    images = images_at(session, campaign, grid.images)
    return ReplayOut(
        grid=grid.id,
        role=grid.role,
        submitted_at=answer.submitted_at.isoformat() if answer.submitted_at else "",
        elapsed_ms=answer.elapsed_ms,
        images=[ReplayImage(image=image.position, url=image_url(image)) for image in images],
        groups=answer.groups or [],
        truth=grid.truth,
        agreement=answer.agreement,
        descriptions=answer.descriptions,
        device=answer.device,
        trace=answer.trace,
    )
