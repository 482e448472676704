"""What passes by itself, and work that waits for it: neither a restart of PostgreSQL nor a disk
that is full for a while loses a training."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError

from app.core.errors import NoRoom

Result = TypeVar("Result")

# Classes of SQLSTATE: connection, gave way to another transaction, no resources, shut down; a lock
# that was waited for too long, a transaction that was idle too long.
PASSING_STATES = ("08", "40", "53", "57P", "55P03", "25P03")
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 1.0
logger = logging.getLogger(__name__)


def passes_by_itself(error: Exception) -> bool:
    """Whether the connection was lost or is not to be had, or the transaction gave way to
    another; statements that take too long are our own fault."""
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(PASSING_STATES)


def through_outages(
    what: str, work: Callable[[], Result], give_up: Callable[[], bool] = lambda: False
) -> Result:
    """The result of `work`, a whole transaction or what is stored under keys of its own, done anew
    while the database is away or a disk full, until `give_up`, for PATIENCE_SECONDS at most. Raises
    what `work` raises.

    A commit may have happened although its confirmation was lost: the second time, `work` must
    find that out.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return work()
        except (DBAPIError, NoRoom) as error:
            is_full = isinstance(error, NoRoom)
            passes = is_full or passes_by_itself(error)
            if not passes or give_up() or time.monotonic() > deadline:
                raise
            awaited = "free disk space" if is_full else "the database"
            logger.warning("%s is waiting for %s: %s", what, awaited, error)
            time.sleep(PAUSE_SECONDS)
