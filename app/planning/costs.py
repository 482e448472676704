"""What a campaign asks of people and of the purse: arithmetic, no simulation."""

from dataclasses import dataclass
from math import ceil

from app.annotation.settings import AnnotationSettings
from app.planning.settings import PlanSettings

# Amazon's list: 20 % of the reward, and 20 % more for tasks of ten or more assignments. Prolific's
# for universities and charities; companies pay more.
FEE_PERCENT = {"link": 0.0, "prolific": 33.3, "mturk": 20.0}
MTURK_MANY = (10, 40.0)
# Consent, instructions and the last page.
SECONDS_AROUND = 60.0
# What Prolific asks for at least, and advises, in hundredths of a US dollar an hour.
LEAST_HOURLY_CENTS, FAIR_HOURLY_CENTS = 800, 1200


@dataclass(frozen=True)
class Effort:
    """The size of a campaign in people's work.

    grids: different ones; checks: gold grids and repeats on top of the answers;
    views_per_image: how often an image is shown, on average;
    minutes_per_assignment: with practice, checks and the pages around.
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
    """In hundredths of the currency. hourly_cents: what an annotator earns; None: no reward."""

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
    """Work for `answers` answers. Checks are part of what one assignment holds."""
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
    """The price of that work at `reward_cents` an assignment."""
    percent = plan.fee_percent
    if percent is None:
        percent = FEE_PERCENT[plan.platform]
        many, more = MTURK_MANY
        if plan.platform == "mturk" and effort.assignments >= many:
            percent = more
    rewards = reward_cents * effort.assignments
    fees = round(rewards * percent / 100)
    hourly = round(reward_cents * 60 / effort.minutes_per_assignment) if reward_cents else None
    return Costs(rewards, fees, rewards + fees, percent, hourly)
