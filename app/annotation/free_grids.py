"""Grids that are free: finding them for an annotator, and leasing one."""

from datetime import UTC, datetime
from typing import Any, NamedTuple
from typing import cast as cast_type
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Select,
    Table,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased
from uuid_utils.compat import uuid7

from app.annotation.held import live_leases_of
from app.annotation.models import Answer
from app.annotation.sessions import AnnotatorSession
from app.campaigns.models import Grid, Round
from app.core.prepared import Prepared
from app.kinds import kind_of

# How many free grids of votes are searched for the one that shows a person most new images.
RANKED = 200
_ATTEMPTS = 50


class Taken(NamedTuple):
    """A lease and its grid, whose row is locked."""

    lease: Answer
    grid: Grid


_first_at_work = (
    select(Round.id)
    .where(
        Round.campaign_id == bindparam("campaign_id"),
        or_(Round.state == "open", Round.state == "ready"),
    )
    .order_by(Round.number)
    .limit(1)
    .scalar_subquery()
)


def _unfilled(round_id: ColumnElement[UUID]) -> ColumnElement[bool]:
    """SQL: grids of the round that need an answer and that the annotator `annotator_id` has neither
    answered nor is working on."""
    answered_by_me = select(Answer.id).where(
        Answer.grid_id == Grid.id,
        Answer.annotator_id == bindparam("annotator_id"),
        or_(Answer.state != "leased", Answer.lease_expires_at > func.now()),
    )
    return and_(
        Grid.round_id == round_id,
        Grid.n_answers < Grid.wanted,
        ~answered_by_me.exists(),
    )


def _images_known() -> ColumnElement[int]:
    """SQL: how many of a grid's images the annotator `annotator_id` has seen in other grids."""
    seen = aliased(Grid)
    mine = (
        select(func.unnest(seen.images))
        .join(Answer, Answer.grid_id == seen.id)
        .where(Answer.annotator_id == bindparam("annotator_id"), Answer.state != "returned")
    )
    shown = func.unnest(Grid.images).table_valued("image", name="shown").render_derived()
    known = select(func.count()).select_from(shown).where(shown.c.image.in_(mine)).correlate(Grid)
    return known.scalar_subquery()


# Statements of the hot path are made once: making them takes longer than running them.
_FREE = Grid.n_answers + live_leases_of(Grid.__table__.c.id) < Grid.wanted
_this = Grid.id == bindparam("grid_id")
_STILL_FREE = Prepared(select(Grid.id).where(_this, _FREE))
_of_round = bindparam("round_id", type_=Uuid())
_UNFILLED = Prepared(select(Grid.id).where(_unfilled(_of_round)).limit(1))


def _taking(candidates: Select[Any]) -> Prepared:
    return Prepared(candidates.limit(1).with_for_update(of=Grid, skip_locked=True, key_share=True))


def _next(round_id: ColumnElement[UUID]) -> Prepared:
    return _taking(select(Grid).where(_unfilled(round_id), _FREE).order_by(Grid.number))


def _next_new(round_id: ColumnElement[UUID]) -> Prepared:
    """Of the first free grids, the one with the fewest images that the annotator has seen. Every
    claim would read the whole round if all were searched."""
    free = (_unfilled(round_id), _FREE)
    first = select(Grid.id).where(*free).order_by(Grid.number).limit(RANKED)
    chosen = select(Grid).where(*free, Grid.id.in_(first))
    return _taking(chosen.order_by(_images_known(), Grid.number))


_TAKE_IF_FREE = _taking(select(Grid.id).where(_this, _FREE))
_NEXT, _NEXT_NEW = _next(_of_round), _next_new(_of_round)
_NEXT_AT_WORK, _NEXT_NEW_AT_WORK = _next(_first_at_work), _next_new(_first_at_work)
_answer = cast_type(Table, Answer.__table__)
_ROW = {
    "id": bindparam("id", type_=Uuid()),
    "campaign_id": Grid.campaign_id,
    "grid_id": Grid.id,
    "annotator_id": bindparam("annotator_id", type_=Uuid()),
    "assignment_id": bindparam("assignment_id", type_=Uuid()),
    "state": literal_column("'leased'"),
    "leased_at": bindparam("now", type_=DateTime(timezone=True)),
    "lease_expires_at": bindparam("expires", type_=DateTime(timezone=True)),
    "descriptions": literal_column("'{}'::text[]"),
    "trace": literal_column("'[]'::jsonb"),
    "ahead": bindparam("ahead", type_=Boolean()),
    "draft_version": literal_column("0"),
}
_LEASE = insert(_answer).from_select(
    list(_ROW), select(*_ROW.values()).where(_this, _FREE), include_defaults=False
)
# The annotator's own expired lease of the grid goes on as the same row, with its draft.
_LEASE_IF_FREE = Prepared(
    _LEASE.on_conflict_do_update(
        index_elements=[_answer.c.grid_id, _answer.c.annotator_id],
        set_={
            name: _LEASE.excluded[name]
            for name in ("assignment_id", "leased_at", "lease_expires_at", "ahead")
        },
        where=and_(_answer.c.state == "leased", _answer.c.lease_expires_at <= func.now()),
    ).returning(*_answer.c),
    Answer,
)


def lease_free_grid(
    session: Session, who: AnnotatorSession, round_: Round, expires: datetime, *, ahead: bool
) -> Taken | None:
    """Lease a grid of the round that nobody is working on."""
    candidates = _NEXT_NEW if kind_of(who.campaign).prefers_new_images else _NEXT
    return _leased(session, who, candidates, {"round_id": round_.id}, expires, ahead)


def lease_at_work(
    session: Session, who: AnnotatorSession, expires: datetime, *, ahead: bool
) -> Taken | None:
    """The same in the first round whose grids are assigned, without reading which that is."""
    prefers_new = kind_of(who.campaign).prefers_new_images
    candidates = _NEXT_NEW_AT_WORK if prefers_new else _NEXT_AT_WORK
    return _leased(session, who, candidates, {"campaign_id": who.campaign.id}, expires, ahead)


def _leased(
    session: Session,
    who: AnnotatorSession,
    candidates: Prepared,
    where: dict[str, UUID],
    expires: datetime,
    ahead: bool,
) -> Taken | None:
    mine = {"annotator_id": who.annotator_id}
    # The snapshot that chose the grid may be older than a lease committed just before the grid was
    # locked. A statement that sees that lease then leases the grid only if it is still free.
    for _ in range(_ATTEMPTS):
        chosen = candidates.first(session, **mine, **where)
        if chosen is None:
            return None
        (grid,) = chosen
        leased = _LEASE_IF_FREE.first(
            session,
            **mine,
            id=uuid7(),
            grid_id=grid.id,
            assignment_id=who.assignment.id,
            now=datetime.now(UTC),
            expires=expires,
            ahead=ahead,
        )
        if leased is not None:
            return Taken(leased[0], grid)
    return None


def is_free_and_locked(session: Session, grid_id: int) -> bool:
    """Lock a grid if nobody else has done so, and return whether it is locked and needs an
    answer."""
    is_locked = _TAKE_IF_FREE.first(session, grid_id=grid_id) is not None
    # Again under the lock, as in lease_free_grid.
    return is_locked and _STILL_FREE.first(session, grid_id=grid_id) is not None


def has_unfilled(session: Session, who: AnnotatorSession, round_id: UUID) -> bool:
    """Return whether a grid of the round needs an answer that this annotator could give."""
    grid = _UNFILLED.first(session, annotator_id=who.annotator_id, round_id=round_id)
    return grid is not None
