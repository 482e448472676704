"""How good an annotator's work is, and what is done about it.

Measures: `warn` asks for more care, `stop` gives no more grids, `leave_out` keeps the answers out
of learning. All can be taken back. Nobody goes unpaid: what was done before counts for pay.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.annotation.settings import MEASURES, Measure, annotation_of
from app.campaigns.models import Campaign, Grid
from app.core.database import locked
from app.core.errors import NotFound
from app.core.events import campaign_changed
from app.jobs.service import request_job
from learning.quality import (
    Agreement,
    Evidence,
    Verdict,
    agreement,
    deserves,
    evidence,
    is_hasty,
    is_one_group,
    verdict,
)

Decision = Literal["warn", "stop", "leave_out", "restore"]


@dataclass(frozen=True)
class Work:
    """One finished answer, as far as quality goes."""

    annotator_id: UUID
    grid_id: int
    role: str
    groups: list[int]
    agreement: float | None
    chance: float | None
    elapsed_ms: int | None
    submitted_at: datetime


@dataclass(frozen=True)
class Score:
    """What is known of one annotator's work; evidence is None where nothing was compared.

    seconds: median time of an answer.
    """

    annotator: Annotator
    n_answers: int
    gold: Evidence | None
    repeat: Evidence | None
    consensus: Evidence | None
    n_one_group: int
    seconds: float | None
    hasty: bool
    verdict: Verdict


def judge(session: Session, campaign: Campaign, annotator: Annotator) -> None:
    """Take the campaign's measures if the annotator's checks look random; none after a requester
    has decided about them. The caller holds the campaign's row lock."""
    if annotator.reviewed_at is not None:
        return
    work = _work(session, campaign, annotator.id)
    if annotator.warned_at is not None:
        # Who has taken a warning to heart is judged by what came after it.
        since = annotator.warning_seen_at or annotator.warned_at
        work = [one for one in work if one.submitted_at >= since]
    n_one_group = sum(is_one_group(one.groups) for one in work)
    n_flat = sum(one.role == "gold" and is_one_group(one.groups) for one in work)
    found = evidence([*_agreements(work, "gold"), *_agreements(work, "repeat")])
    due = deserves(verdict(found, len(work), n_one_group), found, n_flat)
    for measure in annotation_of(campaign.annotation).measures:
        if due == "stop" or (due == "warning" and measure == "warn"):
            _take(session, campaign, annotator, measure)


def read_scores(session: Session, campaign: Campaign) -> list[Score]:
    """Scores of all annotators with a finished answer, by their number."""
    by_annotator: dict[UUID, list[Work]] = defaultdict(list)
    for one in _work(session, campaign):
        by_annotator[one.annotator_id].append(one)
    consensus = _consensus(by_annotator)
    seconds = {who: _median_seconds(work) for who, work in by_annotator.items()}
    known = [value for value in seconds.values() if value is not None]
    typical = median(known) if known else None
    people = session.scalars(
        select(Annotator).where(Annotator.campaign_id == campaign.id).order_by(Annotator.position)
    )
    return [
        _score(one, by_annotator[one.id], consensus[one.id], seconds[one.id], typical)
        for one in people
        if one.id in by_annotator
    ]


def _score(
    annotator: Annotator,
    work: list[Work],
    consensus: list[Agreement],
    seconds: float | None,
    typical: float | None,
) -> Score:
    gold, repeat = _agreements(work, "gold"), _agreements(work, "repeat")
    n_one_group = sum(is_one_group(one.groups) for one in work)
    return Score(
        annotator=annotator,
        n_answers=len(work),
        gold=evidence(gold),
        repeat=evidence(repeat),
        consensus=evidence(consensus),
        n_one_group=n_one_group,
        seconds=seconds,
        hasty=is_hasty(seconds, typical),
        verdict=verdict(evidence([*gold, *repeat]), len(work), n_one_group),
    )


def decide(session: Session, campaign: Campaign, position: int, decision: Decision) -> Annotator:
    """A requester's word on an annotator, which no rule overrules. Raises NotFound.

    Leaving out, and taking that back, asks for a new model.
    """
    campaign = locked(session, Campaign, campaign.id)
    annotator = session.scalar(
        select(Annotator)
        .where(Annotator.campaign_id == campaign.id, Annotator.position == position)
        .with_for_update()
    )
    if annotator is None:
        raise NotFound(f"This campaign has no annotator {position}.")
    annotator.reviewed_at = datetime.now(UTC)
    if decision == "restore":
        was_out = annotator.left_out_at is not None
        annotator.warned_at = annotator.stopped_at = annotator.left_out_at = None
        if was_out:
            _learn_anew(session, campaign)
    else:
        _take(session, campaign, annotator, decision)
    campaign_changed(session, campaign.id)
    return annotator


def _take(session: Session, campaign: Campaign, annotator: Annotator, measure: Measure) -> None:
    column = dict(zip(MEASURES, ("warned_at", "stopped_at", "left_out_at"), strict=True))[measure]
    if getattr(annotator, column) is not None:
        return
    setattr(annotator, column, datetime.now(UTC))
    campaign_changed(session, campaign.id)
    if measure == "leave_out":
        _learn_anew(session, campaign)
    if measure == "stop":
        # What was leased ahead and will not be begun is free for others at once.
        session.execute(
            update(Answer)
            .where(Answer.annotator_id == annotator.id, Answer.state == "leased", Answer.ahead)
            .values(lease_expires_at=func.now())
        )


def _learn_anew(session: Session, campaign: Campaign) -> None:
    if campaign.n_answers:
        request_job(session, campaign.id, campaign.n_answers, anew=True)


def _work(session: Session, campaign: Campaign, annotator_id: UUID | None = None) -> list[Work]:
    """Finished answers of a campaign, or of one annotator."""
    query = (
        select(
            Answer.annotator_id,
            Answer.grid_id,
            Grid.role,
            Answer.groups,
            Answer.agreement,
            Answer.chance,
            Answer.elapsed_ms,
            Answer.submitted_at,
        )
        .join(Grid, Answer.grid_id == Grid.id)
        .where(Answer.campaign_id == campaign.id, Answer.state.in_(FINISHED))
    )
    if annotator_id is not None:
        query = query.where(Answer.annotator_id == annotator_id)
    return [
        Work(who, grid, role, groups or [], value, chance, elapsed, at)
        for who, grid, role, groups, value, chance, elapsed, at in session.execute(query)
        if at is not None
    ]


def _agreements(work: Iterable[Work], role: str) -> list[Agreement]:
    return [
        Agreement(one.agreement, one.chance)
        for one in work
        if one.role == role and one.agreement is not None and one.chance is not None
    ]


def _consensus(by_annotator: dict[UUID, list[Work]]) -> dict[UUID, list[Agreement]]:
    """Agreement of each answer with those of others to the same grid."""
    by_grid: dict[int, list[Work]] = defaultdict(list)
    for work in by_annotator.values():
        for one in work:
            if one.role == "ask":
                by_grid[one.grid_id].append(one)
    found: dict[UUID, list[Agreement]] = defaultdict(list)
    for answers in by_grid.values():
        for mine in answers:
            others = [agreement(one.groups, mine.groups) for one in answers if one is not mine]
            found[mine.annotator_id] += [one for one in others if one is not None]
    return found


def _median_seconds(work: list[Work]) -> float | None:
    times = [one.elapsed_ms / 1000 for one in work if one.elapsed_ms]
    return median(times) if times else None
