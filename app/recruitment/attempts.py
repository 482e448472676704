"""What all attempts at a platform request share: a claim, a fence and waiting times."""

import logging
import random
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.core.database import transaction
from app.core.settings import get_settings
from app.core.sweeps import reason_of
from app.recruitment.accounts import SealedElsewhere, credentials_of
from app.recruitment.channel import (
    Channel,
    ChannelError,
    ChannelUnavailable,
    said_by,
)
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Recruitment
from app.recruitment.registry import Credentials, open_channel

logger = logging.getLogger(__name__)
# Seconds to wait after the first, second, … failed attempt; the last one is repeated.
WAITS = (1, 2, 5, 15, 60, 300, 900, 1_800, 3_600)
WRONG_KEYS_SECONDS = 60.0
# Seconds to wait after an error that nobody expected, because somebody may have to fix it.
LEAST_PUT_OFF = 60.0
_MOST_ATTEMPTS = 1_000_000
KEPT_HISTORY = 20
UNFINISHED = ("due", "running")


@dataclass(frozen=True)
class ChannelClient:
    """Opens the channel of an account with its credentials."""

    account_id: UUID
    channel: str
    credentials: Credentials

    def open(self) -> Channel:
        return open_channel(self.channel, self.credentials)


def claimed_until() -> datetime:
    """Return when something that is claimed now becomes free again."""
    return datetime.now(UTC) + timedelta(seconds=get_settings().claim_seconds)


def seconds_to_wait(attempts: int) -> float:
    """Return how long to wait after so many failed attempts, with some randomness."""
    return WAITS[min(attempts, len(WAITS)) - 1] * random.uniform(1.0, 1.3)


def channel_client(session: Session, recruitment: Recruitment) -> ChannelClient:
    """Return what opens the recruitment's channel. Raises ChannelUnavailable while the credentials
    cannot be decrypted."""
    account = session.get_one(ChannelAccount, recruitment.channel_account_id)
    try:
        return ChannelClient(account.account_id, recruitment.channel, credentials_of(account))
    except SealedElsewhere as error:
        raise ChannelUnavailable(str(error)) from error


def due_payments(busy: Collection[UUID] = ()) -> Any:
    """Select payments that are due, except those of the accounts in `busy`."""
    due = select(Payment).where(Payment.state.in_(UNFINISHED), Payment.due_at <= func.now())
    return due.where(Payment.recruitment_id.not_in(recruitments_of(busy))) if busy else due


def recruitments_of(accounts: Collection[UUID]) -> Any:
    """Select the recruitments of these accounts, for use in a condition."""
    own = select(ChannelAccount.id).where(ChannelAccount.account_id.in_(accounts))
    return select(Recruitment.id).where(Recruitment.channel_account_id.in_(own))


def begin(payment: Payment) -> None:
    payment.state, payment.due_at = "running", claimed_until()
    payment.attempts += 1
    payment.first_tried_at = payment.first_tried_at or datetime.now(UTC)


def still_mine(session: Session, payment_id: UUID, number: int) -> Payment | None:
    payment = session.get(Payment, payment_id, with_for_update=True)
    if payment is None or payment.state != "running" or payment.attempts != number:
        return None
    return payment


@contextmanager
def kept(table: type[ChannelCall] | type[Payment], numbers: dict[UUID, int]) -> Iterator[None]:
    """Renew claims for as long as the block runs, and no longer than this process lives."""
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
                logger.warning("a claim could not be renewed: %s", error)

    thread = threading.Thread(target=renew, name="recruiter-claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def unexpected(error: Exception) -> ChannelUnavailable:
    """Turn an error that no channel expects into ChannelUnavailable, so that it counts as an
    attempt and waiting times grow."""
    logger.error("a request to a platform failed unexpectedly", exc_info=error)
    return ChannelUnavailable(reason_of(error))


def put_off(
    session: Session, table: type[ChannelCall] | type[Payment], row_id: UUID, reason: str
) -> None:
    """Make a row due again later, with a reason, after an error that nobody expected before or
    after a platform was asked.

    Repeating is harmless because of the row's token, and because a payment is looked for before it
    is made again. Giving up might leave something behind that already exists on the platform.
    """
    tried = session.scalar(select(table.attempts).where(table.id == row_id)) or 0
    wait = seconds_to_wait(min(max(tried, 1), len(WAITS)))
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
    wait = seconds_to_wait(payment.attempts) if seconds is None else seconds
    payment.state, payment.why = "due", said_by(error)
    payment.due_at = datetime.now(UTC) + timedelta(seconds=wait)


def with_entry(
    history: list[dict[str, Any]], number: int, error: ChannelError | None
) -> list[dict[str, Any]]:
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "attempt": number,
        "said": "done" if error is None else said_by(error)[:500],
    }
    return [*history[-(KEPT_HISTORY - 1) :], entry]
