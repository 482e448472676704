"""How good an annotator's work is, and what is done about it.

Measures: `warn` asks for more care, `stop` gives no more grids, and `leave_out` keeps the answers
out of learning. All of them can be undone. Finished work always counts for pay.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from statistics import median
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation import hooks
from app.annotation.asking_again import (
    annotator_at,
    ask_again_for_annotator,
    take_back_annotator,
)
from app.annotation.checks import FINISHED
from app.annotation.models import Annotator, Answer
from app.annotation.simulated import simulated_annotators
from app.campaigns.annotation_settings import MEASURES, Measure, annotation_of
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign, Grid
from app.core.database import locked
from app.core.events import campaign_changed
from app.jobs.service import request_job
from app.kinds import kind_of
from learning.quality import (
    Agreement,
    Enough,
    Evidence,
    Tally,
    Verdict,
    deserves,
    evidence,
    is_hasty,
    is_one_group,
    verdict,
    with_model,
)

_BY_RULE = "Applied automatically: answers to quality checks look random."
Decision = Literal["warn", "stop", "leave_out", "restore"]


@dataclass(frozen=True)
class Work:
    """One finished answer with what matters for quality."""

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
    """What is known about one annotator's work. Evidence is None if nothing was compared, and
    `seconds` is the median time of an answer."""

    annotator: Annotator
    simulated: bool
    n_answers: int
    gold: Evidence | None
    repeat: Evidence | None
    consensus: Evidence | None
    n_one_group: int
    seconds: float | None
    hasty: bool
    verdict: Verdict


def judge(session: Session, campaign: Campaign, annotator: Annotator) -> None:
    """Take the campaign's measures if the annotator's checks look random, unless a requester has
    already decided about them. The caller must hold the campaign's row lock."""
    if annotator.reviewed_at is not None:
        return
    work = list(_work(session, campaign, annotator.id))
    if annotator.warned_at is not None:
        # An annotator who was warned is judged by the work after the warning.
        since = annotator.warning_seen_at or annotator.warned_at
        work = [answer for answer in work if answer.submitted_at >= since]
    n_one_group = _n_flat(campaign, work)
    n_flat = sum(answer.role == "gold" and is_one_group(answer.groups) for answer in work)
    checks = evidence([*_agreements(work, "gold"), *_agreements(work, "repeat")])
    needed = kind_of(campaign).checks_needed
    reached = _vouched(
        session, campaign, annotator, verdict(checks, len(work), n_one_group, needed)
    )
    due = deserves(reached, checks, n_flat, needed)
    for measure in annotation_of(campaign.annotation).measures:
        if due == "stop" or (due == "warning" and measure == "warn"):
            annotator.decision_reason = _BY_RULE
            _take(session, campaign, annotator, measure)


def verdict_of(session: Session, campaign: Campaign, annotator: Annotator) -> Verdict:
    """Return how an annotator's gold grids and repeats look, over all their work."""
    work = list(_work(session, campaign, annotator.id))
    checks = evidence([*_agreements(work, "gold"), *_agreements(work, "repeat")])
    needed = kind_of(campaign).checks_needed
    reached = verdict(checks, len(work), _n_flat(campaign, work), needed)
    return _vouched(session, campaign, annotator, reached)


def _vouched(session: Session, campaign: Campaign, annotator: Annotator, given: Verdict) -> Verdict:
    # The model is read only where it can change the verdict.
    if given != "chance":
        return given
    return with_model(given, hooks.model_agreement(session, campaign).get(annotator.position))


def _n_flat(campaign: Campaign, work: Iterable[Work]) -> int:
    is_flat = kind_of(campaign).is_flat
    return sum(is_flat(answer.groups) for answer in work)


@dataclass
class _Tallies:
    """Running totals of one annotator's answers. Only the time of each answer is stored."""

    n_answers: int = 0
    n_one_group: int = 0
    n_flat: int = 0
    gold: Tally = field(default_factory=Tally)
    repeat: Tally = field(default_factory=Tally)
    consensus: Tally = field(default_factory=Tally)
    times: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, answer: Work, is_flat: bool) -> None:
        self.n_answers += 1
        self.n_one_group += is_one_group(answer.groups)
        self.n_flat += is_flat
        if answer.elapsed_ms:
            self.times.append(answer.elapsed_ms / 1000)
        if answer.agreement is not None and answer.chance is not None:
            checks = {"gold": self.gold, "repeat": self.repeat}
            if answer.role in checks:
                checks[answer.role].add(Agreement(answer.agreement, answer.chance))

    def seconds(self) -> float | None:
        return median(self.times) if self.times else None


