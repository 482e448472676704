"""Writing an answer into the rows that only its own submission changes: its own, its grid's and its
assignment's, in one statement. Campaign and round come last (app/annotation/counting.py)."""

from typing import Any, NamedTuple
from typing import cast as cast_type

import orjson
from psycopg.types.json import Jsonb
from sqlalchemy import (
    ARRAY,
    BigInteger,
    DateTime,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    Uuid,
    bindparam,
    case,
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
_verdict = (
    select(
        or_(Grid.role != "ask", Grid.n_answers + _leases_of_others < Grid.wanted).label("wanted")
    )
    .where(Grid.id == _grid_id)
    .cte("verdict")
)
_is_wanted = select(_verdict.c.wanted).scalar_subquery()
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
_in_answer = (
    update(_answer)
    .where(_answer.c.id == _lease_id)
    .values(
        state=case((_is_wanted, "submitted"), else_="surplus"),
        draft=null(),
        **{name: bindparam(name, type_=kind) for name, kind in _GIVEN.items()},
    )
)
_in_grid = (
    update(_grid)
    .where(_grid.c.id == _grid_id, _grid.c.role == "ask", _is_wanted)
    .values(n_answers=_grid.c.n_answers + 1)
)
_in_assignment = (
    update(_assignment)
    .where(_assignment.c.id == _assignment_id)
    .values(n_answered=_assignment.c.n_answered + 1)
)
_STORE = Prepared(
    select(_is_wanted, _seconds, _has_leases).add_cte(
        _in_answer.cte("in_answer"), _in_grid.cte("in_grid"), _in_assignment.cte("in_assignment")
    )
)
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
    ((is_wanted, seconds, has_leases),) = _STORE.rows(
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
    set_committed_value(assignment, "n_answered", assignment.n_answered + 1)
    return Stored(float(seconds), has_leases)


def seconds_on_others(session: Session, answer: Answer) -> float:
    """Return the time in seconds that the other answers of an answer's assignment took."""
    ((seconds,),) = _SECONDS.rows(session, lease_id=answer.id, assignment_id=answer.assignment_id)
    return float(seconds)


def _for_driver(name: str, value: Any) -> Any:
    return Jsonb(value, orjson.dumps) if _GIVEN[name] is JSONB and value is not None else value
