"""What goes with a collection: campaigns, their answers and models."""

from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.annotation.importing.service import IMPORTS
from app.annotation.models import Annotator, Answer
from app.campaigns.locks import keep_out_submissions
from app.campaigns.models import Campaign
from app.collections import hooks
from app.collections.dependents import DependentCampaign, Dependents, names
from app.collections.models import Collection
from app.core.database import advisory_lock
from app.jobs.models import Job
from app.results.models import Model


@hooks.dependents.answered_by
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
        n_answers=sum(campaign.n_answers for campaign in campaigns),
        n_annotators=n_annotators or 0,
        n_models=sum(campaign.n_models for campaign in campaigns),
        campaigns=campaigns,
        refusal=_refusal(campaigns),
    )


def _refusal(campaigns: list[DependentCampaign]) -> str | None:
    going_on = [campaign for campaign in campaigns if campaign.state in ("running", "paused")]
    if going_on:
        return (
            "This collection cannot be deleted while people may be answering its campaigns: "
            f"{names(going_on)}. Finish the campaign first."
        )
    learning = [campaign for campaign in campaigns if campaign.is_learning]
    if learning:
        return (
            "This collection cannot be deleted while a model is being trained on it: "
            f"{names(learning)}. Try again in a few minutes."
        )
    return None


@hooks.lock_campaigns.answered_by
def lock_campaigns(session: Session, collection: Collection) -> set[UUID]:
    """Lock the campaigns over a collection, in the order of their ids; returns these."""
    own = select(Campaign.id).where(Campaign.collection_id == collection.id).order_by(Campaign.id)
    for campaign_id in session.scalars(own).all():
        # Imports refer to the campaign's row before they keep out submissions.
        session.execute(select(advisory_lock(campaign_id, IMPORTS)))
        keep_out_submissions(session, campaign_id)
    return set(session.scalars(own.with_for_update()))


@hooks.delete_campaigns.answered_by
def delete_campaigns(session: Session, campaigns: set[UUID]) -> None:
    """Delete these campaigns with their answers. The caller has locked them."""
    session.execute(delete(Answer).where(Answer.campaign_id.in_(campaigns)))
    session.execute(delete(Campaign).where(Campaign.id.in_(campaigns)))
