"""Leases that annotators hold, and the row locks under which they change.

The lock order is campaign, round, grid, answer, assignment. Each lock is one statement, because
others wait for the rows. PostgreSQL locks the tables of one statement in the order in which they
appear in it.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from app.annotation.models import Answer, Assignment
from app.annotation.sessions import AnnotatorSession
from app.campaigns import hooks
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import advisory_lock, locked
from app.core.errors import NotFound

_Query = Select[*tuple[Any, ...]]


@hooks.handed_out.answered_by
def handed_out() -> ColumnElement[bool]:
    """SQL: the row of `Grid` has been handed out at least once."""
    return select(Answer.id).where(Answer.grid_id == Grid.id).exists()


class LeaseNotFound(NotFound):
    """There is no such lease, or it belongs to another annotator."""

    code = "lease_not_found"


@dataclass(frozen=True)
class Held:
    """An annotator's leases: the live one, the prefetched one, and the last one that was started,
    whether live or not."""

    live: Answer | None
    ahead: Answer | None
    begun: Answer | None


def held_by(session: Session, who: AnnotatorSession) -> Held:
    """Return the annotator's leases of this assignment."""
    is_live = Answer.lease_expires_at > func.now()
    rows = session.execute(
        select(Answer, is_live)
        .where(
            Answer.assignment_id == who.assignment.id,
            Answer.state == "leased",
            or_(is_live, Answer.draft.is_not(None)),
        )
        .order_by(Answer.leased_at.desc())
    ).all()
    live = [lease for lease, lives in rows if lives]
    return Held(
        live=next((lease for lease in live if not lease.ahead), None),
        ahead=next((lease for lease in live if lease.ahead), None),
        begun=next((lease for lease, _ in rows if lease.draft is not None), None),
    )


def own_lease(
    session: Session, who: AnnotatorSession, lease_id: UUID, *, lock: bool = False
) -> Answer:
    """Return the annotator's lease or answer with this id. Raises LeaseNotFound."""
    query = select(Answer)
    lease: Answer = _mine(session, _locking(query) if lock else query, who, lease_id)[0]
    return lease


@dataclass(frozen=True)
class Locked:
    """A lease or answer and all rows that its submission changes. `round` is None for checks."""

    campaign: Campaign
    round: Round | None
    grid: Grid
    answer: Answer
    assignment: Assignment


def locked_with_all(session: Session, who: AnnotatorSession, lease_id: UUID) -> Locked:
    """Return the annotator's lease or answer and all rows above it, freshly read with their rows
    locked.

    Raises LeaseNotFound.
    """
    of_grid = select(Grid.round_id, advisory_lock(who.campaign.id))
    of_grid = of_grid.join(Answer, Answer.grid_id == Grid.id)
    round_id, _ = _mine(session, of_grid, who, lease_id)
    query: _Query = select(Campaign, Grid, Answer)
    if round_id is None:
        query = query.join(Grid, Grid.campaign_id == Campaign.id)
    else:
        query = query.add_columns(Round).join(Round, Round.campaign_id == Campaign.id)
        query = query.join(Grid, Grid.round_id == Round.id)
    query = query.join(Answer, Answer.grid_id == Grid.id)
    campaign, grid, answer, *rest = _mine(session, _locking(query), who, lease_id)
    # The assignment is not joined: a lease may move to another assignment while this waits for it,
    # and the joined row would then be the wrong one.
    assignment = locked(session, Assignment, answer.assignment_id)
    return Locked(campaign, rest[0] if rest else None, grid, answer, assignment)


def locked_with_grid(
    session: Session, who: AnnotatorSession, lease_id: UUID
) -> tuple[Grid, Answer]:
    """Return the grid and the annotator's lease or answer, freshly read with their rows locked.

    Raises LeaseNotFound.
    """
    query = select(Grid, Answer).join(Answer, Answer.grid_id == Grid.id)
    grid, answer = _mine(session, _locking(query), who, lease_id)
    return grid, answer


def _locking(query: _Query) -> Select[Any]:
    return query.with_for_update(key_share=True).execution_options(populate_existing=True)


def _mine(session: Session, query: _Query, who: AnnotatorSession, lease_id: UUID) -> Any:
    """Return the row of this annotator's lease or answer. Raises LeaseNotFound."""
    mine = query.where(Answer.id == lease_id, Answer.annotator_id == who.annotator_id)
    row = session.execute(mine).one_or_none()
    if row is None:
        raise LeaseNotFound("This grid is not assigned to you. Request the next one.")
    return row
