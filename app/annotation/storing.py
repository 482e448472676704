"""Writing an answer into the rows that only its own submission changes: its own, its grid's and its
assignment's, in one statement. Campaign and round come last (app/annotation/counting.py)."""

from typing import Any, NamedTuple
from typing import cast as cast_type

import orjson
from psycopg.types.json import Jsonb
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    DateTime,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    Update,
    Uuid,
    bindparam,
    case,
    false,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.attributes import set_committed_value

from app.annotation.held import Locked
from app.annotation.models import Answer, Assignment
from app.campaigns.models import Grid
from app.core.prepared import Prepared

# Tables, and not entities, because the objects are set by hand below.
_answer = cast_type(Table, Answer.__table__)
_grid = cast_type(Table, Grid.__table__)
_assignment = cast_type(Table, Assignment.__table__)
_lease_id = bindparam("lease_id", type_=Uuid())
_grid_id = bindparam("grid_id", type_=BigInteger)
_assignment_id = bindparam("assignment_id", type_=Uuid())
_GIVEN: dict[str, Any] = {
    "groups": ARRAY(SmallInteger),
    "unseen": ARRAY(Integer),
    "descriptions": ARRAY(Text),
    "elapsed_ms": Integer,
    "trace": JSONB,
    "device": JSONB,
    "submitted_at": DateTime(timezone=True),
    "idempotency_key": String,
    "request_hash": String,
}

_other = aliased(Answer)
# No lease is added while the caller holds the grid's row lock.
_leases_of_others = (
    select(func.count())
    .where(
        _other.grid_id == _grid_id,
        _other.id != _lease_id,
        _other.state == "leased",
        _other.lease_expires_at > func.now(),
    )
    .scalar_subquery()
)
# The place that was opened first of those of the grid that are asked again.
_lost = aliased(Answer)
_filling = aliased(Answer)
_reopened = (
    select(_lost.id)
    .where(
        _lost.grid_id == _grid_id,
        _lost.reopened_at.is_not(None),
        ~select(_filling.id).where(_filling.replaces == _lost.id).exists(),
    )
    .order_by(_lost.reopened_at, _lost.id)
    .limit(1)
    .scalar_subquery()
)
_seconds = (
    select(func.coalesce(func.sum(_other.elapsed_ms), 0) / 1000.0)
    .where(_other.assignment_id == _assignment_id, _other.id != _lease_id)
    .scalar_subquery()
)
_has_leases = (
    select(_other.id)
    .where(
        _other.assignment_id == _assignment_id,
        _other.id != _lease_id,
        _other.state == "leased",
        or_(_other.lease_expires_at > func.now(), _other.draft.is_not(None)),
    )
    .exists()
)


def _storing(*, fills_place: bool = True, is_reopened: bool = False) -> Prepared:
    """The statement that stores an answer.

    fills_place: False for work that is left out and asked again.
    is_reopened: whether the grid has open places that lost their answer.
    """
    is_needed = Grid.n_answers + _leases_of_others < Grid.wanted if fills_place else false()
    verdict = (
        select(
            or_(Grid.role != "ask", is_needed).label("wanted"),
            (_reopened if is_reopened else null()).label("reopened"),
        )
        .where(Grid.id == _grid_id)
        .cte("verdict")
    )
    is_wanted = select(verdict.c.wanted).scalar_subquery()
    replaced = select(verdict.c.reopened).where(verdict.c.wanted).scalar_subquery()
    in_answer, in_grid = _in_answer(is_wanted), _in_grid(is_wanted)
    if is_reopened:
        in_answer = in_answer.values(replaces=replaced)
        n_open = _grid.c.n_reopened - case((replaced.is_not(None), 1), else_=0)
        in_grid = in_grid.values(n_reopened=n_open)
    return Prepared(
        select(is_wanted, _seconds, _has_leases, replaced if is_reopened else null()).add_cte(
            in_answer.cte("in_answer"), in_grid.cte("in_grid"), _IN_ASSIGNMENT.cte("in_assignment")
        )
    )


def _in_answer(is_wanted: ColumnElement[bool]) -> Update:
    return (
        update(_answer)
        .where(_answer.c.id == _lease_id)
        .values(
            state=case((is_wanted, "submitted"), else_="surplus"),
            draft=null(),
            **{name: bindparam(name, type_=kind) for name, kind in _GIVEN.items()},
        )
    )


def _in_grid(is_wanted: ColumnElement[bool]) -> Update:
    return (
        update(_grid)
        .where(_grid.c.id == _grid_id, _grid.c.role == "ask", is_wanted)
        .values(n_answers=_grid.c.n_answers + 1)
    )


_IN_ASSIGNMENT = (
    update(_assignment)
    .where(_assignment.c.id == _assignment_id)
    .values(n_answered=_assignment.c.n_answered + 1)
)
# Nearly all answers need the first only, which looks for no place that is asked again.
_STORE = _storing()
_STORE_AGAIN = _storing(is_reopened=True)
_STORE_LEFT_OUT = _storing(fills_place=False)
_SECONDS = Prepared(select(_seconds))


class Stored(NamedTuple):
    """What is known of the rest of an assignment when an answer is stored: the time that its other
    answers took, and whether it has leases that are live or begun."""

    seconds_on_others: float
    has_leases: bool


def store(session: Session, held: Locked, values: dict[str, Any]) -> Stored:
    """Store an answer and count it in its grid and assignment: as submitted, or as surplus if the
    grid needs no more answers than it has and others are about to give. `values` are those of its
    row, by column.

    The caller must hold the locks of `held`.
    """
    answer, grid, assignment = held.answer, held.grid, held.assignment
    ((is_wanted, seconds, has_leases, replaced),) = _statement_for(held).rows(
        session,
        lease_id=answer.id,
        grid_id=grid.id,
        assignment_id=assignment.id,
        **{name: _for_driver(name, value) for name, value in values.items()},
    )
    for name, value in values.items():
        set_committed_value(answer, name, value)
    set_committed_value(answer, "state", "submitted" if is_wanted else "surplus")
    set_committed_value(answer, "draft", None)
    if is_wanted and grid.role == "ask":
        set_committed_value(grid, "n_answers", grid.n_answers + 1)
    if replaced is not None:
        set_committed_value(answer, "replaces", replaced)
        set_committed_value(grid, "n_reopened", grid.n_reopened - 1)
    set_committed_value(assignment, "n_answered", assignment.n_answered + 1)
    return Stored(float(seconds), has_leases)


def _statement_for(held: Locked) -> Prepared:
    if held.who.fills_no_place:
        return _STORE_LEFT_OUT
    return _STORE_AGAIN if held.grid.n_reopened else _STORE


def seconds_on_others(session: Session, answer: Answer) -> float:
    """Return the time in seconds that the other answers of an answer's assignment took."""
    ((seconds,),) = _SECONDS.rows(session, lease_id=answer.id, assignment_id=answer.assignment_id)
    return float(seconds)


def _for_driver(name: str, value: Any) -> Any:
    return Jsonb(value, orjson.dumps) if _GIVEN[name] is JSONB and value is not None else value
