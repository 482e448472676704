"""Monitors a campaign: pace, cost, when it will end, and what needs attention."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Answer, Remark
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.plan_settings import PlanSettings
from app.jobs.models import Job
from app.jobs.service import CHOOSE
from app.kinds import kind_of
from app.recruitment.costs import costs_of, effort_for
from app.recruitment.report import spending_of
from app.results.models import Model
from app.results.settled import end_of

Unit = Literal["minute", "hour", "day"]
# Maximum number of bars in the chart; a longer campaign has wider ones.
MOST_BARS = 90
STEPS: dict[Unit, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
# So many of the newest answers show how long a grid takes now.
NEWEST = 500
# A campaign is quiet after this time without an answer.
QUIET = timedelta(minutes=30)
# A job that no worker took for this time probably has none.
NO_WORKER = timedelta(seconds=60)
RATE_WINDOW = timedelta(hours=1)

# Above this number of answers, the chart may be some seconds old.
MANY_ANSWERS, KEPT_SECONDS, MOST_KEPT = 20_000, 20.0, 200
_kept: dict[UUID, tuple[float, "Activity"]] = {}

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Activity:
    """The chart. points: (start of the bar, answers, people who answered), oldest first; bars
    without any answer are omitted."""

    unit: Unit
    points: list[tuple[datetime, int, int]]


@dataclass(frozen=True)
class Alert:
    """Something that needs attention: a stable code, and a sentence."""

    level: Level
    code: str
    text: str


@dataclass(frozen=True)
class Monitor:
    """ready_grids: grids that could be shown now; seconds_per_grid: median of the newest answers;
    spent, projected: cents of `currency`, including fees; ends_at: at the pace of the last hour."""

    activity: Activity
    ready_grids: int
    seconds_per_grid: float | None
    currency: str
    spent_cents: int
    projected_cents: int
    ends_at: datetime | None
    alerts: list[Alert]


def read_monitor(
    session: Session, campaign: Campaign, jobs: Sequence[Job | None], now: datetime
) -> Monitor:
    """Return all of this, from a limited part of the answers. jobs: the newest learning job, and
    the one that chooses images, if there are such jobs."""
    last = _last_answer(session, campaign)
    costs = _costs(session, campaign)
    return Monitor(
        activity=_activity(session, campaign, last),
        ready_grids=_ready_grids(session, campaign),
        seconds_per_grid=_seconds_per_grid(session, campaign),
        currency=costs.currency,
        spent_cents=costs.spent_cents,
        projected_cents=costs.projected_cents,
        ends_at=_ends_at(session, campaign, now),
        alerts=_alerts(session, campaign, jobs, last, now),
    )


def _activity(session: Session, campaign: Campaign, last: datetime | None) -> Activity:
    """For a large campaign this is read less often, because it reads all answers of the chart."""
    if campaign.n_answers < MANY_ANSWERS:
        return read_activity(session, campaign, last)
    kept = _kept.get(campaign.id)
    if kept is None or time.monotonic() - kept[0] > KEPT_SECONDS:
        # Several pages may read it at the same moment, but that happens only once per interval.
        kept = _kept[campaign.id] = (time.monotonic(), read_activity(session, campaign, last))
        while len(_kept) > MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
    return kept[1]


def _given_here(campaign: Campaign) -> tuple[ColumnElement[bool], ...]:
    """Return SQL for the answers that show the campaign's pace; imported ones were given
    elsewhere."""
    return Answer.campaign_id == campaign.id, Answer.imported_as.is_(None)


def _last_answer(session: Session, campaign: Campaign) -> datetime | None:
    return session.scalar(select(func.max(Answer.submitted_at)).where(*_given_here(campaign)))


def read_activity(session: Session, campaign: Campaign, last: datetime | None) -> Activity:
    """Count answers over time, in minutes, hours or days, whichever shows all within MOST_BARS."""
    if last is None or campaign.started_at is None:
        return Activity("minute", [])
    span = last - campaign.started_at
    unit = _unit_of(span)
    bar = func.date_trunc(unit, Answer.submitted_at, "UTC")
    query = (
        select(bar, func.count(), func.count(Answer.annotator_id.distinct()))
        .where(
            *_given_here(campaign),
            Answer.submitted_at > last - MOST_BARS * STEPS[unit],
        )
        .group_by(bar)
        .order_by(bar)
    )
    return Activity(unit, [(at, n, people) for at, n, people in session.execute(query)])


def _unit_of(span: timedelta) -> Unit:
    if span <= MOST_BARS * STEPS["minute"]:
        return "minute"
    return "hour" if span <= MOST_BARS * STEPS["hour"] else "day"


def _ready_grids(session: Session, campaign: Campaign) -> int:
    held = select(Answer.id).where(
        Answer.grid_id == Grid.id,
        Answer.state == "leased",
        Answer.lease_expires_at > func.now(),
    )
    query = (
        select(func.count())
        .select_from(Grid)
        .join(Round, Grid.round_id == Round.id)
        .where(
            Round.campaign_id == campaign.id,
            Round.state != "closed",
            Grid.n_reopened > 0 if campaign.reopened_only else Grid.n_answers < Grid.wanted,
            ~held.exists(),
        )
    )
    return session.scalar(query) or 0


def _seconds_per_grid(session: Session, campaign: Campaign) -> float | None:
    newest = (
        select(Answer.elapsed_ms)
        .where(*_given_here(campaign), Answer.submitted_at.is_not(None))
        .order_by(Answer.submitted_at.desc())
        .limit(NEWEST)
        .subquery()
    )
    median = session.scalar(select(func.percentile_cont(0.5).within_group(newest.c.elapsed_ms)))
    return float(median) / 1000 if median is not None else None


@dataclass(frozen=True)
class _Costs:
    currency: str
    spent_cents: int
    projected_cents: int


def _costs(session: Session, campaign: Campaign) -> _Costs:
    """Return what is payable so far, by the ledger, and the cost of the whole budget. People who
    were stopped are paid, too."""
    planned = _planned_cents(session, campaign)
    spending = spending_of(session, campaign)
    if spending is None:
        return _Costs(campaign.currency, 0, planned)
    spent, committed = spending.payable_cents, spending.committed_cents
    if spending.currency != campaign.currency:
        return _Costs(spending.currency, spent, committed)
    return _Costs(campaign.currency, spent, max(spent, committed, planned))


def _planned_cents(session: Session, campaign: Campaign) -> int:
    """Return what the whole budget costs."""
    if not campaign.reward_cents:
        return 0
    plan = PlanSettings.model_validate(campaign.plan)
    # The time per grid does not affect prices.
    effort = effort_for(session, campaign, kind_of(campaign).seconds_per_grid)
    return costs_of(effort, campaign.reward_cents, plan).total_cents


def _ends_at(session: Session, campaign: Campaign, now: datetime) -> datetime | None:
    """Predict the end; None if nobody has answered for an hour, or nothing is left."""
    left = campaign.n_left
    if campaign.state != "running" or left <= 0 or campaign.started_at is None:
        return None
    since = max(now - RATE_WINDOW, campaign.started_at)
    recent = session.scalar(
        select(func.count()).where(
            *_given_here(campaign),
            Answer.state == "submitted",
            Answer.submitted_at > since,
        )
    )
    return now + left / recent * (now - since) if recent else None


def _alerts(
    session: Session,
    campaign: Campaign,
    jobs: Sequence[Job | None],
    last: datetime | None,
    now: datetime,
) -> list[Alert]:
    return [
        *(alert for job in jobs if job is not None for alert in _of_job(job, now)),
        *(_of_people(session, campaign) if campaign.state != "finished" else []),
        *_of_the_end(session, campaign),
        *(_of_the_last_grids(session, campaign, now) or _of_pace(campaign, last, now)),
    ]


def _of_job(job: Job, now: datetime) -> list[Alert]:
    if job.state == "failed" and job.kind == CHOOSE:
        text = (
            "The images to ask about could not be chosen, so nobody can answer yet. Retry it below."
        )
        return [Alert("error", "choice_failed", text)]
    if job.state == "failed":
        return [Alert("error", "job_failed", "The last learning job failed. Retry it below.")]
    if job.state == "queued" and now - job.created_at > NO_WORKER:
        what = "The choice of images" if job.kind == CHOOSE else "A learning job"
        text = f"{what} is waiting, but no worker has taken it. Check that a worker is running."
        return [Alert("error", "no_worker", text)]
    return []


def _of_people(session: Session, campaign: Campaign) -> list[Alert]:
    measured = session.scalar(
        select(func.count()).where(
            Annotator.campaign_id == campaign.id,
            Annotator.reviewed_at.is_(None),
            or_(Annotator.stopped_at.is_not(None), Annotator.left_out_at.is_not(None)),
        )
    )
    broken = session.scalar(
        select(func.count(Remark.image.distinct())).where(
            and_(Remark.campaign_id == campaign.id, Remark.kind == "broken_image")
        )
    )
    alerts = []
    if measured:
        text = f"{_people(measured)} stopped or left out by the quality checks. See Annotators."
        alerts.append(Alert("warning", "annotators_measured", text))
    if broken:
        what = "1 image was" if broken == 1 else f"{broken} images were"
        alerts.append(Alert("warning", "broken_images", f"{what} reported as broken."))
    return alerts


def _people(n: int) -> str:
    return "1 annotator was" if n == 1 else f"{n} annotators were"


def _of_the_end(session: Session, campaign: Campaign) -> list[Alert]:
    """Say why a campaign ended before its budget was spent, if its model gives a reason."""
    left = campaign.budget - campaign.n_answers
    if campaign.state != "finished" or left <= 0:
        return []
    of_campaign = Model.campaign_id == campaign.id
    by_model = select(Model.insight["enough"].astext).where(of_campaign)
    # Answers that arrived at the end may have led to another model since.
    by_halves = select(Model.settled["enough"].astext).where(
        of_campaign, Model.settled["ended_at"].astext == end_of(campaign)
    )
    enough = session.scalar(by_halves) or session.scalar(
        by_model.order_by(Model.version.desc()).limit(1)
    )
    if not enough:
        return []
    text = (
        f"The campaign ended early: {enough[0].lower()}{enough[1:]} {left} answers were not needed."
    )
    return [Alert("note", "good_enough", text)]


def _of_the_last_grids(session: Session, campaign: Campaign, now: datetime) -> list[Alert]:
    """Say that all remaining grids are leased, in which case nobody else can do anything."""
    left = campaign.n_left
    if campaign.state != "running" or left <= 0:
        return []
    query = (
        select(func.count(), func.min(Answer.lease_expires_at))
        .join(Grid, Answer.grid_id == Grid.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state == "leased",
            Answer.lease_expires_at > now,
            Grid.role == "ask",
        )
    )
    held, first = session.execute(query).one()
    if held < left:
        return []
    minutes = ceil((first - now).total_seconds() / 60)
    what, which = ("grid is", "it") if held == 1 else (f"{held} grids are", "the first of them")
    text = (
        f"The last {what} being worked on. If the annotator does not continue, {which} goes "
        f"to someone else in {minutes} min."
    )
    return [Alert("note", "last_grids_held", text)]


def _of_pace(campaign: Campaign, last: datetime | None, now: datetime) -> list[Alert]:
    if campaign.state != "running" or campaign.started_at is None:
        return []
    since = last or campaign.started_at
    if now - since > QUIET:
        minutes = ceil((now - since).total_seconds() / 60)
        ago = f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
        text = f"No answer for {ago}. Share the link again, or recruit people under Recruit."
        return [Alert("note", "quiet", text)]
    return []
