"""The end of a campaign whose model is good enough, before its budget is spent."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.campaigns.rounds import end_campaign
from app.jobs.service import request_job
from app.results.models import Model
from app.results.settled import end_of


def end_when_enough(session: Session, campaign: Campaign, n_learned: int) -> None:
    """End a campaign, whose row is locked. n_learned: number of answers its newest model learned
    from."""
    if campaign.n_reopened:
        # Only the places that somebody has agreed to pay for again are asked before the end.
        campaign.reopened_only = True
        return
    end_campaign(session, campaign)
    if campaign.n_finished > n_learned:
        # Answers that arrived while the model was fitted were paid for, too.
        request_job(session, campaign.id, campaign.n_answers)


def note_end(campaign: Campaign, model: Model) -> None:
    """Note with the model that it ended the campaign: now, or when the places that are asked again
    are filled."""
    assert model.settled is not None
    model.settled = {**model.settled, "ended_at": end_of(campaign)}


def end_after_asking_again(session: Session, campaign: Campaign) -> None:
    """End a campaign that ran only for places that were asked again. If a model had ended it
    before, that is still the reason."""
    end_campaign(session, campaign)
    ended = select(Model).where(
        Model.campaign_id == campaign.id, Model.settled["ended_at"].astext.is_not(None)
    )
    model = session.scalar(ended.order_by(Model.version.desc()).limit(1))
    if model is not None:
        note_end(campaign, model)
