"""Hostile requests to every route (tests 23 and 25 of docs/acceptance.md): none makes the server
fail, hang, grow, or change what is somebody else's."""

import os
import socket
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import psutil
import pytest

from app.main import create_app
from testbed.system import System
from tests.support.acceptance_results import keep
from tests.support.hostile import Hostile
from tests.support.hostile_world import (
    World,
    a_world,
    broken_rules,
    does_a_task,
    fingerprint,
    name_of,
    targets_of,
)
from tests.support.raw_http import Line, RawReply, RawRequest
from tests.support.scale import FULL

REQUESTS = int(os.environ.get("LIKEWISE_HOSTILE_REQUESTS", 100_000 if FULL else 2_000))
SEED = int(os.environ.get("LIKEWISE_HOSTILE_SEED", "1"))
CLIENTS = 4
# How many requests a world is used for before it is looked whether it is still there.
STRIDE = 250
WARM_SHARE = 0.1
MOST_GROWTH = 1.10
SLOW_SECONDS = 5.0
HALVES = 200
# What a server says that is busy, or whose platform does not answer: by design.
PASSING = {"busy", "platform_silent", "not_yet"}


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    """Nothing outside is asked: whatever platform is meant, its address refuses connections."""
    nowhere = "http://127.0.0.1:9"
    return {
        "HTTPS_PROXY": nowhere,
        "LIKEWISE_MTURK_ENDPOINT": nowhere,
        "LIKEWISE_PROLIFIC_ENDPOINT": nowhere,
    }


@dataclass
class Record:
    """What came back, from all clients."""

    by_route: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    by_kind: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[str] = field(default_factory=list)
    slow: list[RawRequest] = field(default_factory=list)
    slowest: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, number: int, request: RawRequest, reply: RawReply) -> None:
        with self.lock:
            self.by_route[request.route][reply.status] += 1
            self.by_kind[request.kind][reply.status] += 1
            self.slowest = max(self.slowest, reply.seconds)
            self.seconds[request.kind] += reply.seconds
            if reply.seconds > SLOW_SECONDS:
                self.slow.append(request)
            if is_failure(request, reply):
                self.failures.append(
                    f"{number} {request.route} ({request.kind}): {reply.status} after "
                    f"{reply.seconds:.1f} s\n    {request.data[:600]!r}\n    {reply.body[:300]!r}"
                )

    @property
    def by_status(self) -> Counter[int]:
        return sum(self.by_route.values(), Counter())


def is_failure(request: RawRequest, reply: RawReply) -> bool:
    """Also a connection that is closed without a word, or with nonsense, after a request that has
    an end."""
    if reply.status == -1:
        return True
    if reply.status == 0:
        return not (request.is_cut or request.closes)
    if reply.status != 503:
        return reply.status >= 500
    body = reply.body.decode(errors="replace")
    return not any(f'"code":"{code}"' in body for code in PASSING)


@dataclass
class Attack:
    """Clients that share the numbers of requests among them, each with a world of its own."""

    system: System
    http: httpx.Client
    others: World
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        self.app = create_app()
        self.targets = targets_of(self.app)

    def run(self, first: int, last: int) -> None:
        shares = [range(first + k, last, CLIENTS) for k in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(self._send, share) for share in shares]:
                done.result()

    def _send(self, numbers: range) -> None:
        line, hostile = Line(self.system.port), self._hostile()
        for count, number in enumerate(numbers):
            if count % STRIDE == STRIDE - 1 and not hostile.world.is_alive(self.http):
                hostile = self._hostile()
            request = hostile.request(SEED, number)
            self.record.note(number, request, line.ask(request))
        line.close()

    def _hostile(self) -> Hostile:
        world = a_world(self.http, f"w{uuid.uuid4().hex[:12]}")
        schemas = self.app.openapi()["components"]["schemas"]
        return Hostile(world, self.others, self.targets, schemas)


@pytest.fixture
def http(web: System) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        yield client


def resident(system: System) -> float:
    """MiB of the web process."""
    return float(psutil.Process(system.processes["web"].pid).memory_info().rss / 2**20)


def keep_results(record: Record, before: float, after: float) -> None:
    summary = {
        "full": FULL,
        "requests": sum(record.by_status.values()),
        "seed": SEED,
        "routes": len(record.by_route),
        "by_status": {str(status): n for status, n in sorted(record.by_status.items())},
        "slowest_s": round(record.slowest, 2),
        "slow": len(record.slow),
        "memory_before_mib": round(before, 1),
        "memory_after_mib": round(after, 1),
        "memory_growth_percent": round(100 * (after / before - 1), 1),
    }
    details = {
        "seconds_by_kind": {kind: round(s, 1) for kind, s in sorted(record.seconds.items())},
        "by_kind": {kind: dict(sorted(n.items())) for kind, n in sorted(record.by_kind.items())},
        "by_route": {
            route: dict(sorted(n.items())) for route, n in sorted(record.by_route.items())
        },
    }
    keep("hostile", summary)
    keep("hostile_details", details)


def test_hostile_requests_are_refused_and_nothing_else_happens(
    web: System, http: httpx.Client
) -> None:
    others = a_world(http, "others")
    kept = fingerprint(others.campaign)
    attack = Attack(web, http, others)
    warm = int(REQUESTS * WARM_SHARE)
    attack.run(0, warm)
    before = resident(web)
    attack.run(warm, REQUESTS)
    after = resident(web)
    record = attack.record
    keep_results(record, before, after)
    failures = f"{len(record.failures)} failures:\n" + "\n".join(record.failures[:20])
    assert not record.failures, failures
    assert not still_slow(web, record.slow)
    log = web.log("web")
    assert "unexpected error" not in log, log[log.index("unexpected error") :][:6000]
    assert "Exception in ASGI" not in log
    assert fingerprint(others.campaign) == kept
    assert broken_rules() == {}
    # Not by refusals alone.
    assert {status // 100 for status in record.by_status} >= {2, 3, 4}
    if FULL:
        assert {name_of(target) for target in attack.targets} <= set(record.by_route)
        assert after <= before * MOST_GROWTH, (before, after)
    does_a_task(others.person)


def still_slow(system: System, slow: list[RawRequest]) -> list[str]:
    """Of requests that took long beside others, those that do so alone, too, again and again."""
    line, slow_alone = Line(system.port), []
    for request in slow:
        if all(line.ask(request).seconds > SLOW_SECONDS for _ in range(3)):
            slow_alone.append(f"{request.route} ({request.kind}): {request.data[:600]!r}")
    line.close()
    return slow_alone


def test_half_requests_keep_nobody_out(web: System, http: httpx.Client) -> None:
    """Hundreds who begin a request and never go on (slowloris)."""
    world = a_world(http, "others")
    head = "POST /api/v1/annotate/sessions HTTP/1.1\r\nHost: localhost\r\n"
    head += "Content-Type: application/json\r\n"
    halves = [head, f"{head}Content-Length: 100\r\n\r\n{{", "GET /", f"{head}X-A: "]
    open_lines = []
    for k in range(HALVES):
        line = socket.create_connection(("127.0.0.1", web.port), timeout=30)
        line.sendall(halves[k % len(halves)].encode())
        open_lines.append(line)
    does_a_task(world.person)
    for line in open_lines:
        line.close()
