"""Counts what depends on images and collections, and describes it in one sentence."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.collections.models import Collection
from app.jobs.models import Job
from app.results.models import Model


@dataclass(frozen=True)
class Usage:
    """A campaign that uses images: those at positions below `n_images`."""

    id: UUID
    name: str
    state: str
    n_images: int


@dataclass(frozen=True)
class DependentCampaign:
    id: UUID
    name: str
    state: str
    n_answers: int
    n_models: int
    is_learning: bool


@dataclass(frozen=True)
class Dependents:
    """What is deleted together with a collection. `refusal` says why it cannot be deleted now, if
    so."""

    n_images: int
    n_answers: int
    n_annotators: int
    n_models: int
    campaigns: list[DependentCampaign]
    refusal: str | None

    @property
    def sentence(self) -> str:
        parts = [counted(self.n_images, "image")]
        if self.campaigns:
            parts.append(
                f"{counted(len(self.campaigns), 'campaign')} ({names(self.campaigns)}) with "
                f"{counted(self.n_answers, 'answer')} of {counted(self.n_annotators, 'annotator')} "
                f"and {counted(self.n_models, 'model')}"
            )
        return f"This also deletes {' and '.join(parts)}. This cannot be undone."


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def names(campaigns: list[DependentCampaign] | list[Usage]) -> str:
    """List the first few campaigns with their names and states."""
    told = ", ".join(f"“{one.name}”, {one.state}" for one in campaigns[:5])
    return told + (f" and {len(campaigns) - 5} more" if len(campaigns) > 5 else "")


def usages_of(session: Session, collection: Collection) -> list[Usage]:
    """List the campaigns whose answers or known answers refer to images by position, newest
    first."""
    known = func.unnest(Grid.images).table_valued("position").render_derived().lateral()
    last_known = (
        select(func.max(known.c.position))
        .select_from(Grid)
        .join(known, true())
        .where(Grid.campaign_id == Campaign.id, Grid.role.in_(("practice", "gold")))
        .scalar_subquery()
    )
    n_images = func.greatest(Campaign.n_images, func.coalesce(last_known + 1, 0))
    query = select(Campaign.id, Campaign.name, Campaign.state, n_images.label("n_images"))
    rows = session.execute(
        query.where(Campaign.collection_id == collection.id).order_by(Campaign.id.desc())
    )
    return [Usage(*row) for row in rows if row.n_images]


def dependents_of(session: Session, collection: Collection) -> Dependents:
    answers = (
        select(func.count())
        .where(Answer.campaign_id == Campaign.id, Answer.submitted_at.is_not(None))
        .scalar_subquery()
    )
    models = select(func.count()).where(Model.campaign_id == Campaign.id).scalar_subquery()
    active = select(Job.id).where(
        Job.campaign_id == Campaign.id, Job.state.in_(("queued", "running"))
    )
    query = select(Campaign.id, Campaign.name, Campaign.state, answers, models, active.exists())
    own = query.where(Campaign.collection_id == collection.id)
    campaigns = [
        DependentCampaign(*row) for row in session.execute(own.order_by(Campaign.id.desc()))
    ]
    n_annotators = session.scalar(
        select(func.count())
        .select_from(Annotator)
        .join(Campaign, Annotator.campaign_id == Campaign.id)
        .where(Campaign.collection_id == collection.id)
    )
    return Dependents(
        n_images=collection.n_images,
        n_answers=sum(one.n_answers for one in campaigns),
        n_annotators=n_annotators or 0,
        n_models=sum(one.n_models for one in campaigns),
        campaigns=campaigns,
        refusal=_refusal(campaigns),
    )


def _refusal(campaigns: list[DependentCampaign]) -> str | None:
    going_on = [one for one in campaigns if one.state in ("running", "paused")]
    if going_on:
        return (
            "This collection cannot be deleted while people may be answering its campaigns: "
            f"{names(going_on)}. Finish the campaign first."
        )
    learning = [one for one in campaigns if one.is_learning]
    if learning:
        return (
            "This collection cannot be deleted while a model is being trained on it: "
            f"{names(learning)}. Try again in a few minutes."
        )
    return None
