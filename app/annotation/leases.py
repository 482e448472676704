"""Handing out grids.

A lease is an answer row in state `leased` with a future `lease_expires_at`. An expired lease counts
as free inside the claim query itself, so nothing depends on a sweeper having run.

Lock order: campaign, round, grid, answer, assignment. A claim locks the assignment first, but then
waits for no other lock (grids are taken with SKIP LOCKED), so it cannot close a cycle.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.annotation.models import Answer, Assignment
from app.annotation.sessions import AnnotatorSession, complete_assignment
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.rounds import awaits_grids, n_full_rounds, rounds_at_work
from app.core.database import locked
from app.core.errors import Conflict, NotFound
from app.core.settings import get_settings

WAIT_SECONDS = 2
PAUSED_SECONDS = 20


class LeaseNotFound(NotFound):
    """No such lease, or not this annotator's."""

    code = "lease_not_found"


class StaleDraft(Conflict):
    """A newer draft is stored already (another tab or device)."""

    code = "stale_draft"


@dataclass(frozen=True)
class Handout:
    """What an annotator who asks for work gets; `lease` and `grid` only when leased."""

    status: Literal["leased", "wait", "done", "paused"]
    lease: Answer | None = None
    grid: Grid | None = None
    retry_after_seconds: int | None = None


def lease_next_grid(session: Session, who: AnnotatorSession) -> Handout:
    """The annotator's live lease, or a new one, or why there is none."""
    # Two tabs of one annotator take turns here, so they share one lease.
    session.refresh(who.assignment, with_for_update=True)
    if who.assignment.state == "completed" or who.campaign.state == "finished":
        return Handout("done")
    if who.campaign.state == "paused":
        return Handout("paused", retry_after_seconds=PAUSED_SECONDS)
    live = _live_lease(session, who)
    if live is not None:
        return Handout("leased", live, session.get_one(Grid, live.grid_id))
    return _claim(session, who)


def _live_lease(session: Session, who: AnnotatorSession) -> Answer | None:
    return session.scalar(
        select(Answer).where(
            Answer.assignment_id == who.assignment.id,
            Answer.state == "leased",
            Answer.lease_expires_at > func.now(),
        )
    )


def live_leases_of(grid_id: ColumnElement[int]) -> ColumnElement[int]:
    """SQL: number of live leases of a grid."""
    return (
        select(func.count())
        .where(
            Answer.grid_id == grid_id,
            Answer.state == "leased",
            Answer.lease_expires_at > func.now(),
        )
        .scalar_subquery()
    )


def _claim(session: Session, who: AnnotatorSession) -> Handout:
    at_work = rounds_at_work(session, who.campaign)
    for one in at_work:
        grid = _take_free_grid(session, who, one)
        if grid is not None:
            return Handout("leased", _lease(session, who, grid), grid)
    if not at_work:
        all_full = n_full_rounds(session, who.campaign) == who.campaign.rounds
        return _nothing_now(who, last_grids=all_full, may_come_back=not all_full)
    may_come_back = any(
        session.scalar(select(Grid.id).where(_unfilled(who, one)).limit(1)) is not None
        for one in at_work
    )
    last = at_work[-1]
    last_grids = last.number == who.campaign.rounds and not awaits_grids(last)
    return _nothing_now(who, last_grids, may_come_back)


def _unfilled(who: AnnotatorSession, one: Round) -> ColumnElement[bool]:
    """SQL: grids of a round that want an answer, and one of this annotator's."""
    answered_by_me = select(Answer.id).where(
        Answer.grid_id == Grid.id,
        Answer.annotator_id == who.annotator_id,
        Answer.state != "leased",
    )
    return and_(Grid.round_id == one.id, Grid.n_answers < Grid.wanted, ~answered_by_me.exists())


