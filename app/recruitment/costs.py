"""What recruiting costs, in cents: platforms' fees, of which each channel says what it takes; a
recruitment before anyone is recruited; and the work that a campaign's plan needs or still needs.
This is arithmetic; nothing is simulated."""

from dataclasses import dataclass
from math import ceil

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotation import hooks
from app.annotation.models import Answer
from app.campaigns.annotation_settings import AnnotationSettings, annotation_of
from app.campaigns.asking import n_asked
from app.campaigns.models import Campaign
from app.campaigns.plan_settings import PlanSettings
from app.kinds import kind_of
from app.recruitment.channel import Cost
from app.recruitment.channels.paid import Paid
from app.recruitment.channels.registry import LINK, get_channel
from app.recruitment.models import Posting, Recruitment
from app.recruitment.settings import paid_settings, settings_model

# Fewer answers say little about how long a grid takes.
ENOUGH_TIMES = 30
# Time for consent, instructions and the last page.
SECONDS_AROUND = 60.0
# What Prolific requires at least, and what it recommends, in cents (US dollars) per hour.
LEAST_HOURLY_CENTS, FAIR_HOURLY_CENTS = 800, 1200


def posting_cost(channel: str, reward_cents: int, places: int) -> Cost:
    """Return what `places` rewards of one posting cost."""
    return Cost(reward_cents * places, reward_fee(channel, reward_cents, places) * places)


def reward_fee(channel: str, reward_cents: int, places: int) -> int:
    """Return the fee for one reward of a posting with so many places."""
    return 0 if channel == LINK else get_channel(channel).reward_fee(reward_cents, places)


def bonus_fee(channel: str, amount_cents: int) -> int:
    """Return the fee for a bonus."""
    return 0 if channel == LINK else get_channel(channel).bonus_fee(amount_cents)


def usual_fees(channel: str, reward_cents: int, places: int) -> int:
    """Return the fees for so many places with the channel's default settings."""
    if channel == LINK:
        return 0
    spec = get_channel(channel)
    sizes = spec.split(places, spec.settings())
    return sum(posting_cost(channel, reward_cents, size).fee_cents for size in sizes)


def reward_of(recruitment: Recruitment, posting: Posting) -> int:
    """Return what a posting pays for each place, in cents."""
    paid = posting.amount_cents
    return recruitment.reward_cents if paid is None else paid


def cost_of_places(recruitment: Recruitment, places: list[int]) -> int:
    """Return what postings of these sizes cost together with fees, in cents."""
    return sum(
        posting_cost(recruitment.channel, recruitment.reward_cents, size).total_cents
        + cost_of_screen_outs(recruitment, size, 0, "open")
        for size in places
    )


def cost_of_screen_outs(recruitment: Recruitment, places: int, n_paid: int, state: str) -> int:
    """Return the cost of people who failed all practice. A platform that pays for that pays as many
    of them as there are places, in addition to the places."""
    settings = settings_model(recruitment.channel).model_validate(recruitment.settings)
    cents = (settings.failed_practice_cents if isinstance(settings, Paid) else None) or 0
    n = n_paid if state == "closed" else max(places, n_paid)
    return n * (cents + bonus_fee(recruitment.channel, cents))


def cost_of_bonus(recruitment: Recruitment, cents: int) -> int:
    """Return the cost of a bonus with the platform's fee."""
    return cents + bonus_fee(recruitment.channel, cents)


@dataclass(frozen=True)
class Estimate:
    """A recruitment's cost, in cents.

    screen_outs_cents: the cost, with fees, if there are as many screen-outs as places.
    bonuses_cents: the maximum, if everyone earns every bonus.
    """

    rewards_cents: int
    fees_cents: int
    screen_outs_cents: int
    bonuses_cents: int
    bonus_fees_cents: int

    @property
    def places_cents(self) -> int:
        """What opening the recruitment commits immediately."""
        return self.rewards_cents + self.fees_cents + self.screen_outs_cents

    @property
    def total_cents(self) -> int:
        return self.places_cents + self.bonuses_cents + self.bonus_fees_cents


def sizes_of(recruitment: Recruitment, places: int | None = None) -> list[int]:
    """Return the places of each posting that these places, or all of the recruitment's, are split
    into."""
    channel = get_channel(recruitment.channel)
    return channel.split(places or recruitment.places, paid_settings(recruitment))


def estimate_of(recruitment: Recruitment) -> Estimate:
    """Return what a recruitment costs. It need not be stored."""
    sizes = sizes_of(recruitment)
    costs = [
        posting_cost(recruitment.channel, recruitment.reward_cents, places) for places in sizes
    ]
    places_cents = sum(cost.total_cents for cost in costs)
    each = paid_settings(recruitment).most_bonuses_cents
    bonus_fees = sum(bonus_fee(recruitment.channel, cents) for cents in each)
    return Estimate(
        rewards_cents=sum(cost.reward_cents for cost in costs),
        fees_cents=sum(cost.fee_cents for cost in costs),
        screen_outs_cents=cost_of_places(recruitment, sizes) - places_cents,
        bonuses_cents=sum(each) * recruitment.places,
        bonus_fees_cents=bonus_fees * recruitment.places,
    )


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
    n_images, asked = n_asked(session, campaign), campaign.settings.get("n_annotated")
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


def _effort_of_answers(session: Session, campaign: Campaign, n: int, seconds: float) -> Effort:
    """Return the work of `n` more answers if a grid takes `seconds`."""
    return effort_of(
        answers=n,
        answers_per_grid=campaign.answers_per_grid,
        grids_per_assignment=campaign.grids_per_assignment,
        grid_size=campaign.grid_size,
        n_images=n_asked(session, campaign),
        annotation=annotation_of(campaign.annotation),
        seconds_per_grid=seconds,
    )


@hooks.cost_of_answers.answered_by
def cost_of_answers(session: Session, campaign: Campaign, n: int) -> int:
    """Return about what `n` more answers cost with fees, in cents: whole assignments at the
    campaign's reward."""
    # The time per grid does not affect prices.
    effort = _effort_of_answers(session, campaign, n, kind_of(campaign).seconds_per_grid)
    plan = PlanSettings.model_validate(campaign.plan)
    return costs_of(effort, campaign.reward_cents, plan).total_cents


def wanted_of(session: Session, campaign: Campaign) -> Wanted:
    """Return what the campaign's plan still needs from people."""
    answers = campaign.n_left
    plan = PlanSettings.model_validate(campaign.plan)
    effort = _effort_of_answers(
        session, campaign, answers, seconds_per_grid(session, campaign, plan)[0]
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
