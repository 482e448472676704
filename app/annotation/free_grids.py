"""Grids that are free: finding them for an annotator, and leasing one."""

from datetime import UTC, datetime
from typing import Any
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
from app.campaigns.models import Grid
from app.core.prepared import Prepared
from app.kinds import kind_of

# How many free grids of votes are searched for the one that shows a person most new images.
RANKED = 200
_ATTEMPTS = 50


def _unfilled() -> ColumnElement[bool]:
    """SQL: grids of the round `round_id` that need an answer and that the annotator `annotator_id`
    has neither answered nor is working on."""
    answered_by_me = select(Answer.id).where(
        Answer.grid_id == Grid.id,
        Answer.annotator_id == bindparam("annotator_id"),
        or_(Answer.state != "leased", Answer.lease_expires_at > func.now()),
    )
    return and_(
        Grid.round_id == bindparam("round_id"),
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
_UNFILLED = Prepared(select(Grid.id).where(_unfilled()).limit(1))


def _taking(candidates: Select[Any]) -> Prepared:
    return Prepared(candidates.limit(1).with_for_update(of=Grid, skip_locked=True, key_share=True))


_TAKE_IF_FREE = _taking(select(Grid.id).where(_this, _FREE))
_NEXT = _taking(select(Grid).where(_unfilled(), _FREE).order_by(Grid.number))
# Of the first free grids, the one with the fewest images that the annotator has seen. Every claim
# would read the whole round if all were searched.
_FIRST = select(Grid.id).where(_unfilled(), _FREE).order_by(Grid.number).limit(RANKED)
_NEXT_NEW = _taking(
    select(Grid)
    .where(_unfilled(), _FREE, Grid.id.in_(_FIRST))
    .order_by(_images_known(), Grid.number)
)
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
    session: Session, who: AnnotatorSession, round_id: UUID, expires: datetime, *, ahead: bool
) -> tuple[Answer, Grid] | None:
    """Lease a grid of the round that nobody is working on, and return the lease and the grid, with
    its row locked."""
    candidates = _NEXT_NEW if kind_of(who.campaign).prefers_new_images else _NEXT
    mine = {"annotator_id": who.annotator_id}
    # The snapshot that chose the grid may be older than a lease committed just before the grid was
    # locked. A statement that sees that lease then leases the grid only if it is still free.
    for _ in range(_ATTEMPTS):
        chosen = candidates.first(session, **mine, round_id=round_id)
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
            return leased[0], grid
    return None


def is_free_and_locked(session: Session, grid_id: int) -> bool:
    """Lock a grid if nobody else has done so, and return whether it is locked and needs an
    answer."""
    is_locked = _TAKE_IF_FREE.first(session, grid_id=grid_id) is not None
    # Again under the lock, as in lease_free_grid.
    return is_locked and _STILL_FREE.first(session, grid_id=grid_id) is not None


def has_unfilled(session: Session, who: AnnotatorSession, round_id: UUID) -> bool:
    """Return whether a grid of the round needs an answer that this annotator could give."""
    found = _UNFILLED.first(session, annotator_id=who.annotator_id, round_id=round_id)
    return found is not None
