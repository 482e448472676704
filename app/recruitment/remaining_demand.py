"""How many more people a campaign's plan needs."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.plan_settings import PlanSettings
from app.recruitment.costs import effort_of, seconds_per_grid
from app.recruitment.models import Posting, Recruitment


@dataclass(frozen=True)
class Wanted:
    """What a campaign still needs.

    answers: answers that are still to be given.
    places: assignments that give them, without places that are already open.
    minutes: how long an assignment takes.
    """

    answers: int
    places: int
    minutes: int


def wanted_of(session: Session, campaign: Campaign) -> Wanted:
    """Return what the campaign's plan still needs from people."""
    answers = max(0, campaign.budget - campaign.n_answers)
    plan = PlanSettings.model_validate(campaign.plan)
    effort = effort_of(
        answers=answers,
        answers_per_grid=campaign.answers_per_grid,
        grids_per_assignment=campaign.grids_per_assignment,
        grid_size=campaign.grid_size,
        n_images=campaign.n_images or 0,
        annotation=annotation_of(campaign.annotation),
        seconds_per_grid=seconds_per_grid(session, campaign, plan)[0],
    )
    open_places = select(func.sum(Posting.places - Posting.taken)).where(
        Posting.recruitment_id == Recruitment.id,
        Recruitment.campaign_id == campaign.id,
        Posting.state.in_(("planned", "open", "paused")),
        Posting.taken < Posting.places,
        Posting.compensates.is_(None),
    )
    coming = session.scalar(open_places) or 0
    minutes = max(1, round(effort.minutes_per_assignment))
    return Wanted(answers, max(0, effort.assignments - coming), minutes)
