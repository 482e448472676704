"""Temporary failures, and work that waits for them to pass, so that neither a restart of PostgreSQL
nor a full disk loses a training."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError

from app.core.errors import NoRoom
from app.core.storage import StorageUnavailable, storage_reason

Result = TypeVar("Result")

# Classes of SQLSTATE: connection, transaction conflict, no resources, shutdown; a lock timeout, an
# idle-transaction timeout.
PASSING_STATES = ("08", "40", "53", "57P", "55P03", "25P03")
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 1.0
logger = logging.getLogger(__name__)


def passes_by_itself(error: Exception) -> bool:
    """Tell whether the connection was lost or refused, or the transaction gave way to another.
    Statements that take too long are our own fault."""
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(PASSING_STATES)


def through_outages(
    what: str, work: Callable[[], Result], give_up: Callable[[], bool] = lambda: False
) -> Result:
    """Run `work`, a whole transaction or a write under its own keys, and return its result. Repeat
    it while the database or storage is away or a disk is full, until `give_up`, for at most
    PATIENCE_SECONDS. Raises anything that `work` raises.

    A commit may have succeeded although its confirmation was lost, so `work` must detect that the
    second time.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return work()
        except (DBAPIError, NoRoom, StorageUnavailable) as error:
            awaited = _awaited(error)
            if not awaited or give_up() or time.monotonic() > deadline:
                raise
            logger.warning("%s is waiting for %s: %s", what, awaited, storage_reason(error))
            time.sleep(PAUSE_SECONDS)


def _awaited(error: Exception) -> str:
    """Return what has to come back; empty if waiting does not help."""
    if isinstance(error, NoRoom):
        return "free disk space"
    if isinstance(error, StorageUnavailable):
        return "storage"
    return "the database" if passes_by_itself(error) else ""
