"""Doing what is due on platforms: claimed in one transaction, done outside of any, recorded in
another.

A claim lasts longer than any request may take; who dies in between leaves the work due again, with
the same token. The number of attempts is the fence: an outcome is recorded only by the attempt
that is the newest. Payments whose outcome is not known are looked for before they are paid again.
"""

import logging
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, aliased

from app.core.database import locked, transaction
from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.recruitment import calls, ledger, people
from app.recruitment.accounts import SealedElsewhere, credentials_of
from app.recruitment.bonuses import owe_bonuses
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    Channel,
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
    SubmissionRef,
    said_by,
)
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Posting, Recruitment
from app.recruitment.models import Submission as Row
from app.recruitment.registry import Credentials, open_channel

logger = logging.getLogger(__name__)
# Seconds after so many attempts; the last is repeated.
WAITS = (1, 2, 5, 15, 60, 300, 900, 1_800, 3_600)
# How often, and for how long, a payment is looked for that a platform may have made.
LOOKS = 15
WRONG_KEYS_SECONDS = 60.0
KEPT_HISTORY = 20
UNFINISHED = ("due", "running")


@dataclass(frozen=True)
class Speaker:
    """Who speaks to which platform."""

    channel: str
    credentials: Credentials

    def open(self) -> Channel:
        return open_channel(self.channel, self.credentials)


@dataclass(frozen=True)
class CallAttempt:
    """request: or why it cannot be made any more."""

    call_id: UUID
    recruitment_id: UUID
    number: int
    speaker: Speaker
    request: calls.Request | ChannelRefused


@dataclass(frozen=True)
class RewardAttempt:
    payment_id: UUID
    recruitment_id: UUID
    number: int
    speaker: Speaker
    ref: SubmissionRef
    kind: str
    message: str
    is_person: Callable[[str], bool]
    # The requester has taken a rejection back.
    reverse: bool


@dataclass(frozen=True)
class BonusAttempt:
    """Payments of one posting. `look`: what an earlier attempt may have paid already."""

    numbers: dict[str, int]
    speaker: Speaker
    orders: list[BonusOrder]
    look: bool


def claimed_until() -> datetime:
    """When what is claimed now is anybody's again."""
    return datetime.now(UTC) + timedelta(seconds=get_settings().claim_seconds)


def seconds_to_wait(attempts: int) -> float:
    """How long to wait after so many failed attempts, with some chance in it."""
    return WAITS[min(attempts, len(WAITS)) - 1] * random.uniform(1.0, 1.3)


def speaker_of(session: Session, recruitment: Recruitment) -> Speaker:
    """Raises ChannelUnavailable until the credentials can be read (again)."""
    account = session.get_one(ChannelAccount, recruitment.channel_account_id)
    try:
        return Speaker(recruitment.channel, credentials_of(account))
    except SealedElsewhere as error:
        raise ChannelUnavailable(str(error)) from error


# --- calls -------------------------------------------------------------------------------------


def claim_call(session: Session) -> CallAttempt | None:
    """The next call that is due, after all earlier ones of the same posting or submission."""
    earlier = aliased(ChannelCall)
    blocked = (
        select(earlier.id)
        .where(
            earlier.recruitment_id == ChannelCall.recruitment_id,
            earlier.id < ChannelCall.id,
            earlier.state.in_(UNFINISHED),
            # Marking former people may take long, and nothing depends on it.
            earlier.deed != "exclude",
            earlier.posting_id.is_not_distinct_from(ChannelCall.posting_id),
            earlier.submission_id.is_not_distinct_from(ChannelCall.submission_id),
        )
        .exists()
    )
    call = session.scalar(
        select(ChannelCall)
        .where(ChannelCall.state.in_(UNFINISHED), ChannelCall.due_at <= func.now(), ~blocked)
        .order_by(ChannelCall.due_at)
        .limit(1)
        .with_for_update(of=ChannelCall, skip_locked=True)
    )
    if call is None:
        return None
    call.state, call.due_at = "running", claimed_until()
    call.attempts += 1
    recruitment = session.get_one(Recruitment, call.recruitment_id)
    request: calls.Request | ChannelRefused
    try:
        speaker = speaker_of(session, recruitment)
        request = calls.request_of(session, recruitment, call)
    except ChannelRefused as error:
        # Written down by `do_call`: here the recruitment's lock would be taken after the call's.
        request = error
    except ChannelError as error:
        call.state, call.why = "due", said_by(error)
        call.due_at = datetime.now(UTC) + timedelta(seconds=WRONG_KEYS_SECONDS)
        return None
    return CallAttempt(call.id, recruitment.id, call.attempts, speaker, request)


