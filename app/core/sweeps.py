"""Background sweeps in which one bad row never stops the others.

A row may come from an older version, from an archive, or from a bug. It is processed in its own
savepoint. If that fails, the row is set aside with the reason, instead of being tried again and
again before all others.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

logger = logging.getLogger(__name__)
Key = TypeVar("Key")
Result = TypeVar("Result")
LONGEST_REASON = 500
# Rows of one sweep. PostgreSQL holds a lock for each savepoint of a transaction and has room for
# some thousands. The next sweep takes the next rows.
ROWS_AT_ONCE = 500
# Classes of PostgreSQL errors that no single row causes and that are over by the next sweep: a lost
# connection, a conflict or deadlock, no resources, a lock timeout, a shutdown.
_PASSING = ("08", "40", "53", "55", "57P")


def is_passing(error: BaseException) -> bool:
    """Tell whether the same action may succeed a moment later, independent of the row."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(_PASSING)


def reason_of(error: BaseException) -> str:
    """Describe an unexpected error in one line, for people who read why a row was set aside."""
    message = " ".join(str(error).replace("\0", "").split())
    return f"{type(error).__name__}: {message}"[:LONGEST_REASON].rstrip(": ")


def apart(
    session: Session,
    key: Key,
    deal: Callable[[Key], Result],
    park: Callable[[Key, str], Any],
    passing: Callable[[Exception], bool] = is_passing,
) -> Result | None:
    """Call `deal` with a key in a savepoint, and return its result; None if it raised and `park`
    was called with key and reason. Temporary errors (`passing`) are raised."""
    try:
        with session.begin_nested():
            return deal(key)
    except Exception as error:
        if passing(error):
            raise
        logger.exception("row %s cannot be processed and is set aside", key)
        with session.begin_nested():
            park(key, reason_of(error))
        return None


def sweep(
    session: Session,
    due: Select[Key],
    deal: Callable[[Key], Any],
    park: Callable[[Key, str], Any],
) -> int:
    """Deal with up to ROWS_AT_ONCE due rows, skipping locked ones, as in `each_apart`.

    due: selects their keys
    """
    keys = session.scalars(due.limit(ROWS_AT_ONCE).with_for_update(skip_locked=True)).all()
    return each_apart(session, keys, deal, park)


def each_apart(
    session: Session,
    keys: Iterable[Key],
    deal: Callable[[Key], Any],
    park: Callable[[Key, str], Any],
    passing: Callable[[Exception], bool] = is_passing,
) -> int:
    """Call `deal` with every key, separately, and `park` with key and reason if it raises.

    Pass keys rather than rows, and read the row in `deal`, so that a row that cannot even be read
    is set aside too. Returns how many were processed. Temporary errors end the sweep.
    """

    def dealt(key: Key) -> bool:
        deal(key)
        return True

    return sum(bool(apart(session, key, dealt, park, passing)) for key in keys)
