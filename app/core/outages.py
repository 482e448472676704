"""What passes by itself, and work that waits for it: a restart of PostgreSQL loses no training."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError

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
    """The result of `work`, a whole transaction that may be repeated, done anew while the database
    is away, until `give_up`, for PATIENCE_SECONDS at most. Raises what `work` raises.

    A commit may have happened although its confirmation was lost: the second time, `work` must
    find that out.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return work()
        except DBAPIError as error:
            if not passes_by_itself(error) or give_up() or time.monotonic() > deadline:
                raise
            logger.warning("%s waits for the database: %s", what, error)
            time.sleep(PAUSE_SECONDS)
