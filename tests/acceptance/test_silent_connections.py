"""A thousand connections that say nothing, dawdle or do not listen, and visitors who are served all
the same (test 30)."""

import asyncio
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
import psutil

from app.core.assets import BUILD
from app.core.connections import MOST_AHEAD
from testbed.builders import a_collection, an_account, an_api_token
from testbed.servers import Servers
from testbed.system import System, running_system
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.scale import FULL
from tests.support.stolen import Stolen

CONNECTIONS, SECONDS = (1_000, 600.0) if FULL else (150, 6.0)
ARRIVAL_SECONDS = 30.0 if FULL else 1.0
# A first visit loads templates and the like.
VISITS_BEFORE = 40
LONGEST_VISIT, MOST_GROWTH = 1.0, 0.10
LEAST_UNDISTURBED = 0.5
OTHER_DESCRIPTORS = 200
PAUSE = 0.25
# As many as may be sent ahead, and far more.
DEAF_REQUESTS, HASTY_REQUESTS, DEAF_SECONDS = 1 + MOST_AHEAD, 2_000, 60.0


def test_visitors_are_served_beside_connections_that_waste_time(
    own_servers: Servers, tmp_path: Path
) -> None:
    values = settings_over(own_servers, own_servers.new_database(), tmp_path)
    with running_system(values, tmp_path, "web") as system, used_here(system.environment):
        owner = an_account()
        a_collection(owner, n=1)
        for _ in range(VISITS_BEFORE):
            visit(system)
        # Its second process is there, too.
        url = f"{system.base_url}/api/v1/campaigns/{uuid4()}/export/answers.csv"
        headers = {"Authorization": f"Bearer {an_api_token(owner)}"}
        assert httpx.get(url, headers=headers, timeout=60).status_code == 404
        visits: list[tuple[float, float]] = []
        stolen = Stolen()
        sizes = [(0.0, *size_of(system))]
        attack = _Attack(system.port)
        with stolen.watched(), attack.going():
            began = time.monotonic()
            while time.monotonic() - began < SECONDS:
                visits.append((time.monotonic(), visit(system)))
                sizes.append((time.monotonic() - began, *size_of(system)))
                time.sleep(PAUSE)
        figures = summary(visits, stolen, sizes, attack)
        keep("silent_connections", figures)
        assert attack.opened >= CONNECTIONS
        assert figures["most_descriptors"] <= CONNECTIONS + OTHER_DESCRIPTORS
        if FULL:
            assert figures["longest_visit_seconds"] < LONGEST_VISIT
            assert figures["visits"] > LEAST_UNDISTURBED * figures["all_visits"]
            assert figures["memory_growth"] < MOST_GROWTH


def visit(system: System) -> float:
    """Seconds for a newcomer: a connection of its own, and a page."""
    began = time.monotonic()
    # Not by httpx, whose client takes most of the time of a visit for its own beginning.
    newcomer = HTTPConnection("127.0.0.1", system.port, timeout=30)
    newcomer.request("GET", "/sign-in")
    reply = newcomer.getresponse()
    assert (reply.status, bool(reply.read())) == (200, True)
    newcomer.close()
    return time.monotonic() - began


def size_of(system: System) -> tuple[int, int]:
    """Descriptors of the web server and bytes of memory of it and its children."""
    web = psutil.Process(system.processes["web"].pid)
    memory = sum(process.memory_info().rss for process in [web, *web.children(recursive=True)])
    return web.num_fds(), memory


class _Attack:
    """So many connections in the background, replaced when the server closes them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.opened = 0
        largest = max((BUILD / "assets").iterdir(), key=lambda file: file.stat().st_size)
        self._large = f"/static/build/assets/{largest.name}"
        self.kinds: Counter[str] = Counter()
        self._over = asyncio.Event()
        self._chance = random.Random(0)

    @contextmanager
    def going(self) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_until_complete, args=(self._run(),))
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(self._over.set)
            thread.join()
            loop.close()

    async def _run(self) -> None:
        tasks = [asyncio.create_task(self._again_and_again()) for _ in range(CONNECTIONS)]
        await self._over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _again_and_again(self) -> None:
        # They do not all come at once.
        await asyncio.sleep(self._chance.uniform(0, ARRIVAL_SECONDS))
        while True:
            kind = self._chance.choice(("silent", "headers", "body", "deaf", "hasty"))
            with suppress(ConnectionError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                self.opened += 1
                self.kinds[kind] += 1
                try:
                    await self._waste(kind, reader, writer)
                finally:
                    writer.close()
            await asyncio.sleep(0.5)

    async def _waste(
        self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Until the server closes it."""
        if kind == "silent":
            await reader.read()
            return
        head = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if kind == "body":
            head += (
                b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\n"
            )
        if kind in ("deaf", "hasty"):
            await self._ask_and_not_listen(kind, reader, writer)
            return
        writer.write(head)
        await writer.drain()
        ended = asyncio.create_task(reader.read())
        try:
            while not ended.done():
                writer.write(b"x")
                await writer.drain()
                await asyncio.wait([ended], timeout=5)
        finally:
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)

    async def _ask_and_not_listen(
        self, kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Ask for large files, or for very many pages, and read none of it for a minute."""
        transport = cast(asyncio.Transport, writer.transport)
        transport.pause_reading()
        n, path = (DEAF_REQUESTS, self._large) if kind == "deaf" else (HASTY_REQUESTS, "/sign-in")
        writer.write(n * f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while True:
            await asyncio.sleep(DEAF_SECONDS)
            transport.resume_reading()
            # What lies in the buffers, and then the end, if the server has given up.
            began = time.monotonic()
            while await reader.read(2**16):
                if time.monotonic() - began > 1:
                    break
            else:
                return
            transport.pause_reading()


def summary(
    visits: list[tuple[float, float]],
    stolen: Stolen,
    sizes: list[tuple[float, int, int]],
    attack: _Attack,
) -> dict[str, Any]:
    """Visits are judged where the machine's host gave the processors to nobody else."""
    undisturbed = [took for at, took in visits if not stolen.touches(at, at + took)]
    [(_, _, before), *_] = sizes
    late = [memory for at, _, memory in sizes if at >= 0.9 * SECONDS]
    return {
        "full": FULL,
        "connections": CONNECTIONS,
        "minutes": round(SECONDS / 60, 1),
        "opened": attack.opened,
        "kinds": dict(attack.kinds),
        "all_visits": len(visits),
        "visits": len(undisturbed),
        "median_visit_seconds": round(statistics.median(undisturbed), 3),
        "longest_visit_seconds": round(max(undisturbed), 3),
        "longest_of_all_seconds": round(max(took for _, took in visits), 3),
        "most_descriptors": max(n for _, n, _ in sizes),
        "memory_growth": round(statistics.median(late) / before - 1, 3),
    }
