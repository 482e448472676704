"""Sweeps serve everybody: a row that cannot be dealt with never stops the others.

A row may come from an older version, from an archive, or from a mistake of ours. It is dealt with
in a savepoint of its own; where that fails, it is parked with the reason, in place of being tried
again and again before all others.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

logger = logging.getLogger(__name__)
Key = TypeVar("Key")
Result = TypeVar("Result")
LONGEST_REASON = 500
# Rows of one sweep: PostgreSQL holds a lock for each savepoint of a transaction, and has room for
# some thousands in all. The next sweep takes the next rows.
ROWS_AT_ONCE = 500
# Classes of PostgreSQL's errors that are of no single row, and over by the next sweep: a lost
# connection, a conflict or deadlock, no resources, a lock held too long, a server that stops.
_PASSING = ("08", "40", "53", "55", "57P")


def is_passing(error: BaseException) -> bool:
    """Whether the same may go well a moment later, whatever stands in the row."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(_PASSING)


def reason_of(error: BaseException) -> str:
    """One line about an error that nobody expected, for whoever reads why a row was parked."""
    said = " ".join(str(error).replace("\0", "").split())
    return f"{type(error).__name__}: {said}"[:LONGEST_REASON].rstrip(": ")


def apart(
    session: Session, key: Key, deal: Callable[[Key], Result], park: Callable[[Key, str], Any]
) -> Result | None:
    """What `deal` returns for a key, in a savepoint; None where it raised and `park` was called
    with key and reason. What is passing is raised."""
    try:
        with session.begin_nested():
            return deal(key)
    except Exception as error:
        if is_passing(error):
            raise
        logger.exception("row %s cannot be processed and is set aside", key)
        with session.begin_nested():
            park(key, reason_of(error))
        return None


def each_apart(
    session: Session,
    keys: Iterable[Key],
    deal: Callable[[Key], Any],
    park: Callable[[Key, str], Any],
) -> int:
    """Call `deal` with every key, apart; `park` with key and reason where it raises.

    Rows are best given by their keys, and read in `deal`: then one that cannot even be read is
    parked, too. Returns how many were dealt with. What is passing ends the sweep.
    """

    def dealt(key: Key) -> bool:
        deal(key)
        return True

    return sum(bool(apart(session, key, dealt, park)) for key in keys)
