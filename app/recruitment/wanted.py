"""How many people a campaign's plan still asks for."""

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
    """answers: still to be given; places: assignments that give them, without those that are being
    recruited already; minutes: what an assignment takes."""

    answers: int
    places: int
    minutes: int


def wanted_of(session: Session, campaign: Campaign) -> Wanted:
    """What the campaign's plan still asks of people."""
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
