"""How many processes serve the web on this machine, and running several of them on one port.

One process computes on one core at a time, whatever its threads do. Trainings, PostgreSQL and the
rest need about as much, so that half of the cores are for the web.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from app.core.requests import COUNTS
from likewise import web_server
from likewise.processes import Child

MOST_BY_CORES = 4
# docs/several-machines.md has the sum, for a process with its own for heavy requests.
CONNECTIONS_OF_WEB, CONNECTIONS_OF_OTHERS = 66, 60
WATCH_SECONDS = 0.5
GRACE_SECONDS = 3


def by_default() -> int:
    """Return how many web processes fit this machine. With a PostgreSQL elsewhere it is one,
    because each may take dozens of connections there."""
    if os.environ.get("DATABASE_URL"):
        return 1
    return max(1, min(MOST_BY_CORES, len(os.sched_getaffinity(0)) // 2))


def connections(n: int) -> int:
    """Return how many connections to PostgreSQL `n` web processes and all others may take."""
    return n * CONNECTIONS_OF_WEB + CONNECTIONS_OF_OTHERS


def names(n: int) -> list[str]:
    """Return the names of the processes: web, web-2, ..."""
    return ["web", *(f"web-{number}" for number in range(2, n + 1))]


@contextmanager
def shared_counts(n: int) -> Iterator[dict[str, str]]:
    """Yield the variables with which several processes count together. They are not needed for
    one."""
    if n == 1:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="likewise-metrics-") as folder:
        yield {COUNTS: folder}


def serve(host: str, port: int, n: int) -> None:
    """Run `n` web processes on one port until SIGINT or SIGTERM, and restart those that die."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    command = [sys.executable, "-m", *web_server.command(host, port, GRACE_SECONDS, shares=True)]
    with shared_counts(n) as variables:
        environment = {**web_server.VARIABLES, **os.environ, **variables}
        children = [Child(name, command, environment) for name in names(n)]
        try:
            for child in children:
                child.start()
            while True:
                time.sleep(WATCH_SECONDS)
                for child in children:
                    child.watch()
        except KeyboardInterrupt:
            return
        finally:
            for child in children:
                child.stop(seconds=GRACE_SECONDS + 5.0)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
