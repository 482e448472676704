"""Work that threads of the dispatcher do: rows that become due at a time.

A row is claimed in one transaction, worked on outside of any, and the outcome is recorded in
another. A claim sets the time at which the row is due again to later than the work can take, so if
the process dies in between, the row becomes due again. The number of attempts is the fence: only
the newest attempt can record an outcome or park the row. A row that cannot be claimed, worked on or
recorded is parked, and stops no other.
"""

import logging
import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Select, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Mapped, Session

from app.core.database import Identified, transaction
from app.core.sweeps import ROWS_AT_ONCE, apart, is_passing, reason_of

logger = logging.getLogger(__name__)


class Attempted(Identified):
    """What a table has whose attempts are counted. `due_at`: when the next attempt is due; during
    an attempt, when it counts as lost."""

    state: Mapped[str]
    attempts: Mapped[int]
    due_at: Mapped[datetime]


class OneAttempt(Protocol):
    """An attempt in progress: the row that was claimed, and whose it is."""

    @property
    def row_id(self) -> UUID: ...

    @property
    def account_id(self) -> UUID: ...

    @property
    def number(self) -> int | None:
        """The number of the row's attempts with this one; None if its table does not count them."""
        ...


Row = TypeVar("Row", bound=Attempted)
Attempt = TypeVar("Attempt", bound=OneAttempt)
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Backoff:
    """Seconds to wait after the first, second, … failed attempt; the last one is repeated. Each is
    multiplied by a random number from 1 to `spread`."""

    waits: tuple[int, ...]
    spread: float

    def seconds(self, attempts: int) -> float:
        """Return how long to wait after so many failed attempts."""
        last = len(self.waits)
        return self.waits[min(max(attempts, 1), last) - 1] * random.uniform(1.0, self.spread)


@dataclass(frozen=True)
class DueWork(Generic[Attempt, Outcome]):
    """A kind of work.

    table: where its rows are
    due: selects the ids of due rows in the order of their turns, without rows of some accounts
    begin: marks a row as claimed, and returns what an attempt needs; None if it has to wait
    do: the work itself, outside of any transaction
    record: stores the outcome if the attempt is still the row's newest (`still_mine`)
    park: sets a row aside or postpones it, with a reason, so that it is no longer due
    """

    table: type[Identified]
    due: Callable[[Collection[UUID]], Select[UUID]]
    begin: Callable[[Session, UUID], Attempt | None]
    do: Callable[[Attempt], Outcome]
    record: Callable[[Session, Attempt, Outcome], None]
    park: Callable[[Session, UUID, str], None]

    def claim(self, busy: Collection[UUID] = ()) -> Attempt | None:
        """Claim the next row that is due, unless it belongs to an account in `busy`. None if there
        is none, or if all of the first ROWS_AT_ONCE were parked or put off."""
        for _ in range(ROWS_AT_ONCE):
            with transaction() as session:
                row_id = session.scalar(
                    self.due(busy).limit(1).with_for_update(of=self.table, skip_locked=True)
                )
                if row_id is None:
                    return None
                begin, park = partial(self.begin, session), partial(self.park, session)
                attempt = apart(session, row_id, begin, park)
            if attempt is not None:
                return attempt
        return None

    def complete(self, attempt: Attempt) -> None:
        """Do the work of a claimed row, and record the outcome."""
        try:
            outcome = self.do(attempt)
        except Exception as error:
            if is_passing(error):
                raise
            logger.exception("row %s: the work failed", attempt.row_id)
            with transaction() as session:
                self._park_held(session, attempt, reason_of(error))
            return
        with transaction() as session:
            apart(
                session,
                attempt.row_id,
                lambda _: self.record(session, attempt, outcome),
                lambda _, reason: self._park_held(session, attempt, reason),
            )

    def _park_held(self, session: Session, attempt: Attempt, reason: str) -> None:
        """Park the row, unless another attempt has taken it over: that one may have done the work,
        and its outcome counts."""
        number = attempt.number
        if (
            number is None
            or not issubclass(self.table, Attempted)
            or is_newest(session, self.table, attempt.row_id, number)
        ):
            self.park(session, attempt.row_id, reason)


class WorkQueue:
    """Kinds of work that share threads, of which an account has at most `most` at once, because its
    work may be much and the servers that it waits for slow."""

    def __init__(self, *kinds: DueWork[Any, Any], most: int) -> None:
        self._kinds = kinds
        self._most = most
        self._under_way: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    def do_next(self, claimed: Callable[[], None] = lambda: None) -> bool:
        """Do one piece of work that is due. Returns False if there is none.

        claimed: called when a piece was claimed, before the work begins

        The kinds of work are tried in random order, so that much work of one kind does not delay
        the others.
        """
        for kind in random.sample(self._kinds, len(self._kinds)):
            # Only one thread claims at a time; two at once would both find room.
            with self._lock:
                attempt = kind.claim(
                    [account_id for account_id, n in self._under_way.items() if n >= self._most]
                )
                if attempt is None:
                    continue
                self._under_way[attempt.account_id] += 1
            try:
                claimed()
                kind.complete(attempt)
            finally:
                with self._lock:
                    self._under_way -= Counter([attempt.account_id])
            return True
        return False


def still_mine(
    session: Session, table: type[Row], row_id: UUID, number: int, state: str = "running"
) -> Row | None:
    """Return the row under its lock; None if it was deleted, is no longer in the state of a claimed
    row, or was taken over by another attempt."""
    row = session.get(table, row_id, with_for_update=True)
    if row is not None and (row.state, row.attempts) == (state, number):
        return row
    _log_dropped(row_id, number)
    return None


def is_newest(session: Session, table: type[Attempted], row_id: UUID, number: int) -> bool:
    """Lock the row, and tell whether no other attempt has begun since this one. Nothing else of the
    row is read, because that may be what failed."""
    query = select(table.attempts).where(table.id == row_id).with_for_update()
    if session.scalar(query) == number:
        return True
    _log_dropped(row_id, number)
    return False


def _log_dropped(row_id: UUID, number: int) -> None:
    logger.warning(
        "row %s: the outcome of attempt %d is dropped, because the row has ended or another "
        "attempt has taken it over",
        row_id,
        number,
    )


@contextmanager
def renewed(
    table: type[Attempted], numbers: dict[UUID, int], until: Callable[[], datetime], every: float
) -> Iterator[None]:
    """Renew claims for as long as the block runs, and no longer than this process lives.

    numbers: the number of each row's attempt; every: seconds
    """
    done = threading.Event()

    def renew() -> None:
        while not done.wait(every):
            try:
                with transaction() as session:
                    for row_id, number in numbers.items():
                        mine = (table.id == row_id) & (table.attempts == number)
                        session.execute(
                            update(table)
                            .where(mine, table.state == "running")
                            .values(due_at=until())
                        )
            except DBAPIError as error:
                logger.warning("a claim could not be renewed: %s", error)

    thread = threading.Thread(target=renew, name="claim-renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