def _take_free_grid(session: Session, who: AnnotatorSession, one: Round) -> Grid | None:
    """A grid of the round that nobody works on, under its row lock."""
    free = Grid.n_answers + live_leases_of(Grid.__table__.c.id) < Grid.wanted
    candidates = select(Grid).where(_unfilled(who, one), free).order_by(Grid.number).limit(1)
    # The snapshot that chose the grid may be older than a lease committed just before the grid was
    # locked, so the count is taken again under the lock, by a statement that sees it.
    for _ in range(50):
        grid = session.scalar(candidates.with_for_update(of=Grid, skip_locked=True))
        if grid is None:
            return None
        still_free = select(Grid.id).where(Grid.id == grid.id, free)
        if session.scalar(still_free) is not None:
            return grid
    return None


def _nothing_now(who: AnnotatorSession, last_grids: bool, may_come_back: bool) -> Handout:
    if last_grids and not may_come_back:
        # Nothing will ever be left for this person: what they did is their whole assignment.
        if who.assignment.n_answered:
            complete_assignment(who.assignment)
        return Handout("done")
    return Handout("wait", retry_after_seconds=WAIT_SECONDS)


def _lease(session: Session, who: AnnotatorSession, grid: Grid) -> Answer:
    expires = _lease_end()
    own = session.scalar(
        select(Answer).where(Answer.grid_id == grid.id, Answer.annotator_id == who.annotator_id)
    )
    if own is None:
        own = Answer(
            campaign_id=who.campaign.id,
            grid_id=grid.id,
            annotator_id=who.annotator_id,
            assignment_id=who.assignment.id,
            lease_expires_at=expires,
        )
        session.add(own)
    else:
        # The annotator's own expired lease: the same row, with its draft, goes on.
        own.lease_expires_at, own.assignment_id = expires, who.assignment.id
        own.leased_at = datetime.now(UTC)
    session.flush()
    return own


def _lease_end() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=get_settings().lease_seconds)


def own_lease(
    session: Session, who: AnnotatorSession, lease_id: UUID, *, lock: bool = False
) -> Answer:
    """The annotator's lease or answer with this id; raises LeaseNotFound."""
    lease = session.get(Answer, lease_id, with_for_update=lock, populate_existing=lock)
    if lease is None or lease.annotator_id != who.annotator_id:
        raise LeaseNotFound("This grid was not handed to you. Ask for the next one.")
    return lease


def save_draft(
    session: Session, who: AnnotatorSession, lease_id: UUID, version: int, draft: dict[str, object]
) -> Answer:
    """Keep the state of an unfinished grid and extend its lease.

    Raises StaleDraft, LeaseNotFound, Conflict (already submitted). A draft for an expired lease is
    kept too; the lease comes to life again only if the place is still free.
    """
    grid_id = own_lease(session, who, lease_id).grid_id
    grid = locked(session, Grid, grid_id)
    lease = own_lease(session, who, lease_id, lock=True)
    if lease.state != "leased":
        raise Conflict("This grid is finished already.", code="already_submitted")
    if version <= lease.draft_version and draft != lease.draft:
        raise StaleDraft(
            f"Draft {lease.draft_version} is stored already; this one is number {version}."
        )
    lease.draft, lease.draft_version = draft, max(version, lease.draft_version)
    is_live = lease.lease_expires_at > datetime.now(UTC)
    if is_live or grid.n_answers + live_leases(session, grid) < grid.wanted:
        lease.lease_expires_at = _lease_end()
    return lease


def live_leases(session: Session, grid: Grid) -> int:
    """Number of live leases of a grid, whose row the caller has locked."""
    return (
        session.scalar(select(live_leases_of(Grid.__table__.c.id)).where(Grid.id == grid.id)) or 0
    )


def return_lease(session: Session, who: AnnotatorSession, lease_id: UUID) -> None:
    """Give a grid back: it goes to somebody else, never to this annotator again."""
    lease = own_lease(session, who, lease_id, lock=True)
    if lease.state == "leased":
        lease.state = "returned"


def count_live_leases(session: Session, campaign: Campaign) -> int:
    query = select(func.count()).where(
        Answer.campaign_id == campaign.id,
        Answer.state == "leased",
        Answer.lease_expires_at > func.now(),
    )
    return session.scalar(query) or 0


def assignment_progress(assignment: Assignment) -> tuple[int, int]:
    """Grids answered and target of an assignment."""
    return assignment.n_answered, assignment.target
