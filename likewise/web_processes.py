"""How many processes serve the web on this machine, and running several of them on one port.

One process computes on one core at a time, whatever its threads do. Trainings, PostgreSQL and the
rest need about as much, so that half of the cores are for the web.
"""

import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from app.core.requests import COUNTS
from likewise import web_server
from likewise.embedded import port_is_taken
from likewise.processes import Child

MOST_BY_CORES = 4
# docs/several-machines.md has the sum, for a process with its own for heavy requests.
CONNECTIONS_OF_WEB, CONNECTIONS_OF_OTHERS = 66, 60
WATCH_SECONDS = 0.5
GRACE_SECONDS = 3
# Counts are written to mapped files. On a disk that is full, that would end a process.
MEMORY = "/dev/shm"


class PortTaken(RuntimeError):
    """Another program, or other web processes, listen on the port."""


def by_default() -> int:
    """Return how many web processes fit this machine. With a PostgreSQL elsewhere it is one,
    because each may take dozens of connections there; only Linux distributes connections."""
    if os.environ.get("DATABASE_URL") or sys.platform != "linux":
        return 1
    return max(1, min(MOST_BY_CORES, len(os.sched_getaffinity(0)) // 2))


def connections(n: int) -> int:
    """Return how many connections to PostgreSQL `n` web processes and all others may take."""
    return n * CONNECTIONS_OF_WEB + CONNECTIONS_OF_OTHERS


@contextmanager
def port_held(host: str, port: int) -> Iterator[None]:
    """Keep other web processes of this machine from sharing the port during the block: a shared
    port can be joined by any process of the same user. Raises PortTaken."""
    with socket.socket(socket.AF_UNIX) as holder:
        try:
            holder.bind(f"\0likewise-port-{port}")
        except OSError as error:
            raise PortTaken(f"Other web processes of Likewise share port {port}.") from error
        if port_is_taken(host, port):
            raise PortTaken(f"Port {port} of {host} is in use by another program.")
        yield


def names(n: int) -> list[str]:
    """Return the names of the processes: web, web-2, ..."""
    return ["web", *(f"web-{number}" for number in range(2, n + 1))]


@contextmanager
def shared_counts(n: int) -> Iterator[dict[str, str]]:
    """Yield the variables with which several processes count together. They are not needed for
    one."""
    if n == 1 or not os.access(MEMORY, os.W_OK):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="likewise-metrics-", dir=MEMORY) as folder:
        yield {COUNTS: folder}


def serve(host: str, port: int, n: int) -> None:
    """Run `n` web processes on one port until a signal comes, and restart those that die. Raises
    PortTaken."""
    with port_held(host, port), shared_counts(n) as variables:
        command = web_server.command(host, port, GRACE_SECONDS, shares=True)
        environment = {**web_server.VARIABLES, **os.environ, **variables}
        children = [Child(name, [sys.executable, "-m", *command], environment) for name in names(n)]
        stopping = _Stopping()
        try:
            for child in children:
                child.start()
            while not stopping.has_begun:
                time.sleep(WATCH_SECONDS)
                for child in children:
                    child.watch()
        finally:
            end(children)


def end(children: list[Child]) -> None:
    """Stop all at the same time."""
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop(seconds=GRACE_SECONDS + 5.0)


class _Stopping:
    """Notes the first signal that ends the server; further ones change nothing."""

    def __init__(self) -> None:
        self.has_begun = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._begin)

    def _begin(self, number: int, frame: FrameType | None) -> None:
        self.has_begun = True