def do_call(attempt: CallAttempt) -> None:
    """Perform a call and write down how it went."""
    reply: dict[str, Any] = {}
    error: ChannelError | None = None
    with kept(ChannelCall, {attempt.call_id: attempt.number}):
        try:
            if isinstance(attempt.request, ChannelRefused):
                raise attempt.request
            reply = calls.perform(attempt.speaker.open(), attempt.request)
        except ChannelError as raised:
            error = raised
    with transaction() as session:
        # The recruitment first, as everywhere.
        locked(session, Recruitment, attempt.recruitment_id)
        call = session.get(ChannelCall, attempt.call_id, with_for_update=True)
        if call is None or call.state != "running" or call.attempts != attempt.number:
            return
        call.history = _with_entry(call.history, attempt.number, error)
        if error is None:
            calls.finish(session, call, reply)
        elif isinstance(error, ChannelRefused):
            calls.fail(session, call, said_by(error))
        else:
            wait = seconds_to_wait(attempt.number)
            call.state, call.why = "due", said_by(error)
            call.due_at = datetime.now(UTC) + timedelta(seconds=wait)


# --- rewards -----------------------------------------------------------------------------------


def claim_reward(session: Session) -> RewardAttempt | None:
    """The next reward or screen-out that is due."""
    payment = session.scalar(
        _due_payments()
        .where(Payment.kind.in_(("reward", "screen_out")))
        .order_by(Payment.due_at)
        .limit(1)
        .with_for_update(of=Payment, skip_locked=True)
    )
    if payment is None:
        return None
    _begin(payment)
    try:
        recruitment = session.get_one(Recruitment, payment.recruitment_id)
        speaker = speaker_of(session, recruitment)
        submission = session.get_one(Row, payment.submission_id)
        ref = people.submission_ref(session, recruitment, submission)
    except ChannelError as error:
        _again(payment, error, WRONG_KEYS_SECONDS)
        return None
    return RewardAttempt(
        payment.id,
        recruitment.id,
        payment.attempts,
        speaker,
        ref,
        payment.kind,
        payment.reason,
        people.checker(recruitment, submission.person_hash),
        submission.decision == "approve",
    )


def do_reward(attempt: RewardAttempt) -> None:
    """Approve, after a look at the platform's own record; write down how it went."""
    error: ChannelError | None = None
    with kept(Payment, {attempt.payment_id: attempt.number}):
        try:
            _pay_reward(attempt)
        except ChannelError as raised:
            error = raised
    with transaction() as session:
        # The recruitment first, as everywhere: bonuses may follow, and they ask for its limit.
        recruitment = locked(session, Recruitment, attempt.recruitment_id)
        payment = _still_mine(session, attempt.payment_id, attempt.number)
        if payment is None:
            return
        payment.history = _with_entry(payment.history, attempt.number, error)
        submission = session.get_one(Row, payment.submission_id, with_for_update=True)
        if error is None:
            ledger.mark_paid(payment, attempt.ref.external_id)
            submission.state = "approved" if payment.kind == "reward" else "screened_out"
            submission.flag = ""
            posting = session.get_one(Posting, submission.posting_id)
            if payment.kind == "reward" and posting.compensates is None:
                owe_bonuses(session, recruitment, submission)
        elif isinstance(error, ChannelRefused):
            payment.state, payment.why, submission.flag = "failed", said_by(error), "payment_failed"
        else:
            _again(payment, error)
        campaign_changed(session, payment.campaign_id)


def _pay_reward(attempt: RewardAttempt) -> None:
    channel = attempt.speaker.open()
    known = channel.submission(attempt.ref)
    done = "approved" if attempt.kind == "reward" else "screened_out"
    if known is None:
        raise ChannelUnavailable("The platform does not show this submission yet.")
    if not attempt.is_person(known.person):
        raise ChannelRefused("The platform says that somebody else handed this in.")
    if known.state == done:
        return
    ref = replace(attempt.ref, person=known.person)
    if attempt.kind == "screen_out":
        channel.screen_out(ref)
    elif known.state == "rejected" and attempt.reverse:
        channel.reverse(ref, attempt.message)
    elif known.state == "rejected":
        raise ChannelRefused("It was rejected on the platform. Take that back first.")
    else:
        channel.approve(ref, attempt.message)


# --- bonuses -----------------------------------------------------------------------------------


def claim_bonuses(session: Session) -> BonusAttempt | None:
    """The next bonus that is due, with others of its posting where the channel takes several.

    A person's bonuses for one submission go one after the other, so that what a platform shows can
    be told apart.
    """
    first = _lock_bonuses(session, None, 1)
    if not first:
        return None
    [payment] = first
    recruitment = session.get_one(Recruitment, payment.recruitment_id)
    try:
        speaker = speaker_of(session, recruitment)
        batch = speaker.open().bonus_batch
        posting_id = session.get_one(Row, payment.submission_id).posting_id
        look = payment.unsure
        found = first
        if batch > 1 and not look:
            found = [*first, *_lock_bonuses(session, posting_id, batch - 1, besides=payment.id)]
        orders = [_bonus_order(session, recruitment, one) for one in found]
    except ChannelError as error:
        _again(payment, error, WRONG_KEYS_SECONDS)
        return None
    for one in found:
        _begin(one)
        one.unsure = True
    return BonusAttempt({one.id.hex: one.attempts for one in found}, speaker, orders, look)


