"""Bonuses that are due, claimed, paid and recorded as in app/core/work.py."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session, aliased

from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.core.sweeps import apart
from app.core.work import DueWork, is_newest, still_mine
from app.recruitment import ledger, people
from app.recruitment.accounts import channel_client
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    Channel,
    ChannelError,
    ChannelRefused,
    OutcomeUnknown,
    redacted_message,
)
from app.recruitment.models import Payment, Recruitment
from app.recruitment.models import Submission as Row
from app.recruitment.work import (
    UNFINISHED,
    WRONG_KEYS_SECONDS,
    PlatformAttempt,
    again,
    as_literal,
    begin,
    due_rows,
    kept,
    put_off,
    reply_or_error,
    with_entry,
)

# How often a payment that a platform may have made is looked for before a person must decide.
LOOKS = 15


class NotListed(OutcomeUnknown):
    """The platform shows no payment. Paying again might pay twice, so a person decides in the
    end."""


@dataclass(frozen=True)
class BonusAttempt(PlatformAttempt):
    """Payments of one posting. `look` is set if an earlier attempt may already have paid them.

    numbers: the number of each payment's attempt
    """

    numbers: dict[UUID, int]
    orders: list[BonusOrder]
    look: bool

    @property
    def number(self) -> int:
        return self.numbers[self.row_id]


def _due_bonuses(busy: Collection[UUID], *which: ColumnElement[bool]) -> Select[UUID]:
    """Select bonuses that are due.

    A person's bonuses for one submission are paid one after the other, so that they can be told
    apart in what the platform shows. Each of the two conditions looks into an index of its own. As
    joins they compared all bonuses of a submission with each other, and with ten thousand of them,
    each claim of anybody's payment took more than a second.
    """
    other = aliased(Payment)
    others = select(other.id).where(
        other.submission_id == Payment.submission_id, other.kind == as_literal("bonus")
    )
    unfinished = other.state.in_(map(as_literal, UNFINISHED))
    oldest = others.where(unfinished).order_by(other.id).limit(1)
    is_in_flight = or_(other.state.in_(map(as_literal, ("running", "parked"))), other.unsure)
    in_flight = others.where(is_in_flight, other.id != Payment.id).limit(1)
    return due_rows(
        Payment,
        busy,
        Payment.kind == "bonus",
        # A bonus without a submission is nobody's sibling.
        func.coalesce(oldest.scalar_subquery(), Payment.id) == Payment.id,
        in_flight.scalar_subquery().is_(None),
        *which,
    )


def _begin_bonuses(session: Session, payment_id: UUID) -> BonusAttempt | None:
    """Claim a bonus, with others of its posting if the channel takes several at once."""
    payment = session.get_one(Payment, payment_id)
    recruitment = session.get_one(Recruitment, payment.recruitment_id)
    look = payment.unsure
    try:
        client = channel_client(session, recruitment)
        batch = client.open().bonus_batch
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
        return None
    order = _begin_bonus(session, recruitment, payment_id)
    if order is None:
        return None
    orders = [order]
    if batch > 1 and not look:
        begin_other = partial(_begin_bonus, session, recruitment)
        for other_id in _lock_others(session, payment, batch - 1):
            order = apart(session, other_id, begin_other, partial(put_off, Payment, session))
            orders += [order] if order is not None else []
    ids = [UUID(hex=order.token) for order in orders]
    numbers = {bonus_id: session.get_one(Payment, bonus_id).attempts for bonus_id in ids}
    return BonusAttempt(payment_id, client, numbers, orders, look)


def _lock_others(session: Session, payment: Payment, limit: int) -> list[UUID]:
    """Lock further bonuses of the same posting that are due and surely unpaid."""
    posting_id = session.get_one(Row, payment.submission_id).posting_id
    submissions = select(Row.id).where(Row.posting_id == posting_id)
    of_posting = Payment.submission_id.in_(submissions)
    due = _due_bonuses((), of_posting, ~Payment.unsure, Payment.id != payment.id)
    locking = due.limit(limit).with_for_update(of=Payment, skip_locked=True)
    return list(session.scalars(locking))


def _begin_bonus(session: Session, recruitment: Recruitment, payment_id: UUID) -> BonusOrder | None:
    payment = session.get_one(Payment, payment_id)
    try:
        order = _bonus_order(session, recruitment, payment)
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
        return None
    begin(payment)
    payment.unsure = True
    return order


def _bonus_order(session: Session, recruitment: Recruitment, payment: Payment) -> BonusOrder:
    submission = session.get_one(Row, payment.submission_id)
    earlier = session.scalars(
        select(Payment.amount_cents).where(
            Payment.submission_id == submission.id,
            Payment.kind == "bonus",
            Payment.state == "paid",
        )
    )
    return BonusOrder(
        token=payment.id.hex,
        submission=people.submission_ref(session, recruitment, submission),
        amount_cents=payment.amount_cents,
        currency=payment.currency,
        reason=payment.reason,
        earlier_cents=tuple(earlier),
    )


def _do_bonuses(attempt: BonusAttempt) -> tuple[list[BonusOutcome], bool]:
    """Pay bonuses, or check whether they were paid. Returns the outcomes, and whether paying again
    is harmless."""
    with kept(Payment, attempt.numbers):
        channel = attempt.client.open()
        outcomes = _look(channel, attempt.orders) if attempt.look else []
        known = {outcome.token for outcome in outcomes}
        rest = [order for order in attempt.orders if order.token not in known]
        if attempt.look and not channel.bonuses_repeatable:
            outcomes += [BonusOutcome(order.token, error=_not_listed()) for order in rest]
        elif rest:
            outcomes += _pay(channel, rest)
        return outcomes, channel.bonuses_repeatable


def _not_listed() -> NotListed:
    return NotListed(
        "The platform was asked to pay this, but has not confirmed it and does not list it."
    )


def _look(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    """Return outcomes of bonuses that were paid, or that could not be checked."""
    outcomes = []
    for order in orders:
        reply = reply_or_error(partial(channel.find_bonus, order))
        if isinstance(reply, ChannelError):
            unseen = OutcomeUnknown(f"It is not known yet whether this was paid: {reply}")
            outcomes.append(BonusOutcome(order.token, error=unseen))
        elif reply is not None:
            outcomes.append(BonusOutcome(order.token, reply))
    return outcomes


def _pay(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    # The payment may have been made before an unexpected error.
    paid = reply_or_error(partial(channel.pay_bonuses, orders), unexpected=OutcomeUnknown)
    if isinstance(paid, ChannelError):
        return [BonusOutcome(order.token, error=paid) for order in orders]
    return paid


def _record_bonuses(
    session: Session, attempt: BonusAttempt, done: tuple[list[BonusOutcome], bool]
) -> None:
    outcomes, repeatable = done

    def put_off_held(payment_id: UUID, reason: str) -> None:
        if is_newest(session, Payment, payment_id, attempt.numbers[payment_id]):
            put_off(Payment, session, payment_id, reason)

    for outcome in outcomes:
        payment_id = UUID(hex=outcome.token)
        number = attempt.numbers[payment_id]
        write = partial(_record_bonus, session, number, outcome, repeatable)
        apart(session, payment_id, write, put_off_held)


def _record_bonus(
    session: Session, number: int, outcome: BonusOutcome, repeatable: bool, payment_id: UUID
) -> None:
    payment = still_mine(session, Payment, payment_id, number)
    if payment is None:
        return
    error = outcome.error
    payment.history = with_entry(payment.history, number, error)
    if error is None:
        ledger.mark_paid(payment, outcome.external_id)
    elif isinstance(error, ChannelRefused):
        payment.state, payment.unsure, payment.why = "failed", False, redacted_message(error)
    elif isinstance(error, NotListed):
        _look_again(payment, error)
    elif isinstance(error, OutcomeUnknown):
        payment.unsure = True
        # If a payment can't be repeated, the platform gets time to show what it has paid.
        again(payment, error, None if repeatable else get_settings().look_seconds)
    else:
        payment.unsure = False
        again(payment, error)
    campaign_changed(session, payment.campaign_id)


def _look_again(payment: Payment, error: NotListed) -> None:
    payment.looks += 1
    if payment.looks > LOOKS:
        payment.state = "parked"
        payment.why = f"{error} Check on the platform, then say here whether it was paid."
    else:
        again(payment, error, get_settings().look_seconds)


BONUSES = DueWork(
    Payment, _due_bonuses, _begin_bonuses, _do_bonuses, _record_bonuses, partial(put_off, Payment)
)
