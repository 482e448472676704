"""Rounds: creating them with grids, opening them and closing them.

While a round's model is being trained, the next round is already prepared with grids from the
previous model, so that nobody has to wait. When the new model is ready, its grids replace those
that nobody has started.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil

import numpy as np
from sqlalchemy import (
    BigInteger,
    Integer,
    String,
    any_,
    bindparam,
    column,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Session

from app.campaigns import hooks
from app.campaigns.announcements import announce
from app.campaigns.asking import asked_images
from app.campaigns.models import IMPORTED_ROUND, Campaign, Grid, Round
from app.core.events import campaign_changed
from app.core.prepared import Prepared
from app.strategies import get_strategy
from app.strategies.asking import first_grids
from app.strategies.grids import FirstRound, NextGrids


def grids_in_round(campaign: Campaign, number: int) -> int:
    """Return how many grids round `number` (from 1) has. Rounds that existed when the budget last
    changed keep their grids, and later rounds share the rest of the budget evenly."""
    stood = campaign.laid_out
    if number <= len(stood):
        return stood[number - 1]
    total = campaign.budget // campaign.answers_per_grid - sum(stood)
    return even_share(total, campaign.rounds - len(stood), number - len(stood))


def even_share(total: int, parts: int, number: int) -> int:
    """Return the size of part `number` (from 1) if `total` is divided evenly into `parts`."""
    share, rest = divmod(total, parts)
    return share + (1 if number <= rest else 0)


def grids_held_ready(campaign: Campaign, number: int) -> int:
    """Return how many grids of round `number` are prepared before its own model is ready."""
    return ceil(campaign.ready_share * grids_in_round(campaign, number))


def open_first_round(session: Session, campaign: Campaign) -> Round:
    """Create and open the first round with the strategy's first grids, because there is no model
    yet. The second round is prepared the same way."""
    numbers = [1, 2] if campaign.rounds > 1 else [1]
    counts = [grids_in_round(campaign, 1), *(grids_held_ready(campaign, n) for n in numbers[1:])]
    rng = np.random.default_rng(campaign.seed)
    about = FirstRound(campaign.n_images, campaign.grid_size, campaign.seed, rng)
    grids = first_grids(
        get_strategy(campaign.strategy),
        sum(counts),
        about,
        campaign.settings,
        asked_images(session, campaign),
    )
    first = schedule_round(session, campaign, Batch(1, grids.first(counts[0]), basis=0))
    if len(grids.images) > counts[0]:
        schedule_round(session, campaign, Batch(2, grids.after(counts[0]), basis=0))
    open_next(session, campaign)
    return first


@dataclass(frozen=True)
class Batch:
    """Grids for round `number` from a model of `basis` full rounds, with their mean locality in it.
    The grids are in random order, so any part of them has about the same locality."""

    number: int
    grids: NextGrids
    basis: int
    locality: float | None = None


def batches_wanted(session: Session, campaign: Campaign) -> list[tuple[int, int]]:
    """Return (round, grids) that a model of all full rounds should make: for the next round, and
    for the prepared part of the round after it."""
    basis = n_full_rounds(session, campaign)
    query = select(Round.number, Round.basis).where(Round.campaign_id == campaign.id)
    known = {number: round_basis for number, round_basis in session.execute(query)}
    wanted = []
    for number in (basis + 1, basis + 2):
        if number > campaign.rounds or known.get(number, -1) >= basis:
            continue
        whole = number == basis + 1
        n = grids_in_round(campaign, number) if whole else grids_held_ready(campaign, number)
        if n:
            wanted.append((number, n))
    return wanted


def n_full_rounds(session: Session, campaign: Campaign) -> int:
    """Return the number of the last round that is full and has only full rounds before it."""
    # A reopened round was full, and later rounds were made from it.
    was_full = or_(Round.n_answers == Round.n_wanted, Round.state == "reopened")
    query = select(Round.number, was_full).where(
        Round.campaign_id == campaign.id, Round.number != IMPORTED_ROUND
    )
    full = {number: is_full for number, is_full in session.execute(query.order_by(Round.number))}
    return next((number - 1 for number, is_full in full.items() if not is_full), len(full))


def n_existing_rounds(session: Session, campaign: Campaign) -> int:
    """Return how many rounds exist."""
    query = select(func.count()).select_from(Round)
    query = query.where(Round.campaign_id == campaign.id, Round.number != IMPORTED_ROUND)
    return session.scalar(query) or 0


# Made once, because every request for a grid runs it.
_AT_WORK = Prepared(
    select(Round)
    .where(
        Round.campaign_id == bindparam("campaign_id"),
        Round.state != "closed",
    )
    .order_by(Round.number)
)


def rounds_at_work(session: Session, campaign: Campaign) -> list[Round]:
    """Return the rounds whose grids are assigned: those that are asked again in part, the open
    round, then the prepared ones, so that nobody waits for the last answers of a round."""
    return [round_ for (round_,) in _AT_WORK.rows(session, campaign_id=campaign.id)]


def schedule_round(session: Session, campaign: Campaign, batch: Batch) -> Round:
    """Give a round these grids in place of those that nobody has started. Create the round if it
    does not exist.

    The caller must hold the campaign's row lock. A closed round stays as it is, and so does a round
    whose grids come from a model that is at least as new.
    """
    query = select(Round).where(Round.campaign_id == campaign.id, Round.number == batch.number)
    round_ = session.scalar(query.with_for_update(key_share=True))
    wanted = campaign.answers_per_grid
    if round_ is None:
        n_wanted = wanted * grids_in_round(campaign, batch.number)
        round_ = Round(
            campaign_id=campaign.id, number=batch.number, n_wanted=n_wanted, state="ready"
        )
        session.add(round_)
        session.flush()
    elif round_.state in ("closed", "reopened") or round_.basis >= batch.basis:
        return round_
    n_kept = _drop_untouched(session, round_)
    grids = batch.grids.first(max(0, round_.n_wanted // wanted - n_kept))
    # If the budget grew in the meantime, there are too few grids, and the round waits for those of
    # a later job.
    lacks = (
        round_.number == batch.basis + 1 and n_kept + len(grids.images) < round_.n_wanted // wanted
    )
    round_.basis = batch.basis - 1 if lacks else batch.basis
    # If all grids of a round are started, it keeps their locality.
    round_.locality = batch.locality if len(grids.images) else round_.locality
    round_.contents = {**grids.contents, "earlier": n_kept} if n_kept else grids.contents
    _add_grids(session, round_, grids, wanted)
    campaign_changed(session, campaign.id)
    return round_


def _drop_untouched(session: Session, round_: Round) -> int:
    """Delete the grids of a round that nobody has started. Return how many are left."""
    begun = hooks.handed_out()
    untouched = select(Grid.id).where(Grid.round_id == round_.id, ~begun)
    # A grid that was assigned in the meantime is locked, or has a lease that the second query sees.
    locked = session.scalars(untouched.with_for_update(of=Grid, skip_locked=True)).all()
    session.execute(
        delete(Grid)
        .where(Grid.id == any_(literal(locked, ARRAY(BigInteger))), ~begun)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(select(func.count()).where(Grid.round_id == round_.id)) or 0


def _add_grids(session: Session, round_: Round, grids: NextGrids, wanted: int) -> None:
    if not len(grids.images):
        return
    highest = session.scalar(select(func.max(Grid.number)).where(Grid.round_id == round_.id))
    first = 0 if highest is None else highest + 1
    rows = [
        {"number": first + index, "images": images, "purpose": purpose, "attribute": attribute}
        for index, (images, purpose, attribute) in enumerate(
            zip(grids.images.tolist(), grids.purposes, grids.attributes, strict=True)
        )
    ]
    # All rows are inserted with one statement, because annotators wait in the meantime and single
    # rows take four times as long.
    new = (
        func.jsonb_to_recordset(literal(rows, JSONB))
        .table_valued(
            column("number", Integer),
            column("images", ARRAY(Integer)),
            column("purpose", String),
            column("attribute", Integer),
        )
        .render_derived(name="new", with_types=True)
    )
    columns = {
        Grid.round_id: literal(round_.id),
        Grid.campaign_id: literal(round_.campaign_id),
        Grid.number: new.c.number,
        Grid.images: new.c.images,
        Grid.wanted: literal(wanted),
        Grid.purpose: new.c.purpose,
        Grid.attribute: new.c.attribute,
        Grid.basis: literal(round_.basis),
    }
    session.execute(
        insert(Grid).from_select(list(columns), select(*columns.values()), include_defaults=True)
    )


def open_round_of(session: Session, campaign: Campaign) -> Round | None:
    return session.scalar(
        select(Round).where(Round.campaign_id == campaign.id, Round.state == "open")
    )


def imported_round(session: Session, campaign: Campaign) -> Round:
    """Return the round of imported answers, creating it if needed. The caller must hold the lock
    that imports wait for, because only imports change this round."""
    query = select(Round).where(Round.campaign_id == campaign.id, Round.number == IMPORTED_ROUND)
    round_ = session.scalar(query.with_for_update(key_share=True))
    if round_ is None:
        round_ = Round(
            campaign_id=campaign.id, number=IMPORTED_ROUND, state="closed", n_wanted=0, n_answers=0,
            closed_at=datetime.now(UTC),
        )  # fmt: skip
        session.add(round_)
        session.flush()
    return round_


def close_round(session: Session, closing: Round) -> None:
    closing.state = "closed"
    closing.closed_at = datetime.now(UTC)
    session.flush()
    about = {"number": closing.number, "answers": closing.n_answers}
    announce(session, "round.finished", closing.campaign_id, round=about)


def end_campaign(session: Session, campaign: Campaign) -> None:
    """End a campaign after its last round, or because the requester finishes it."""
    campaign.state, campaign.finished_at = "finished", datetime.now(UTC)
    campaign.reopened_only = False
    hooks.ended(session, campaign.id)
    announce(session, "campaign.finished", campaign.id, answers=campaign.n_answers)


def open_next(session: Session, campaign: Campaign) -> None:
    """Open the next prepared round unless a round is open. The caller must hold the campaign's row
    lock."""
    if open_round_of(session, campaign) is not None:
        return
    ready = session.scalar(
        select(Round)
        .where(Round.campaign_id == campaign.id, Round.state == "ready")
        .order_by(Round.number)
        .limit(1)
        .with_for_update(key_share=True)
    )
    if ready is not None:
        ready.state = "open"
        campaign_changed(session, campaign.id)


def awaits_grids(round_: Round) -> bool:
    """Return whether the round will get more grids, from its own model."""
    return round_.basis < round_.number - 1
