"""Asking again for answers that are left out: the places of an annotator who is left out, or of an
assignment whose work was rejected, are opened for others.

An answer that loses its place becomes surplus with `reopened_at`, and the answer that takes the
place names it in `replaces`. The grid stays the same, so nobody is shown it twice, and the
annotator who lost the place cannot get it again. Money that was paid stays paid.

The caller of each function that changes something holds the campaign's row lock while no answer is
being submitted (app/campaigns/locks.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Uuid, any_, func, literal, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation import hooks
from app.annotation.held import live_leases_of
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import IMPORTED_ROUND, Campaign, Grid, Round
from app.campaigns.reopening import reopen_places, withdraw_places
from app.core.errors import NotFound
from app.jobs.service import request_job


@dataclass(frozen=True)
class Price:
    """What asking again would mean.

    answers: places that would be opened again.
    open: places that were opened before and have no new answer yet.
    reopens: whether the campaign has ended and would run again for these and the open places.
    cost_cents: about what the answers cost that would be asked for, with fees. It comes on top of
        what was paid.
    """

    answers: int
    open: int
    reopens: bool
    cost_cents: int
    currency: str


def annotator_at(session: Session, campaign: Campaign, position: int) -> Annotator:
    """Return a campaign's annotator by their number. Raises NotFound."""
    query = select(Annotator).where(
        Annotator.campaign_id == campaign.id, Annotator.position == position
    )
    annotator = session.scalar(query)
    if annotator is None:
        raise NotFound(f"This campaign has no annotator {position}.")
    return annotator


def price_for_annotator(session: Session, campaign: Campaign, position: int) -> Price:
    """Return what it means to ask again for an annotator's answers. Raises NotFound."""
    annotator = annotator_at(session, campaign, position)
    return price_of(session, campaign, Answer.annotator_id == annotator.id)


def price_of(session: Session, campaign: Campaign, whose: ColumnElement[bool]) -> Price:
    """Return what it means to ask again for these answers."""
    places = _places(campaign, whose).with_only_columns(func.count())
    answers = session.scalar(places) or 0
    reopens = campaign.state == "finished" and answers > 0
    wanted = answers + (campaign.n_reopened if reopens else 0)
    cost = hooks.cost_of_answers(session, campaign, wanted) if wanted else 0
    return Price(answers, campaign.n_reopened, reopens, cost, campaign.currency)


def ask_again_for_annotator(
    session: Session, account: Account, campaign: Campaign, annotator: Annotator
) -> int:
    """Ask others for the answers of an annotator who is left out, who gets no more grids, and
    return how many places were opened. It happens once until the annotator is taken back."""
    if annotator.asked_again_at is not None:
        return 0
    now = datetime.now(UTC)
    annotator.asked_again_at = now
    annotator.stopped_at = annotator.stopped_at or now
    return _ask_again(session, account, campaign, Answer.annotator_id == annotator.id)


def ask_again_for_assignment(
    session: Session, account: Account, campaign: Campaign, assignment: Assignment
) -> int:
    """Leave rejected work out of learning, ask others for its answers, and return how many places
    were opened. It happens once until the rejection is reversed."""
    if assignment.left_out_at is not None:
        return 0
    assignment.left_out_at = datetime.now(UTC)
    return _ask_again(session, account, campaign, Answer.assignment_id == assignment.id)


def take_back_annotator(session: Session, campaign: Campaign, annotator: Annotator) -> int:
    """Withdraw the places of an annotator that nobody has claimed since, and return how many.
    Rejected work stays as it is."""
    annotator.asked_again_at = None
    session.flush()
    return _withdraw(session, campaign, Answer.annotator_id == annotator.id)


def take_back_assignment(session: Session, campaign: Campaign, assignment: Assignment) -> int:
    """The same for rejected work whose rejection is reversed."""
    if assignment.left_out_at is None:
        return 0
    assignment.left_out_at = None
    session.flush()
    n_withdrawn = _withdraw(session, campaign, Answer.assignment_id == assignment.id)
    _learn_again(session, campaign)
    return n_withdrawn


