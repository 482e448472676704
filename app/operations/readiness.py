"""Checks whether the server can do its work: each check runs in its own thread, and none is waited
for long.

Reasons are short and contain no addresses, because anyone who can reach the server can read them.
The details are in the log.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from redis.exceptions import OutOfMemoryError, ResponseError

from app.core.database import transaction
from app.core.errors import NoRoom
from app.core.events import write_to_redis
from app.core.revisions import database_revision, newest_revision
from app.core.row_security import row_security_active
from app.core.storage import check_storage

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 3.0
OK = "ok"


class NotReady(Exception):
    """A check has failed; the message is public."""


@dataclass(frozen=True)
class Readiness:
    """The results of the checks by name: "ok" or the reason."""

    checks: dict[str, str]

    @property
    def is_ready(self) -> bool:
        return all(result == OK for result in self.checks.values())


def _database() -> None:
    with transaction() as session:
        current, is_separated = database_revision(session), row_security_active(session)
    if current != newest_revision():
        raise NotReady(
            f"its schema is at revision {current}, but this version needs {newest_revision()}: "
            "run `likewise migrate`"
        )
    if not is_separated:
        raise NotReady(
            "the role that keeps requesters' data apart is missing: run `likewise migrate`"
        )


def _queue() -> None:
    try:
        write_to_redis()
    except OutOfMemoryError as error:
        raise NotReady("has no memory left") from error
    except ResponseError as error:
        if not str(error).startswith("MISCONF"):
            raise
        raise NotReady("cannot write to its disk") from error


CHECKS: dict[str, Callable[[], None]] = {
    "database": _database,
    "storage": check_storage,
    "queue": _queue,
}
_running: dict[str, Future[None]] = {}
_lock = threading.Lock()


def check_readiness() -> Readiness:
    """Run all checks at once. One that still hangs from the last time is not started again."""
    with _lock:
        for name, check in CHECKS.items():
            if name not in _running or _running[name].done():
                _running[name] = _begun(name, check)
        asked = dict(_running)
    wait(asked.values(), PATIENCE_SECONDS)
    return Readiness({name: _check_result(name, future) for name, future in asked.items()})


def _begun(name: str, check: Callable[[], None]) -> Future[None]:
    """Start a check in a daemon thread outside any pool, because one that hangs must not keep the
    process from ending."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            check()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(None)

    threading.Thread(target=run, name=f"readiness-{name}", daemon=True).start()
    return future


def _check_result(name: str, future: Future[None]) -> str:
    if not future.done():
        return f"no response within {PATIENCE_SECONDS:g} seconds"
    error = future.exception()
    if error is None:
        return OK
    if isinstance(error, NotReady):
        return str(error)
    if isinstance(error, NoRoom):
        return "its disk is full"
    logger.warning("not ready, %s: %s", name, error)
    return f"not reachable ({type(error).__name__})"
