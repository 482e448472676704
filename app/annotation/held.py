"""Leases that annotators hold, and the row locks under which they change.

Submissions of one campaign do not wait for each other, except at their very end: each locks its
grid, answer and assignment, in this order, and then counts in the rows of the campaign and the
round (app/annotation/counting.py). Those who lock a campaign's row in order to change it wait until
no submission is under way (app/campaigns/locks.py), and answers to checks do the same, because
their verdict may change the annotator. PostgreSQL locks the tables of one statement in the order in
which they appear in it.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import Session, aliased

from app.annotation.models import Annotator, Answer, Assignment, Remark
from app.annotation.sessions import AnnotatorSession, session_of
from app.campaigns import hooks
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import advisory_key_of
from app.core.errors import NotFound
from app.core.prepared import Prepared

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


# Statements of the hot path are made once: making them takes longer than running them.
_IS_LIVE = Answer.lease_expires_at > func.now()
_HELD = Prepared(
    select(Answer, _IS_LIVE)
    .where(
        Answer.assignment_id == bindparam("assignment_id"),
        Answer.state == "leased",
        or_(_IS_LIVE, Answer.draft.is_not(None)),
    )
    .order_by(Answer.leased_at.desc())
)


def live_leases_of(grid_id: ColumnElement[int]) -> ColumnElement[int]:
    """SQL: the number of live leases of a grid."""
    # Another name, because the surrounding statement may have answers too.
    lease = aliased(Answer)
    return (
        select(func.count())
        .where(
            lease.grid_id == grid_id,
            lease.state == "leased",
            lease.lease_expires_at > func.now(),
        )
        .scalar_subquery()
    )


_LIVE_LEASES = Prepared(select(live_leases_of(bindparam("grid_id", type_=BigInteger))))


def live_leases(session: Session, grid: Grid) -> int:
    """Return the number of live leases of a grid. The caller must hold the grid's row lock."""
    ((n_live,),) = _LIVE_LEASES.rows(session, grid_id=grid.id)
    return int(n_live)


def held_by(session: Session, who: AnnotatorSession) -> Held:
    """Return the annotator's leases of this assignment."""
    rows = _HELD.rows(session, assignment_id=who.assignment.id)
    live = [lease for lease, lives in rows if lives]
    return Held(
        live=next((lease for lease in live if not lease.ahead), None),
        ahead=next((lease for lease in live if lease.ahead), None),
        begun=next((lease for lease, _ in rows if lease.draft is not None), None),
    )


def _mine(query: _Query) -> _Query:
    """The query for one annotator's lease or answer."""
    return query.where(
        Answer.id == bindparam("lease_id"), Answer.annotator_id == bindparam("annotator_id")
    )


_OWN = Prepared(_mine(select(Answer)))
_WITH_GRID = Prepared(
    _mine(select(Grid, Answer).join(Answer, Answer.grid_id == Grid.id)).with_for_update(
        key_share=True
    )
)
_line = advisory_key_of(Annotator.__table__.c.campaign_id)
# One of the two locks is taken. The images are those that this annotator has reported as broken.
_IN_LINE = Prepared(
    select(
        Annotator.id,
        Grid.round_id,
        case(
            (Grid.round_id.is_(None), cast(func.pg_advisory_xact_lock(_line), Text)),
            else_=cast(func.pg_advisory_xact_lock_shared(_line), Text),
        ),
        select(func.array_agg(Remark.image))
        .where(
            Remark.grid_id == Grid.id,
            Remark.annotator_id == Annotator.id,
            Remark.image.is_not(None),
        )
        .scalar_subquery(),
    )
    .join(Assignment, Assignment.annotator_id == Annotator.id)
    .join(Answer, Answer.annotator_id == Annotator.id)
    .join(Grid, Grid.id == Answer.grid_id)
    .where(
        Assignment.id == bindparam("assignment_id"),
        Answer.id == bindparam("lease_id"),
    )
)
# These rows are as they are when everyone who changes more of the campaign than counts is out.
_WITH_ROUND = Prepared(
    _mine(
        select(Campaign, Round, Grid, Answer, Assignment, Annotator)
        .join(Round, Round.campaign_id == Campaign.id)
        .join(Grid, Grid.round_id == Round.id)
        .join(Answer, Answer.grid_id == Grid.id)
        .join(Assignment, Assignment.id == Answer.assignment_id)
        .join(Annotator, Annotator.id == Answer.annotator_id)
        .with_for_update(key_share=True, of=(Grid, Answer, Assignment))
    )
)
_WITHOUT_ROUND = Prepared(
    _mine(
        select(Campaign, literal(None), Grid, Answer, Assignment, Annotator)
        .join(Grid, Grid.campaign_id == Campaign.id)
        .join(Answer, Answer.grid_id == Grid.id)
        .join(Assignment, Assignment.id == Answer.assignment_id)
        .join(Annotator, Annotator.id == Answer.annotator_id)
        .with_for_update(key_share=True, of=(Campaign, Grid, Answer, Assignment))
    )
)
_ASSIGNMENT = Prepared(
    select(Assignment)
    .where(Assignment.id == bindparam("assignment_id"))
    .with_for_update(key_share=True)
)
# A lease that moves to another assignment while its rows are locked is found by the next attempt.
_ATTEMPTS = 3


