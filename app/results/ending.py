"""The end of a campaign whose model is good enough, before its budget is spent."""

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.campaigns.rounds import end_campaign
from app.jobs.service import request_job


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
