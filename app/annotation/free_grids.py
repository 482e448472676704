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
from app.campaigns.models import Campaign, Grid, Round
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
        Round.state != "closed",
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
_live = live_leases_of(Grid.__table__.c.id)
_FREE = Grid.n_answers + _live < Grid.wanted
# In campaigns that run only for places that are asked again.
_REOPENED = Grid.n_reopened > _live
_this = Grid.id == bindparam("grid_id")
_of_round = bindparam("round_id", type_=Uuid())


def _taking(candidates: Select[Any]) -> Prepared:
    return Prepared(candidates.limit(1).with_for_update(of=Grid, skip_locked=True, key_share=True))


def _next(round_id: ColumnElement[UUID], is_free: ColumnElement[bool]) -> Prepared:
    return _taking(select(Grid).where(_unfilled(round_id), is_free).order_by(Grid.number))


def _next_new(round_id: ColumnElement[UUID], is_free: ColumnElement[bool]) -> Prepared:
    """Of the first free grids, the one with the fewest images that the annotator has seen. Every
    claim would read the whole round if all were searched."""
    free = (_unfilled(round_id), is_free)
    first = select(Grid.id).where(*free).order_by(Grid.number).limit(RANKED)
    chosen = select(Grid).where(*free, Grid.id.in_(first))
    return _taking(chosen.order_by(_images_known(), Grid.number))


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


def _leasing(is_free: ColumnElement[bool]) -> Prepared:
    """Lease a grid if it is free. The annotator's own expired lease of the grid goes on as the same
    row, with its draft."""
    lease = insert(_answer).from_select(
        list(_ROW), select(*_ROW.values()).where(_this, is_free), include_defaults=False
    )
    return Prepared(
        lease.on_conflict_do_update(
            index_elements=[_answer.c.grid_id, _answer.c.annotator_id],
            set_={
                name: lease.excluded[name]
                for name in ("assignment_id", "leased_at", "lease_expires_at", "ahead")
            },
            where=and_(_answer.c.state == "leased", _answer.c.lease_expires_at <= func.now()),
        ).returning(*_answer.c),
        Answer,
    )


class _Statements:
    """The statements about grids that are free in this sense; `also` limits the grids."""

    def __init__(self, is_free: ColumnElement[bool], *also: ColumnElement[bool]) -> None:
        self.next, self.next_new = _next(_of_round, is_free), _next_new(_of_round, is_free)
        self.next_at_work = _next(_first_at_work, is_free)
        self.next_new_at_work = _next_new(_first_at_work, is_free)
        self.lease = _leasing(is_free)
        self.take = _taking(select(Grid.id).where(_this, is_free))
        self.still_free = Prepared(select(Grid.id).where(_this, is_free))
        unfilled = select(Grid.id).where(_unfilled(_of_round), *also)
        self.unfilled = Prepared(unfilled.limit(1))


_USUAL = _Statements(_FREE)
_REOPENED_ONLY = _Statements(_REOPENED, Grid.n_reopened > 0)


def _statements(campaign: Campaign) -> _Statements:
    return _REOPENED_ONLY if campaign.reopened_only else _USUAL


def lease_free_grid(
    session: Session, who: AnnotatorSession, round_: Round, expires: datetime, *, ahead: bool
) -> Taken | None:
    """Lease a grid of the round that nobody is working on."""
    these = _statements(who.campaign)
    candidates = these.next_new if kind_of(who.campaign).prefers_new_images else these.next
    return _leased(session, who, candidates, {"round_id": round_.id}, expires, ahead)


def lease_at_work(
    session: Session, who: AnnotatorSession, expires: datetime, *, ahead: bool
) -> Taken | None:
    """The same in the first round whose grids are assigned, without reading which that is."""
    prefers_new = kind_of(who.campaign).prefers_new_images
    these = _statements(who.campaign)
    candidates = these.next_new_at_work if prefers_new else these.next_at_work
    return _leased(session, who, candidates, {"campaign_id": who.campaign.id}, expires, ahead)


def _leased(
    session: Session,
    who: AnnotatorSession,
    candidates: Prepared,
    where: dict[str, UUID],
    expires: datetime,
    ahead: bool,
) -> Taken | None:
    mine, leasing = {"annotator_id": who.annotator_id}, _statements(who.campaign).lease
    # The snapshot that chose the grid may be older than a lease committed just before the grid was
    # locked. A statement that sees that lease then leases the grid only if it is still free.
    for _ in range(_ATTEMPTS):
        chosen = candidates.first(session, **mine, **where)
        if chosen is None:
            return None
        (grid,) = chosen
        leased = leasing.first(
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


def is_free_and_locked(session: Session, campaign: Campaign, grid_id: int) -> bool:
    """Lock a grid if nobody else has done so, and return whether it is locked and needs an
    answer."""
    these = _statements(campaign)
    is_locked = these.take.first(session, grid_id=grid_id) is not None
    # Again under the lock, as in lease_free_grid.
    return is_locked and these.still_free.first(session, grid_id=grid_id) is not None


def has_unfilled(session: Session, who: AnnotatorSession, round_id: UUID) -> bool:
    """Return whether a grid of the round needs an answer that this annotator could give."""
    unfilled = _statements(who.campaign).unfilled
    grid = unfilled.first(session, annotator_id=who.annotator_id, round_id=round_id)
    return grid is not None
