"""What all attempts at a platform request share, besides app/core/work.py."""

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, func, literal_column, select, update
from sqlalchemy.orm import Session

from app.core.settings import get_settings
from app.core.sweeps import reason_of
from app.core.work import Backoff, renewed
from app.recruitment.accounts import EncryptedWithOtherKey, credentials_of
from app.recruitment.channel import (
    Channel,
    ChannelError,
    ChannelUnavailable,
    redacted_message,
)
from app.recruitment.channels.registry import open_channel
from app.recruitment.channels.spec import Credentials
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Recruitment

logger = logging.getLogger(__name__)
BACKOFF = Backoff((1, 2, 5, 15, 60, 300, 900, 1_800, 3_600), spread=1.3)
WRONG_KEYS_SECONDS = 60.0
# Seconds to wait after an error that nobody expected, because somebody may have to fix it.
LEAST_PUT_OFF = 60.0
_MOST_ATTEMPTS = 1_000_000
KEPT_HISTORY = 20
UNFINISHED = ("due", "running")
Reply = TypeVar("Reply")


@dataclass(frozen=True)
class ChannelClient:
    """Opens the channel of an account with its credentials."""

    account_id: UUID
    channel: str
    credentials: Credentials

    def open(self) -> Channel:
        return open_channel(self.channel, self.credentials)


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


def channel_client(session: Session, recruitment: Recruitment) -> ChannelClient:
    """Return what opens the recruitment's channel. Raises ChannelUnavailable while the credentials
    cannot be decrypted."""
    account = session.get_one(ChannelAccount, recruitment.channel_account_id)
    try:
        return ChannelClient(account.account_id, recruitment.channel, credentials_of(account))
    except EncryptedWithOtherKey as error:
        raise ChannelUnavailable(str(error)) from error


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