def asked_again_of(session: Session, campaign: Campaign) -> dict[UUID, tuple[int, int]]:
    """Return how many answers of each annotator lost their place, and how many of these places are
    still open, for annotators who lost any."""
    query = (
        select(Answer.annotator_id, func.count(), func.count().filter(~_is_filled()))
        .where(Answer.campaign_id == campaign.id, Answer.reopened_at.is_not(None))
        .group_by(Answer.annotator_id)
    )
    return {who: (n_lost, n_open) for who, n_lost, n_open in session.execute(query)}


def n_asked_again(session: Session, campaign: Campaign) -> int:
    """Return how many answers of a campaign lost their place."""
    query = select(func.count()).where(
        Answer.campaign_id == campaign.id, Answer.reopened_at.is_not(None)
    )
    return session.scalar(query) or 0


def free_leases(session: Session, whose: ColumnElement[bool]) -> None:
    """Let others have grids that are leased by people whose work no longer counts. What they still
    submit is kept. Leases that are being submitted are passed over."""
    query = select(Answer.id).where(
        whose, Answer.state == "leased", Answer.lease_expires_at > func.now()
    )
    live = session.scalars(query.with_for_update(skip_locked=True, key_share=True)).all()
    _change(session, live, lease_expires_at=func.now())


def _ask_again(
    session: Session, account: Account, campaign: Campaign, whose: ColumnElement[bool]
) -> int:
    session.flush()
    # Grids are locked before their answers, as everywhere (app/annotation/held.py).
    query = _places(campaign, whose).order_by(Grid.id)
    lost = session.execute(query.with_for_update(of=Grid, key_share=True)).all()
    free_leases(session, whose)
    if lost:
        ids, grids = zip(*lost, strict=True)
        _change(session, ids, state="surplus", reopened_at=func.now())
        if reopen_places(session, campaign, grids):
            record_audit(session, account.id, "campaign.reopened", "campaign", campaign.id)
        record_audit(
            session, account.id, "campaign.asked_again", "campaign", campaign.id, answers=len(ids)
        )
    _learn_again(session, campaign)
    return len(lost)


def _places(campaign: Campaign, whose: ColumnElement[bool]) -> Select[UUID, int]:
    """Select answer and grid of the places that these answers fill: neither surplus answers nor
    checks fill one, and imported answers are outside the budget."""
    return (
        select(Answer.id, Grid.id)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Round, Grid.round_id == Round.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state == "submitted",
            Round.number != IMPORTED_ROUND,
            whose,
        )
    )


def _withdraw(session: Session, campaign: Campaign, whose: ColumnElement[bool]) -> int:
    query = _open_places(campaign, whose).order_by(Grid.id)
    open_places = session.execute(query.with_for_update(of=Grid, key_share=True)).all()
    # Again under the locks: this statement sees every lease that was committed before them.
    n_live = live_leases_of(Grid.__table__.c.id)
    n_open = Grid.n_reopened if campaign.reopened_only else Grid.wanted - Grid.n_answers
    unclaimed = _open_places(campaign, whose).where(
        Grid.id.in_([grid for _, grid in open_places]), n_open > n_live
    )
    back = session.execute(unclaimed).all()
    if back:
        ids, grids = zip(*back, strict=True)
        _change(session, ids, state="submitted", reopened_at=None)
        withdraw_places(session, campaign, grids)
    return len(back)


def _open_places(campaign: Campaign, whose: ColumnElement[bool]) -> Select[UUID, int]:
    """Select answer and grid of places that are open again and may get these answers back."""
    return (
        select(Answer.id, Grid.id)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .join(Assignment, Answer.assignment_id == Assignment.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.reopened_at.is_not(None),
            ~_is_filled(),
            Annotator.asked_again_at.is_(None),
            Assignment.left_out_at.is_(None),
            whose,
        )
    )


def _is_filled() -> ColumnElement[bool]:
    """SQL: another answer has taken the place of the row of `Answer`."""
    filling = aliased(Answer)
    return select(filling.id).where(filling.replaces == Answer.id).exists()


def _change(session: Session, answers: Sequence[UUID], **values: Any) -> None:
    if answers:
        chosen = literal(list(answers), ARRAY(Uuid()))
        session.execute(update(Answer).where(Answer.id == any_(chosen)).values(**values))


def _learn_again(session: Session, campaign: Campaign) -> None:
    if campaign.n_finished:
        request_job(session, campaign.id, campaign.n_answers, again=True)
