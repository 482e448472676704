"""Bonuses that are due. They are claimed, paid and recorded like all other work
(app/recruitment/work.py)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, aliased

from app.core.database import transaction
from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.core.sweeps import apart
from app.recruitment import ledger, people
from app.recruitment.attempts import (
    UNFINISHED,
    WRONG_KEYS_SECONDS,
    ChannelClient,
    again,
    begin,
    channel_client,
    due_payments,
    kept,
    put_off,
    still_mine,
    unexpected,
    with_entry,
)
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    Channel,
    ChannelError,
    ChannelRefused,
    OutcomeUnknown,
    said_by,
)
from app.recruitment.models import Payment, Recruitment
from app.recruitment.models import Submission as Row

# How often a payment that a platform may have made is looked for before a person must decide.
LOOKS = 15


@dataclass(frozen=True)
class BonusAttempt:
    """Payments of one posting. `look` is set if an earlier attempt may already have paid them."""

    numbers: dict[str, int]
    speaker: ChannelClient
    orders: list[BonusOrder]
    look: bool

    @property
    def account_id(self) -> UUID:
        return self.speaker.account_id


def claim_bonuses(session: Session, busy: Collection[UUID] = ()) -> BonusAttempt | None:
    """Claim the next bonus that is due, with others of its posting if the channel takes several at
    once.

    A person's bonuses for one submission are paid one after the other, so that they can be told
    apart in what the platform shows.
    """
    first = _lock_bonuses(session, None, 1, busy=busy)
    if not first:
        return None
    [payment] = first
    return apart(
        session,
        payment.id,
        lambda _: _begin_bonuses(session, payment),
        partial(put_off, session, Payment),
    )


def _begin_bonuses(session: Session, payment: Payment) -> BonusAttempt | None:
    recruitment = session.get_one(Recruitment, payment.recruitment_id)
    look = payment.unsure
    try:
        speaker = channel_client(session, recruitment)
        batch = speaker.open().bonus_batch
        posting_id = session.get_one(Row, payment.submission_id).posting_id
        order = _begin_bonus(session, recruitment, payment)
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
        return None
    begun = {payment: order}
    if batch > 1 and not look:
        for one in _lock_bonuses(session, posting_id, batch - 1, besides=payment.id):
            with_it = partial(_begin_another, session, recruitment)
            another = apart(session, one.id, with_it, partial(put_off, session, Payment))
            begun |= {one: another} if another is not None else {}
    numbers = {one.id.hex: one.attempts for one in begun}
    return BonusAttempt(numbers, speaker, list(begun.values()), look)


def _begin_another(
    session: Session, recruitment: Recruitment, payment_id: UUID
) -> BonusOrder | None:
    payment = session.get_one(Payment, payment_id)
    try:
        return _begin_bonus(session, recruitment, payment)
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
        return None


def _begin_bonus(session: Session, recruitment: Recruitment, payment: Payment) -> BonusOrder:
    order = _bonus_order(session, recruitment, payment)
    begin(payment)
    payment.unsure = True
    return order


def _lock_bonuses(
    session: Session,
    posting_id: UUID | None,
    limit: int,
    besides: UUID | None = None,
    busy: Collection[UUID] = (),
) -> Sequence[Payment]:
    other = aliased(Payment)
    in_flight = (
        select(other.id)
        .where(
            other.submission_id == Payment.submission_id,
            other.id != Payment.id,
            other.kind == "bonus",
            or_(other.state == "running", other.unsure, other.state == "parked"),
        )
        .exists()
    )
    older = (
        select(other.id)
        .where(
            other.submission_id == Payment.submission_id,
            other.id < Payment.id,
            other.kind == "bonus",
            other.state.in_(UNFINISHED),
        )
        .exists()
    )
    query = due_payments(busy).where(Payment.kind == "bonus", ~in_flight, ~older)
    if posting_id is not None:
        query = query.join(Row, Payment.submission_id == Row.id).where(
            Row.posting_id == posting_id, ~Payment.unsure, Payment.id != besides
        )
    return session.scalars(
        query.order_by(Payment.due_at).limit(limit).with_for_update(of=Payment, skip_locked=True)
    ).all()


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


def do_bonuses(attempt: BonusAttempt) -> None:
    """Pay bonuses, or check whether they were paid, and record the result."""
    with kept(Payment, {UUID(hex=token): number for token, number in attempt.numbers.items()}):
        channel = attempt.speaker.open()
        outcomes = _look(channel, attempt.orders) if attempt.look else []
        known = {one.token for one in outcomes}
        rest = [order for order in attempt.orders if order.token not in known]
        repeatable = channel.bonuses_repeatable
        looked_for = attempt.look and not repeatable
        if rest and not looked_for:
            outcomes = [*outcomes, *_pay(channel, rest)]
    with transaction() as session:
        for one in outcomes:
            number = attempt.numbers[one.token]
            write = partial(_record_bonus, session, number, one, repeatable)
            apart(session, UUID(hex=one.token), write, partial(put_off, session, Payment))
        for order in rest if looked_for else []:
            write = partial(_not_found, session, attempt.numbers[order.token])
            apart(session, UUID(hex=order.token), write, partial(put_off, session, Payment))


def _look(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    """Return outcomes of bonuses that were paid, or that could not be checked."""
    outcomes = []
    for order in orders:
        try:
            found = channel.find_bonus(order)
        except ChannelError as error:
            outcomes.append(_unseen(order, str(error)))
            continue
        except Exception as error:
            outcomes.append(_unseen(order, str(unexpected(error))))
            continue
        if found is not None:
            outcomes.append(BonusOutcome(order.token, found))
    return outcomes


def _unseen(order: BonusOrder, why: str) -> BonusOutcome:
    told = OutcomeUnknown(f"It is not known yet whether this was paid: {why}")
    return BonusOutcome(order.token, error=told)


def _pay(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    try:
        return channel.pay_bonuses(orders)
    except ChannelError as error:
        return [BonusOutcome(order.token, error=error) for order in orders]
    except Exception as error:
        # The payment may have been made before the error.
        told = OutcomeUnknown(str(unexpected(error)))
        return [BonusOutcome(order.token, error=told) for order in orders]


def _record_bonus(
    session: Session, number: int, outcome: BonusOutcome, repeatable: bool, payment_id: UUID
) -> None:
    payment = still_mine(session, payment_id, number)
    if payment is None:
        return
    payment.history = with_entry(payment.history, number, outcome.error)
    if outcome.error is None:
        ledger.mark_paid(payment, outcome.external_id)
    elif isinstance(outcome.error, ChannelRefused):
        payment.state, payment.unsure, payment.why = "failed", False, said_by(outcome.error)
    elif isinstance(outcome.error, OutcomeUnknown):
        payment.unsure = True
        # If a payment can't be repeated, the platform gets time to show what it has paid.
        again(payment, outcome.error, None if repeatable else get_settings().look_seconds)
    else:
        payment.unsure = False
        again(payment, outcome.error)
    campaign_changed(session, payment.campaign_id)


def _not_found(session: Session, number: int, payment_id: UUID) -> None:
    """Record that the platform shows no payment. Paying again might pay twice, so a person decides
    in the end."""
    payment = still_mine(session, payment_id, number)
    if payment is None:
        return
    unknown = OutcomeUnknown(
        "The platform was asked to pay this, but has not confirmed it and does not list it."
    )
    payment.history = with_entry(payment.history, number, unknown)
    payment.looks += 1
    if payment.looks > LOOKS:
        payment.state = "parked"
        payment.why = f"{unknown} Check on the platform, then say here whether it was paid."
    else:
        again(payment, unknown, get_settings().look_seconds)
    campaign_changed(session, payment.campaign_id)
