"""Calls and rewards that are due on platforms (app/core/work.py), and what all attempts at requests
share.

A claim lasts longer than any request may take. If the process dies in between, the work becomes due
again with the same token. Payments with an unknown outcome are looked for before they are paid
again.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, func, literal_column, select, update
from sqlalchemy.orm import Session, aliased

from app.core.database import locked
from app.core.events import campaign_changed
from app.core.settings import get_settings
from app.core.sweeps import reason_of
from app.core.work import Backoff, DueWork, renewed, still_mine
from app.recruitment import calls, ledger, people
from app.recruitment.accounts import ChannelClient, channel_client
from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    SubmissionRef,
    redacted_message,
)
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Posting, Recruitment
from app.recruitment.models import Submission as Row
from app.recruitment.settling import owe_bonuses

logger = logging.getLogger(__name__)
BACKOFF = Backoff((1, 2, 5, 15, 60, 300, 900, 1_800, 3_600), spread=1.3)
MOST_MESSAGE_TRIES = 10
WRONG_KEYS_SECONDS = 60.0
# Seconds to wait after an error that nobody expected, because somebody may have to fix it.
LEAST_PUT_OFF = 60.0
_MOST_ATTEMPTS = 1_000_000
KEPT_HISTORY = 20
UNFINISHED = ("due", "running")
Reply = TypeVar("Reply")


@dataclass(frozen=True)
class PlatformAttempt:
    """An attempt at something on a platform. row_id: the row that was claimed."""

    row_id: UUID
    client: ChannelClient

    @property
    def account_id(self) -> UUID:
        return self.client.account_id


def claimed_until() -> datetime:
    """Return when something that is claimed now becomes free again."""
    return datetime.now(UTC) + timedelta(seconds=get_settings().claim_seconds)


def due_rows(
    table: type[ChannelCall] | type[Payment], busy: Collection[UUID], *which: ColumnElement[bool]
) -> Select[UUID]:
    """Select the ids of calls or payments that are due, first come first, except those of the
    accounts in `busy`."""
    unfinished = table.state.in_(map(as_literal, UNFINISHED))
    due = select(table.id).where(unfinished, table.due_at <= func.now(), *which)
    due = due.where(table.recruitment_id.not_in(recruitments_of(busy))) if busy else due
    return due.order_by(table.due_at)


def as_literal(word: str) -> ColumnElement[str]:
    """Return a word that is sent as a part of the statement: a plan for any parameters cannot use a
    partial index."""
    return literal_column(f"'{word}'", String)


def recruitments_of(accounts: Collection[UUID]) -> Any:
    """Select the recruitments of these accounts, for use in a condition."""
    own = select(ChannelAccount.id).where(ChannelAccount.account_id.in_(accounts))
    return select(Recruitment.id).where(Recruitment.channel_account_id.in_(own))


def begin(payment: Payment) -> None:
    payment.state, payment.due_at = "running", claimed_until()
    payment.attempts += 1
    payment.first_tried_at = payment.first_tried_at or datetime.now(UTC)


def kept(
    table: type[ChannelCall] | type[Payment], numbers: dict[UUID, int]
) -> AbstractContextManager[None]:
    """Renew the claims of these attempts, by row, for as long as the block runs."""
    return renewed(table, numbers, claimed_until, get_settings().claim_seconds / 4)


def reply_or_error(
    request: Callable[[], Reply], unexpected: type[ChannelError] = ChannelUnavailable
) -> Reply | ChannelError:
    """Make a request to a platform. An error that no channel expects counts as `unexpected`, so
    that waiting times grow."""
    try:
        return request()
    except ChannelError as error:
        return error
    except Exception as error:
        logger.exception("a request to a platform failed unexpectedly")
        return unexpected(reason_of(error))


def put_off(
    table: type[ChannelCall] | type[Payment], session: Session, row_id: UUID, reason: str
) -> None:
    """Make a row due again later, with a reason, after an error that nobody expected before or
    after a platform was asked.

    Repeating is harmless because of the row's token, and because a payment is looked for before it
    is made again. Giving up might leave something behind that already exists on the platform.
    """
    tried = session.scalar(select(table.attempts).where(table.id == row_id)) or 0
    wait = BACKOFF.seconds(tried)
    session.execute(
        update(table)
        .where(table.id == row_id, table.state.in_(UNFINISHED))
        .values(
            state="due",
            why=f"It failed unexpectedly: {reason}",
            attempts=func.least(func.greatest(table.attempts, 0), _MOST_ATTEMPTS) + 1,
            due_at=datetime.now(UTC) + timedelta(seconds=max(wait, LEAST_PUT_OFF)),
        )
    )


def again(payment: Payment, error: ChannelError, seconds: float | None = None) -> None:
    wait = BACKOFF.seconds(payment.attempts) if seconds is None else seconds
    payment.state, payment.why = "due", redacted_message(error)
    payment.due_at = datetime.now(UTC) + timedelta(seconds=wait)


def with_entry(
    history: list[dict[str, Any]], number: int, error: ChannelError | None
) -> list[dict[str, Any]]:
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "attempt": number,
        "said": "done" if error is None else redacted_message(error)[:500],
    }
    return [*history[-(KEPT_HISTORY - 1) :], entry]


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
            # Excluding former people may take long, a message may never be taken, and nothing
            # depends on them.
            earlier.action != as_literal("exclude"),
            earlier.action != as_literal("message"),
        )
        .order_by(earlier.id)
        .limit(1)
    )
    is_first = func.coalesce(earliest.scalar_subquery(), ChannelCall.id) >= ChannelCall.id
    due = due_rows(ChannelCall, busy, is_first)
    # Thousands of messages do not delay that a recruitment is stopped.
    return due.order_by(None).order_by(ChannelCall.action == "message", ChannelCall.due_at)


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
        call.history = with_entry(call.history, call.attempts, error)
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
    elif isinstance(reply, ChannelRefused) or _is_given_up(call, attempt):
        calls.fail(session, call, redacted_message(reply))
    else:
        call.state, call.why = "due", redacted_message(reply)
        call.due_at = datetime.now(UTC) + timedelta(seconds=BACKOFF.seconds(attempt.number))


def _is_given_up(call: ChannelCall, attempt: CallAttempt) -> bool:
    """Tell whether a message was tried often enough. A late one would surprise its reader."""
    return call.action == "message" and attempt.number >= MOST_MESSAGE_TRIES


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