def read_scores(session: Session, campaign: Campaign) -> list[Score]:
    """Return the scores of all annotators with a finished answer, by number."""
    by = kind_of(campaign)
    tallies: dict[UUID, _Tallies] = defaultdict(_Tallies)
    # Answers are read grid by grid, because they are compared within a grid, so that millions of
    # them need no memory.
    for _, answers in groupby(_work(session, campaign), lambda answer: answer.grid_id):
        work = list(answers)
        for answer in work:
            tallies[answer.annotator_id].add(answer, by.is_flat(answer.groups))
            if answer.role == "ask":
                others = (
                    by.agreement(other.groups, answer.groups)
                    for other in work
                    if other is not answer
                )
                for agreement in filter(None, others):
                    tallies[answer.annotator_id].consensus.add(agreement)
    seconds = {who: tally.seconds() for who, tally in tallies.items()}
    known = [value for value in seconds.values() if value is not None]
    typical = median(known) if known else None
    simulated = simulated_annotators(session, campaign)
    by_model = hooks.model_agreement(session, campaign)
    people = session.scalars(
        select(Annotator).where(Annotator.campaign_id == campaign.id).order_by(Annotator.position)
    )
    return [
        _score(
            annotator,
            annotator.id in simulated,
            tallies[annotator.id],
            seconds[annotator.id],
            typical,
            by.checks_needed,
            by_model.get(annotator.position),
        )
        for annotator in people
        if annotator.id in tallies
    ]


def _score(
    annotator: Annotator,
    is_simulated: bool,
    tally: _Tallies,
    seconds: float | None,
    typical: float | None,
    needed: Enough,
    by_model: float | None,
) -> Score:
    checks = (tally.gold + tally.repeat).evidence()
    by_checks = verdict(checks, tally.n_answers, tally.n_flat, needed)
    return Score(
        annotator=annotator,
        simulated=is_simulated,
        n_answers=tally.n_answers,
        gold=tally.gold.evidence(),
        repeat=tally.repeat.evidence(),
        consensus=tally.consensus.evidence(),
        n_one_group=tally.n_one_group,
        seconds=seconds,
        hasty=is_hasty(seconds, typical),
        verdict=with_model(by_checks, by_model),
    )


def decide(
    session: Session,
    account: Account,
    campaign: Campaign,
    position: int,
    decision: Decision,
    reason: str = "",
    *,
    ask_again: bool = True,
) -> Annotator:
    """Record a requester's decision about an annotator. No automatic rule changes it. Raises
    NotFound, and InvalidInput if the account has no room for more answers.

    Leaving out an annotator, or undoing that, requests a new model. With `ask_again`, others are
    asked for the answers that are left out (app/annotation/asking_again.py). The reason is stored
    with the annotator until the next decision, and permanently in the audit log.
    """
    campaign = locked_campaign(session, campaign.id)
    annotator = locked(session, Annotator, annotator_at(session, campaign, position).id)
    annotator.reviewed_at = datetime.now(UTC)
    annotator.decision_reason = reason.strip()
    record_audit(
        session, account.id, f"annotator.{decision}", "annotator", annotator.id,
        campaign=str(campaign.id), annotator=position, reason=annotator.decision_reason,
    )  # fmt: skip
    if decision == "restore":
        was_out = annotator.left_out_at is not None
        annotator.warned_at = annotator.stopped_at = annotator.left_out_at = None
        if annotator.asked_again_at is not None:
            take_back_annotator(session, campaign, annotator)
        if was_out:
            _learn_again(session, campaign)
    else:
        _take(session, campaign, annotator, decision)
        if decision == "leave_out" and ask_again:
            ask_again_for_annotator(session, account, campaign, annotator)
    campaign_changed(session, campaign.id)
    return annotator


def _take(session: Session, campaign: Campaign, annotator: Annotator, measure: Measure) -> None:
    column = dict(zip(MEASURES, ("warned_at", "stopped_at", "left_out_at"), strict=True))[measure]
    if getattr(annotator, column) is not None:
        return
    setattr(annotator, column, datetime.now(UTC))
    campaign_changed(session, campaign.id)
    if measure == "leave_out":
        _learn_again(session, campaign)
    if measure == "stop":
        # A grid that was leased ahead will not be started, so it becomes free for others
        # immediately.
        session.execute(
            update(Answer)
            .where(Answer.annotator_id == annotator.id, Answer.state == "leased", Answer.ahead)
            .values(lease_expires_at=func.now())
        )


def _learn_again(session: Session, campaign: Campaign) -> None:
    if campaign.n_finished:
        request_job(session, campaign.id, campaign.n_answers, again=True)


def _work(session: Session, campaign: Campaign, annotator_id: UUID | None = None) -> Iterator[Work]:
    """Yield the finished answers of a campaign, or of one annotator, grid by grid."""
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
        .order_by(Answer.grid_id, Answer.submitted_at, Answer.id)
        .execution_options(yield_per=1000)
    )
    if annotator_id is not None:
        query = query.where(Answer.annotator_id == annotator_id)
    for who, grid, role, groups, value, chance, elapsed, at in session.execute(query):
        if at is not None:
            yield Work(who, grid, role, groups or [], value, chance, elapsed, at)


def _agreements(work: Iterable[Work], role: str) -> list[Agreement]:
    return [
        Agreement(answer.agreement, answer.chance)
        for answer in work
        if answer.role == role and answer.agreement is not None and answer.chance is not None
    ]
