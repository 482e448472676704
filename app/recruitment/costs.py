"""How much work and money a campaign needs. This is arithmetic; nothing is simulated."""

from dataclasses import dataclass
from math import ceil

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation.models import Answer
from app.campaigns.annotation_settings import AnnotationSettings, annotation_of
from app.campaigns.models import Campaign
from app.campaigns.plan_settings import PlanSettings
from app.features.reading import n_of
from app.kinds import kind_of
from app.recruitment.fees import usual_fees

# Fewer answers say little about how long a grid takes.
ENOUGH_TIMES = 30
# Time for consent, instructions and the last page.
SECONDS_AROUND = 60.0
# What Prolific requires at least, and what it recommends, in cents (US dollars) per hour.
LEAST_HOURLY_CENTS, FAIR_HOURLY_CENTS = 800, 1200


@dataclass(frozen=True)
class Effort:
    """How much work a campaign is for people.

    grids: number of different grids.
    checks: gold grids and repeats, which come on top of the answers.
    views_per_image: how often an image is shown on average.
    minutes_per_assignment: includes practice, checks and the pages around the grids.
    """

    grids: int
    answers: int
    checks: int
    assignments: int
    views_per_image: float
    minutes_per_grid: float
    minutes_per_assignment: float
    hours: float


@dataclass(frozen=True)
class Costs:
    """What a campaign costs, in cents. `fee_percent` is the share of the rewards, rounded.
    `hourly_cents` is what an annotator earns per hour, or None without a reward."""

    rewards_cents: int
    fees_cents: int
    total_cents: int
    fee_percent: float
    hourly_cents: int | None


def effort_of(
    *,
    answers: int,
    answers_per_grid: int,
    grids_per_assignment: int,
    grid_size: int,
    n_images: int,
    annotation: AnnotationSettings,
    seconds_per_grid: float,
) -> Effort:
    """Return the work for `answers` answers. Checks are part of the grids of an assignment."""
    checked = min(annotation.gold_share + annotation.repeat_share, 0.9)
    shown = answers / (1 - checked)
    assignments = ceil(shown / grids_per_assignment)
    per_assignment = SECONDS_AROUND + seconds_per_grid * (
        grids_per_assignment + annotation.practice
    )
    return Effort(
        grids=ceil(answers / answers_per_grid),
        answers=answers,
        checks=round(shown - answers),
        assignments=assignments,
        views_per_image=answers * grid_size / n_images if n_images else 0.0,
        minutes_per_grid=seconds_per_grid / 60,
        minutes_per_assignment=per_assignment / 60,
        hours=assignments * per_assignment / 3600,
    )


def costs_of(effort: Effort, reward_cents: int, plan: PlanSettings) -> Costs:
    """Return the price of this work at `reward_cents` per assignment. Fees are the same as in
    recruiting, unless the requester entered a percentage."""
    rewards = reward_cents * effort.assignments
    if plan.fee_percent is None:
        fees = usual_fees(plan.platform, reward_cents, effort.assignments)
        percent = round(100 * fees / rewards, 1) if rewards else 0.0
    else:
        percent = plan.fee_percent
        fees = round(rewards * percent / 100)
    hourly = round(reward_cents * 60 / effort.minutes_per_assignment) if reward_cents else None
    return Costs(rewards, fees, rewards + fees, percent, hourly)


def effort_for(session: Session, campaign: Campaign, seconds: float) -> Effort:
    """Return the work of the whole budget if a grid takes `seconds`."""
    # A strategy may ask about some of the images only.
    n_images, asked = n_of(session, campaign), campaign.settings.get("n_annotated")
    return effort_of(
        answers=campaign.budget,
        answers_per_grid=campaign.answers_per_grid,
        grids_per_assignment=campaign.grids_per_assignment,
        grid_size=campaign.grid_size,
        n_images=n_images if asked is None else min(asked, n_images),
        annotation=annotation_of(campaign.annotation),
        seconds_per_grid=seconds,
    )


def seconds_per_grid(
    session: Session, campaign: Campaign, settings: PlanSettings
) -> tuple[float, str]:
    """Return the seconds that a grid takes, and where the number comes from: the requester's
    setting, the median of this campaign's answers, the median of the requester's campaigns of this
    kind, or a usual value."""
    if settings.seconds_per_grid is not None:
        return settings.seconds_per_grid, "yours"
    own = Answer.campaign_id == campaign.id
    same_kind = Answer.campaign_id.in_(
        select(Campaign.id).where(
            Campaign.owner_id == campaign.owner_id, Campaign.kind == campaign.kind
        )
    )
    for source, which in (("campaign", own), ("account", same_kind)):
        median, n = session.execute(
            select(func.percentile_cont(0.5).within_group(Answer.elapsed_ms), func.count()).where(
                which, Answer.elapsed_ms.is_not(None)
            )
        ).one()
        if n >= ENOUGH_TIMES and median:
            return max(1.0, float(median) / 1000), source
    return kind_of(campaign).seconds_per_grid, "usual"