def _lock_bonuses(
    session: Session, posting_id: UUID | None, limit: int, besides: UUID | None = None
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
    query = _due_payments().where(Payment.kind == "bonus", ~in_flight, ~older)
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
    """Pay bonuses, or look whether they were paid; write down how it went."""
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
            _record_bonus(session, attempt.numbers[one.token], one, repeatable)
        for order in rest if looked_for else []:
            _not_found(session, attempt.numbers[order.token], order.token)


def _look(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    """Outcomes of those that were paid, or that could not be looked for."""
    outcomes = []
    for order in orders:
        try:
            found = channel.find_bonus(order)
        except ChannelError as error:
            told = OutcomeUnknown(f"Whether it was paid cannot be seen now: {error}")
            outcomes.append(BonusOutcome(order.token, error=told))
            continue
        if found is not None:
            outcomes.append(BonusOutcome(order.token, found))
    return outcomes


def _pay(channel: Channel, orders: list[BonusOrder]) -> list[BonusOutcome]:
    try:
        return channel.pay_bonuses(orders)
    except ChannelError as error:
        return [BonusOutcome(order.token, error=error) for order in orders]


def _record_bonus(session: Session, number: int, outcome: BonusOutcome, repeatable: bool) -> None:
    payment = _still_mine(session, UUID(hex=outcome.token), number)
    if payment is None:
        return
    payment.history = _with_entry(payment.history, number, outcome.error)
    if outcome.error is None:
        ledger.mark_paid(payment, outcome.external_id)
    elif isinstance(outcome.error, ChannelRefused):
        payment.state, payment.unsure, payment.why = "failed", False, said_by(outcome.error)
    elif isinstance(outcome.error, OutcomeUnknown):
        payment.unsure = True
        # Where nothing is repeated, the platform gets time to show what it has paid.
        _again(payment, outcome.error, None if repeatable else get_settings().look_seconds)
    else:
        payment.unsure = False
        _again(payment, outcome.error)
    campaign_changed(session, payment.campaign_id)


def _not_found(session: Session, number: int, token: str) -> None:
    """Looked for in vain, and paying again might pay twice: a person decides in the end."""
    payment = _still_mine(session, UUID(hex=token), number)
    if payment is None:
        return
    unknown = OutcomeUnknown(
        "The platform was told to pay this, but has not confirmed it and does not show it."
    )
    payment.history = _with_entry(payment.history, number, unknown)
    payment.looks += 1
    if payment.looks > LOOKS:
        payment.state = "parked"
        payment.why = f"{unknown} Look on the platform, then say whether it was paid."
    else:
        _again(payment, unknown, get_settings().look_seconds)
    campaign_changed(session, payment.campaign_id)


# --- shared ------------------------------------------------------------------------------------


def _due_payments() -> Any:
    return select(Payment).where(and_(Payment.state.in_(UNFINISHED), Payment.due_at <= func.now()))


def _begin(payment: Payment) -> None:
    payment.state, payment.due_at = "running", claimed_until()
    payment.attempts += 1
    payment.first_tried_at = payment.first_tried_at or datetime.now(UTC)


def _still_mine(session: Session, payment_id: UUID, number: int) -> Payment | None:
    payment = session.get(Payment, payment_id, with_for_update=True)
    if payment is None or payment.state != "running" or payment.attempts != number:
        return None
    return payment


@contextmanager
def kept(table: type[ChannelCall] | type[Payment], numbers: dict[UUID, int]) -> Iterator[None]:
    """Keep claims alive for as long as the block lasts, and no longer than this process."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(get_settings().claim_seconds / 4):
            try:
                with transaction() as session:
                    for row_id, number in numbers.items():
                        session.execute(
                            update(table)
                            .where(
                                table.id == row_id,
                                table.state == "running",
                                table.attempts == number,
                            )
                            .values(due_at=claimed_until())
                        )
            except DBAPIError as error:
                logger.warning("a claim could not be kept alive: %s", error)

    thread = threading.Thread(target=renew, name="recruiter-claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _again(payment: Payment, error: ChannelError, seconds: float | None = None) -> None:
    wait = seconds_to_wait(payment.attempts) if seconds is None else seconds
    payment.state, payment.why = "due", said_by(error)
    payment.due_at = datetime.now(UTC) + timedelta(seconds=wait)


def _with_entry(
    history: list[dict[str, Any]], number: int, error: ChannelError | None
) -> list[dict[str, Any]]:
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "attempt": number,
        "said": "done" if error is None else said_by(error)[:500],
    }
    return [*history[-(KEPT_HISTORY - 1) :], entry]
