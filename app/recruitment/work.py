"""Calls and rewards that are due on platforms (app/core/work.py).

A claim lasts longer than any request may take. If the process dies in between, the work becomes due
again with the same token. Payments with an unknown outcome are looked for before they are paid
again.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from app.core.database import locked
from app.core.events import campaign_changed
from app.core.work import DueWork, still_mine
from app.recruitment import calls, ledger, people
from app.recruitment.attempts import (
    BACKOFF,
    UNFINISHED,
    WRONG_KEYS_SECONDS,
    PlatformAttempt,
    again,
    as_literal,
    begin,
    channel_client,
    claimed_until,
    due_rows,
    kept,
    put_off,
    reply_or_error,
    with_entry,
)
from app.recruitment.bonuses import owe_bonuses
from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    SubmissionRef,
    redacted_message,
)
from app.recruitment.models import ChannelCall, Payment, Posting, Recruitment
from app.recruitment.models import Submission as Row


@dataclass(frozen=True)
class CallAttempt(PlatformAttempt):
    """An attempt at a call. `request` is the request, or why it can no longer be made."""

    recruitment_id: UUID
    number: int
    request: calls.Request | ChannelRefused


@dataclass(frozen=True)
class RewardAttempt(PlatformAttempt):
    recruitment_id: UUID
    number: int
    ref: SubmissionRef
    kind: str
    message: str
    is_person: Callable[[str], bool]
    # Whether the requester has reversed a rejection.
    reverse: bool


# --- calls -------------------------------------------------------------------------------------


def _due_calls(busy: Collection[UUID]) -> Select[UUID]:
    """Select calls after all earlier ones of the same submission, posting or recruitment.

    The earliest is looked up in an index of its own. As a join, calls were compared with all others
    of their recruitment, and with ten thousand of them, each claim took a second.
    """
    earlier = aliased(ChannelCall)
    earliest = (
        select(earlier.id)
        .where(
            _subject(earlier) == _subject(ChannelCall),
            earlier.state.in_(map(as_literal, UNFINISHED)),
            # Excluding former people may take long, and nothing depends on it.
            earlier.action != as_literal("exclude"),
        )
        .order_by(earlier.id)
        .limit(1)
    )
    is_first = func.coalesce(earliest.scalar_subquery(), ChannelCall.id) >= ChannelCall.id
    return due_rows(ChannelCall, busy, is_first)


def _subject(call: type[ChannelCall]) -> ColumnElement[UUID]:
    """What a call is about: a submission, a posting, or all of its recruitment."""
    return func.coalesce(call.submission_id, call.posting_id, call.recruitment_id)


def _begin_call(session: Session, call_id: UUID) -> CallAttempt | None:
    call = session.get_one(ChannelCall, call_id)
    call.state, call.due_at = "running", claimed_until()
    call.attempts += 1
    recruitment = session.get_one(Recruitment, call.recruitment_id)
    request: calls.Request | ChannelRefused
    try:
        client = channel_client(session, recruitment)
        request = calls.request_of(session, recruitment, call)
    except ChannelRefused as error:
        # `_record_call` records this, because the recruitment would be locked after the call here.
        request = error
    except ChannelError as error:
        call.state, call.why = "due", redacted_message(error)
        call.due_at = datetime.now(UTC) + timedelta(seconds=WRONG_KEYS_SECONDS)
        return None
    return CallAttempt(call.id, client, recruitment.id, call.attempts, request)


def _do_call(attempt: CallAttempt) -> dict[str, Any] | ChannelError:
    """Perform a call, and return the platform's reply or error."""
    if isinstance(attempt.request, ChannelRefused):
        return attempt.request
    request = attempt.request
    with kept(ChannelCall, {attempt.row_id: attempt.number}):
        return reply_or_error(lambda: calls.perform(attempt.client.open(), request))


def _record_call(
    session: Session, attempt: CallAttempt, reply: dict[str, Any] | ChannelError
) -> None:
    # The recruitment is locked first, as everywhere.
    locked(session, Recruitment, attempt.recruitment_id)
    call = still_mine(session, ChannelCall, attempt.row_id, attempt.number)
    if call is None:
        return
    error = reply if isinstance(reply, ChannelError) else None
    call.history = with_entry(call.history, attempt.number, error)
    if not isinstance(reply, ChannelError):
        calls.finish(session, call, reply)
    elif isinstance(reply, ChannelRefused):
        calls.fail(session, call, redacted_message(reply))
    else:
        call.state, call.why = "due", redacted_message(reply)
        call.due_at = datetime.now(UTC) + timedelta(seconds=BACKOFF.seconds(attempt.number))


CALLS = DueWork(
    ChannelCall, _due_calls, _begin_call, _do_call, _record_call, partial(put_off, ChannelCall)
)

# --- rewards -----------------------------------------------------------------------------------


def _due_rewards(busy: Collection[UUID]) -> Select[UUID]:
    return due_rows(Payment, busy, Payment.kind.in_(("reward", "screen_out")))


def _begin_reward(session: Session, payment_id: UUID) -> RewardAttempt | None:
    payment = session.get_one(Payment, payment_id)
    begin(payment)
    try:
        recruitment = session.get_one(Recruitment, payment.recruitment_id)
        client = channel_client(session, recruitment)
        submission = session.get_one(Row, payment.submission_id)
        ref = people.submission_ref(session, recruitment, submission)
    except ChannelError as error:
        again(payment, error, WRONG_KEYS_SECONDS)
        return None
    return RewardAttempt(
        payment.id,
        client,
        recruitment.id,
        payment.attempts,
        ref,
        payment.kind,
        payment.reason,
        people.checker(recruitment, submission.person_hash),
        submission.decision == "approve",
    )


def _do_reward(attempt: RewardAttempt) -> ChannelError | None:
    """Approve a submission after checking the platform's own record. The next attempt checks that
    first, too."""
    with kept(Payment, {attempt.row_id: attempt.number}):
        return reply_or_error(partial(_pay_reward, attempt))


def _record_reward(session: Session, attempt: RewardAttempt, error: ChannelError | None) -> None:
    # The recruitment is locked first, as everywhere, because bonuses may follow that need its
    # limit.
    recruitment = locked(session, Recruitment, attempt.recruitment_id)
    payment = still_mine(session, Payment, attempt.row_id, attempt.number)
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
        payment.state, payment.why, submission.flag = (
            "failed",
            redacted_message(error),
            "payment_failed",
        )
    else:
        again(payment, error)
    campaign_changed(session, payment.campaign_id)


def _pay_reward(attempt: RewardAttempt) -> None:
    channel = attempt.client.open()
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


REWARDS = DueWork(
    Payment, _due_rewards, _begin_reward, _do_reward, _record_reward, partial(put_off, Payment)
)
