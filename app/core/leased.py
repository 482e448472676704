"""Work for Celery: rows with a lease, which one process holds at a time.

queued --claim--> running --complete--> done
  ^                 |   \\--fail-------> failed (or queued again while attempts are left)
  \\--lease ran out-/

PostgreSQL decides who works, not Celery: messages may arrive twice or get lost, an expired lease
means that the worker is gone, and nothing is written except under the epoch of the last claim.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Mapped, Session

from app.core.database import Identified
from app.core.errors import LostLease
from app.core.outbox import has_recent_message
from app.core.settings import get_settings
from app.core.sweeps import sweep


class Leased(Identified):
    """What every such table has.

    epoch: fencing token, raised by every claim
    lease_until: a running row whose lease has expired has lost its worker and is queued again
    NOUN: what a row is called in messages; LEASE: the columns that are null without a lease
    """

    NOUN: ClassVar[str]
    LEASE: ClassVar[tuple[str, ...]] = ("lease_until",)
    state: Mapped[str]
    attempts: Mapped[int]
    epoch: Mapped[int]
    lease_until: Mapped[datetime | None]
    error: Mapped[str | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


Row = TypeVar("Row", bound=Leased)
Action = Callable[[Session, Row], None]


def lease_end() -> datetime:
    """Return when a lease that begins now ends, unless it is renewed."""
    return datetime.now(UTC) + timedelta(seconds=get_settings().job_lease_seconds)


def claim(session: Session, table: type[Row], row_id: UUID, **values: Any) -> Row | None:
    """Claim a queued row and set `values`; None if it is not available (ended, or claimed by
    another worker)."""
    values = {"started_at": func.now(), **values}
    return session.execute(
        update(table)
        .where(table.id == row_id, table.state == "queued")
        .values(
            state="running",
            attempts=table.attempts + 1,
            epoch=table.epoch + 1,
            lease_until=lease_end(),
            error=None,
            **values,
        )
        .returning(table)
    ).scalar()


def require_held(
    session: Session, table: type[Row], row_id: UUID, epoch: int, *, lock: bool = False
) -> Row:
    """Return the running row; raises LostLease if another worker owns it by now.

    Unless it is locked, another worker may take it before the transaction ends.
    """
    query = select(table).where(table.id == row_id, table.epoch == epoch, table.state == "running")
    query = query.with_for_update(key_share=True) if lock else query
    row = session.scalar(query.execution_options(populate_existing=True))
    if row is None:
        raise lost_lease(table, row_id, epoch)
    return row


def lost_lease(table: type[Leased], row_id: UUID, epoch: int) -> LostLease:
    return LostLease(f"The lease of {table.NOUN} {row_id} under epoch {epoch} has ended.")


def end(row: Leased, state: str) -> None:
    """Give up the lease; the row is done, or has failed."""
    row.state, row.finished_at = state, datetime.now(UTC)
    _without_lease(row)


def queue_again(session: Session, row: Row, dispatch: Action[Row]) -> bool:
    """Queue a held row again if attempts are left; otherwise it has failed. Returns whether it is
    queued."""
    if row.attempts >= get_settings().job_max_attempts:
        end(row, "failed")
        return False
    row.state = "queued"
    _without_lease(row)
    dispatch(session, row)
    return True


def give_back(row: Leased) -> None:
    """Queue a held row again as if it had not been claimed. The caller dispatches it, unless it has
    to wait until its last message counts as lost."""
    row.state, row.attempts = "queued", row.attempts - 1
    _without_lease(row)


def _without_lease(row: Leased) -> None:
    for name in row.LEASE:
        setattr(row, name, None)


def requeue_lost(
    session: Session, table: type[Row], lose_worker: Action[Row], dispatch: Action[Row]
) -> int:
    """Queue rows again that have lost their worker or message, up to ROWS_AT_ONCE of each, and
    return how many.

    A row has lost its worker if it is running with an expired lease. It has lost its message if it
    is queued and the last message for it was sent some time ago. An extra message is harmless (see
    `claim`). A row that cannot be queued again has failed.
    """
    lost = select(table.id).where(table.state == "running", table.lease_until < func.now())
    silent = select(table.id).where(table.state == "queued", ~has_recent_message(job_id=table.id))
    return sum(
        sweep(
            session,
            rows,
            partial(_with_row, session, table, action),
            partial(_park, session, table),
        )
        for rows, action in ((lost, lose_worker), (silent, dispatch))
    )


def _with_row(session: Session, table: type[Row], action: Action[Row], row_id: UUID) -> None:
    action(session, session.get_one(table, row_id))


def _park(session: Session, table: type[Leased], row_id: UUID, reason: str) -> None:
    session.execute(
        update(table)
        .where(table.id == row_id)
        .values(
            state="failed",
            error=f"This {table.NOUN} cannot be processed: {reason}",
            finished_at=func.now(),
            **dict.fromkeys(table.LEASE),
        )
    )
