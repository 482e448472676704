"""Sends due deliveries (app/core/work.py).

A claim lasts a little longer than an attempt can take. If a process dies in between, the delivery
becomes due again. So each is sent at least once, and receivers recognise repetitions by the header
`webhook-id`.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpcore
from sqlalchemy import Select, case, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.errors import LikewiseError
from app.core.guard import GuardedNetwork, ending_within
from app.core.security import decrypt
from app.core.sweeps import reason_of
from app.core.work import Backoff, DueWork, WorkQueue, still_mine
from app.webhooks.guard import checked_addresses
from app.webhooks.models import Delivery, Webhook
from app.webhooks.service import PURPOSE
from app.webhooks.signing import signature

logger = logging.getLogger(__name__)
TIMEOUT_SECONDS = 10.0
CLAIM = timedelta(seconds=60)
# Waiting times after failed attempts, in seconds; twelve and a half hours in total.
WAITS = (5, 30, 120, 600, 1_800, 7_200, 14_400, 21_600)
BACKOFF = Backoff(WAITS, spread=1.2)
SHOWN_BYTES = 300
KEPT = timedelta(days=30)
GONE = 410
# The share of one account in the threads of workers/pool.py that send deliveries, because all its
# receivers may take ten seconds.
AT_ONCE = 2


@dataclass(frozen=True)
class Attempt:
    """One attempt in progress."""

    row_id: UUID
    account_id: UUID
    number: int
    url: str
    body: bytes
    secret: str | None

    @property
    def message_id(self) -> str:
        return f"msg_{self.row_id.hex}"


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt. `status`: the HTTP status, None without a response; `message`: the
    beginning of the response, or the error."""

    status: int | None
    message: str
    seconds: float

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def _due(busy: Collection[UUID]) -> Select[UUID]:
    return (
        select(Delivery.id)
        .join(Webhook, Delivery.webhook_id == Webhook.id)
        .join(Account, Webhook.account_id == Account.id)
        .where(Delivery.state == "pending", Delivery.due_at <= func.now())
        .where(Webhook.disabled_at.is_(None), Account.disabled_at.is_(None))
        .where(Account.id.not_in(busy))
        .order_by(Delivery.due_at)
    )


def _begin(session: Session, delivery_id: UUID) -> Attempt:
    delivery = session.get_one(Delivery, delivery_id)
    webhook = session.get_one(Webhook, delivery.webhook_id)
    delivery.attempts += 1
    delivery.due_at = datetime.now(UTC) + CLAIM
    secret = decrypt(PURPOSE, webhook.secret)
    return Attempt(
        delivery.id,
        webhook.account_id,
        delivery.attempts,
        webhook.url,
        delivery.body.encode(),
        secret.decode() if secret is not None else None,
    )


def send(attempt: Attempt) -> Outcome:
    """Send one POST, without redirects, limited to ten seconds. Never raises, whatever goes
    wrong."""
    started = time.monotonic()
    try:
        status, message = _post(attempt)
    except (httpcore.TimeoutException, TimeoutError):
        status, message = None, f"The receiver did not respond within {TIMEOUT_SECONDS:g} seconds."
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        status, message = None, f"{type(error).__name__}: {error}"
    except (LikewiseError, ValueError) as error:
        status, message = None, str(error)
    except Exception as error:
        # The error concerns one receiver only, so it counts as an attempt, and attempts are
        # limited.
        logger.exception("a webhook could not be sent")
        status, message = None, reason_of(error)
    return Outcome(status, message[:SHOWN_BYTES].replace("\0", ""), time.monotonic() - started)


def _post(attempt: Attempt) -> tuple[int, str]:
    if attempt.secret is None:
        raise ValueError(
            "The secret was encrypted with another LIKEWISE_SECRET_KEY. Create a new secret."
        )
    timestamp = int(time.time())
    headers = {
        "content-type": "application/json",
        "user-agent": "Likewise-Webhooks/1",
        "webhook-id": attempt.message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(attempt.secret, attempt.message_id, timestamp, attempt.body),
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    with (
        ending_within(TIMEOUT_SECONDS),
        httpcore.ConnectionPool(network_backend=GuardedNetwork(checked_addresses)) as pool,
        pool.stream(
            "POST",
            attempt.url,
            headers=pairs,
            content=attempt.body,
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), 10.0)},
        ) as response,
    ):
        return response.status, _beginning(response).decode(errors="replace")


def _beginning(response: httpcore.Response) -> bytes:
    """Return the part of the response to show, as far as it arrives in time; the status is valid
    without it."""
    beginning = b""
    try:
        for part in response.iter_stream():
            beginning += part
            if len(beginning) >= SHOWN_BYTES:
                break
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
        pass
    return beginning[:SHOWN_BYTES]


def record(session: Session, attempt: Attempt, outcome: Outcome) -> None:
    """Record the result of an attempt, and when the next is due. Does nothing if the delivery was
    deleted, or taken over by another attempt in the meantime."""
    delivery = still_mine(session, Delivery, attempt.row_id, attempt.number, state="pending")
    if delivery is None:
        return
    now = datetime.now(UTC)
    entry = {
        "at": now.isoformat(timespec="seconds"),
        "status": outcome.status,
        "said": outcome.message,
        "seconds": round(outcome.seconds, 3),
    }
    delivery.history = [*delivery.history, entry]
    if outcome.is_success:
        delivery.state, delivery.ended_at = "delivered", now
    elif outcome.status == GONE or attempt.number > len(WAITS):
        delivery.state, delivery.ended_at = "failed", now
    else:
        delivery.due_at = now + timedelta(seconds=BACKOFF.seconds(attempt.number))
    if outcome.status == GONE:
        webhook = session.get_one(Webhook, delivery.webhook_id)
        webhook.disabled_at = now
        webhook.disabled_because = (
            "The receiver responded 410 Gone, which means it wants no more events."
        )


def _park(session: Session, delivery_id: UUID, reason: str) -> None:
    now = datetime.now(UTC)
    entry = {"at": now.isoformat(timespec="seconds"), "status": None, "said": reason, "seconds": 0}
    session.execute(
        update(Delivery)
        .where(Delivery.id == delivery_id, Delivery.state == "pending")
        .values(
            state="failed",
            ended_at=now,
            history=case(
                (func.jsonb_typeof(Delivery.history) == "array", Delivery.history.concat([entry])),
                else_=literal([entry], JSONB),
            ),
        )
    )


DELIVERIES = DueWork(Delivery, _due, _begin, send, record, _park)
_queue = WorkQueue(DELIVERIES, most=AT_ONCE)


def deliver_next(claimed: Callable[[], None] = lambda: None) -> bool:
    """Send one due delivery. Returns False if there is none.

    claimed: called when the delivery was claimed, before it is sent
    """
    return _queue.do_next(claimed)


def forget_old_deliveries(session: Session) -> None:
    """Delete deliveries that ended more than thirty days ago."""
    session.execute(
        delete(Delivery)
        .where(Delivery.state != "pending", Delivery.created_at < datetime.now(UTC) - KEPT)
        .execution_options(synchronize_session=False)
    )