def own_lease(session: Session, who: AnnotatorSession, lease_id: UUID) -> Answer:
    """Return the annotator's lease or answer with this id. Raises LeaseNotFound."""
    lease: Answer = _row_of(session, _OWN, who.annotator_id, lease_id)[0]
    return lease


@dataclass(frozen=True)
class Locked:
    """A lease or answer and all rows that its submission changes. `round` is None for checks.
    Otherwise the rows of campaign and round are not locked, and others may count in them.

    reported: images of the grid that the annotator has reported as broken, even if the page no
    longer knows.
    """

    campaign: Campaign
    round: Round | None
    grid: Grid
    answer: Answer
    assignment: Assignment
    annotator: Annotator
    reported: list[int]

    @property
    def who(self) -> AnnotatorSession:
        """The annotator in the assignment of the lease or answer."""
        return AnnotatorSession(self.campaign, self.annotator, self.assignment, is_locked=True)


def locked_with_all(session: Session, assignment_id: UUID, lease_id: UUID) -> Locked:
    """Return a lease or answer of the annotator who has this assignment, and all rows above it,
    freshly read, while nobody changes more of the campaign than counts.

    Raises BadToken, LeaseNotFound.
    """
    first = _IN_LINE.first(session, assignment_id=assignment_id, lease_id=lease_id)
    if first is None:
        session_of(session, assignment_id)
        raise _not_theirs()
    annotator_id, round_id, _, reported = first
    query = _WITHOUT_ROUND if round_id is None else _WITH_ROUND
    campaign, current, grid, answer, assignment, annotator = _row_of(
        session, query, annotator_id, lease_id
    )
    return Locked(campaign, current, grid, answer, assignment, annotator, reported or [])


def lock_assignment(session: Session, who: AnnotatorSession) -> None:
    """Lock the row of the annotator's assignment and read it again."""
    if not who.is_locked:
        _ASSIGNMENT.rows(session, assignment_id=who.assignment.id)


def locked_with_grid(
    session: Session, who: AnnotatorSession, lease_id: UUID
) -> tuple[Grid, Answer]:
    """Return the grid and the annotator's lease or answer, freshly read with their rows locked.

    Raises LeaseNotFound.
    """
    grid, answer = _row_of(session, _WITH_GRID, who.annotator_id, lease_id)
    return grid, answer


def _row_of(
    session: Session, query: Prepared, annotator_id: UUID, lease_id: UUID
) -> tuple[Any, ...]:
    """Return the row of this annotator's lease or answer. Raises LeaseNotFound."""
    for _ in range(_ATTEMPTS):
        row = query.first(session, lease_id=lease_id, annotator_id=annotator_id)
        if row is not None:
            return row
    raise _not_theirs()


def _not_theirs() -> LeaseNotFound:
    return LeaseNotFound("This grid is not assigned to you. Request the next one.")
