"""Work that is due on platforms. It is claimed in one transaction, done outside any, and recorded
in another.

A claim lasts longer than any request may take. If the process dies in between, the work becomes due
again with the same token. The number of attempts is the fence: only the newest attempt can record
an outcome. Payments with an unknown outcome are looked for before they are paid again.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.core.database import locked, transaction
from app.core.events import campaign_changed
from app.core.sweeps import apart
from app.recruitment import calls, ledger, people
from app.recruitment.attempts import (
    UNFINISHED,
    WRONG_KEYS_SECONDS,
    ChannelClient,
    again,
    begin,
    channel_client,
    claimed_until,
    due_payments,
    kept,
    put_off,
    recruitments_of,
    seconds_to_wait,
    still_mine,
    unexpected,
    with_entry,
)
from app.recruitment.bonuses import owe_bonuses
from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    SubmissionRef,
    said_by,
)
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment
from app.recruitment.models import Submission as Row


@dataclass(frozen=True)
class CallAttempt:
    """An attempt at a call. `request` is the request, or why it can no longer be made."""

    call_id: UUID
    recruitment_id: UUID
    number: int
    speaker: ChannelClient
    request: calls.Request | ChannelRefused

    @property
    def account_id(self) -> UUID:
        return self.speaker.account_id


@dataclass(frozen=True)
class RewardAttempt:
    payment_id: UUID
    recruitment_id: UUID
    number: int
    speaker: ChannelClient
    ref: SubmissionRef
    kind: str
    message: str
    is_person: Callable[[str], bool]
    # Whether the requester has reversed a rejection.
    reverse: bool

    @property
    def account_id(self) -> UUID:
        return self.speaker.account_id


# --- calls -------------------------------------------------------------------------------------


def claim_call(session: Session, busy: Collection[UUID] = ()) -> CallAttempt | None:
    """Claim the next call that is due, after all earlier ones of the same posting or submission.

    busy: accounts whose calls are left for later.
    """
    earlier = aliased(ChannelCall)
    blocked = (
        select(earlier.id)
        .where(
            earlier.recruitment_id == ChannelCall.recruitment_id,
            earlier.id < ChannelCall.id,
            earlier.state.in_(UNFINISHED),
            # Excluding former people may take long, and nothing depends on it.
            earlier.deed != "exclude",
            earlier.posting_id.is_not_distinct_from(ChannelCall.posting_id),
            earlier.submission_id.is_not_distinct_from(ChannelCall.submission_id),
        )
        .exists()
    )
    due = select(ChannelCall).where(
        ChannelCall.state.in_(UNFINISHED), ChannelCall.due_at <= func.now(), ~blocked
    )
    if busy:
        due = due.where(ChannelCall.recruitment_id.not_in(recruitments_of(busy)))
    call = session.scalar(
        due.order_by(ChannelCall.due_at).limit(1).with_for_update(of=ChannelCall, skip_locked=True)
    )
    if call is None:
        return None
    return apart(
        session, call.id, partial(_begin_call, session), partial(put_off, session, ChannelCall)
    )


def _begin_call(session: Session, call_id: UUID) -> CallAttempt | None:
    call = session.get_one(ChannelCall, call_id)
    call.state, call.due_at = "running", claimed_until()
    call.attempts += 1
    recruitment = session.get_one(Recruitment, call.recruitment_id)
    request: calls.Request | ChannelRefused
    try:
        speaker = channel_client(session, recruitment)
        request = calls.request_of(session, recruitment, call)
    except ChannelRefused as error:
        # `do_call` records this, because the recruitment would be locked after the call here.
        request = error
    except ChannelError as error:
        call.state, call.why = "due", said_by(error)
        call.due_at = datetime.now(UTC) + timedelta(seconds=WRONG_KEYS_SECONDS)
        return None
    return CallAttempt(call.id, recruitment.id, call.attempts, speaker, request)


def do_call(attempt: CallAttempt) -> None:
    """Perform a call and record the result."""
    reply: dict[str, Any] = {}
    error: ChannelError | None = None
    with kept(ChannelCall, {attempt.call_id: attempt.number}):
        try:
            if isinstance(attempt.request, ChannelRefused):
                raise attempt.request
            reply = calls.perform(attempt.speaker.open(), attempt.request)
        except ChannelError as raised:
            error = raised
        except Exception as raised:
            # The call's token makes another attempt harmless.
            error = unexpected(raised)
    with transaction() as session:
        # The recruitment is locked first, as everywhere.
        locked(session, Recruitment, attempt.recruitment_id)
        apart(
            session,
            attempt.call_id,
            lambda _: _record_call(session, attempt, reply, error),
            partial(put_off, session, ChannelCall),
        )


def _record_call(
    session: Session, attempt: CallAttempt, reply: dict[str, Any], error: ChannelError | None
) -> None:
    call = session.get(ChannelCall, attempt.call_id, with_for_update=True)
    if call is None or call.state != "running" or call.attempts != attempt.number:
        return
    call.history = with_entry(call.history, attempt.number, error)
    if error is None:
        calls.finish(session, call, reply)
    elif isinstance(error, ChannelRefused):
        calls.fail(session, call, said_by(error))
    else:
        wait = seconds_to_wait(attempt.number)
        call.state, call.why = "due", said_by(error)
        call.due_at = datetime.now(UTC) + timedelta(seconds=wait)


# --- rewards -----------------------------------------------------------------------------------


def claim_reward(session: Session, busy: Collection[UUID] = ()) -> RewardAttempt | None:
    """Claim the next reward or screen-out that is due."""
    payment = session.scalar(
        due_payments(busy)
        .where(Payment.kind.in_(("reward", "screen_out")))
        .order_by(Payment.due_at)
        .limit(1)
        .with_for_update(of=Payment, skip_locked=True)
    )
    if payment is None:
        return None
    park = partial(put_off, session, Payment)
    return apart(session, payment.id, partial(_begin_reward, session), park)


def _begin_reward(session: Session, payment_id: UUID) -> RewardAttempt | None:
    payment = session.get_one(Payment, payment_id)
    begin(payment)
    try:
        recruitment = session.get_one(Recruitment, payment.recruitment_id)
        speaker = channel_client(session, recruitment)
        submission = session.get_one(Row, payment.submission_id)
        ref = people.submission_ref(session, recruitment, submission)
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
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
    """Approve a submission after checking the platform's own record, and record the result."""
    error: ChannelError | None = None
    with kept(Payment, {attempt.payment_id: attempt.number}):
        try:
            _pay_reward(attempt)
        except ChannelError as raised:
            error = raised
        except Exception as raised:
            # The next attempt checks the platform's own record first.
            error = unexpected(raised)
    with transaction() as session:
        # The recruitment is locked first, as everywhere, because bonuses may follow that need its
        # limit.
        recruitment = locked(session, Recruitment, attempt.recruitment_id)
        apart(
            session,
            attempt.payment_id,
            lambda _: _record_reward(session, recruitment, attempt, error),
            partial(put_off, session, Payment),
        )


def _record_reward(
    session: Session, recruitment: Recruitment, attempt: RewardAttempt, error: ChannelError | None
) -> None:
    payment = still_mine(session, attempt.payment_id, attempt.number)
    if payment is None:
        return
    payment.history = with_entry(payment.history, attempt.number, error)
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
        again(payment, error)
    campaign_changed(session, payment.campaign_id)


def _pay_reward(attempt: RewardAttempt) -> None:
    channel = attempt.speaker.open()
    known = channel.submission(attempt.ref)
    done = "approved" if attempt.kind == "reward" else "screened_out"
    if known is None:
        raise ChannelUnavailable("The platform does not show this submission yet.")
    if not attempt.is_person(known.person):
        raise ChannelRefused("According to the platform, someone else submitted this.")
    if known.state == done:
        return
    ref = replace(attempt.ref, person=known.person)
    if attempt.kind == "screen_out":
        channel.screen_out(ref)
    elif known.state == "rejected" and attempt.reverse:
        channel.reverse(ref, attempt.message)
    elif known.state == "rejected":
        raise ChannelRefused("This was rejected on the platform. Reverse the rejection first.")
    else:
        channel.approve(ref, attempt.message)
