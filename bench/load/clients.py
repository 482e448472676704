"""Annotators as coroutines over bare connections, in few processor cycles of their own.

    python -m bench.load.clients --address 127.0.0.1:8000 --link TOKEN --people 10 --seconds 20

Each person opens the campaign's link, and leases and answers grids until time is up; with
`--pace`, one begins every so many seconds (open loop), else at once (closed loop). Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

WAIT_SECONDS = 1.0


@dataclass
class Crowd:
    """calls: kind, second of the run in which it began, how many seconds it took, and status."""

    host: str
    port: int
    link: str
    people: int
    seconds: float
    pace: float
    images: bool
    calls: list[tuple[str, float, float, int]] = field(default_factory=list)
    n_waits: int = 0
    began: float = 0.0

    async def work(self) -> None:
        people = [Annotator(self, number) for number in range(self.people)]
        await asyncio.gather(*(annotator.come() for annotator in people))
        self.began = time.monotonic()
        self.calls.clear()
        await asyncio.gather(*(annotator.work() for annotator in people))

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began


class Annotator:
    """One person, on a connection that stays open."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        self._crowd, self._number, self._token = crowd, number, ""
        self._chance = random.Random(number)

    async def come(self) -> None:
        # A class of hundreds opens the link within some seconds.
        await asyncio.sleep(self._number * 0.02)
        self._reader, self._writer = await asyncio.open_connection(
            self._crowd.host, self._crowd.port
        )
        key = f"load-{self._crowd.began}-{self._number:06d}-{time.time_ns()}"
        opened = await self._call(
            "session", "POST", "sessions", {"link": self._crowd.link, "annotator_key": key}
        )
        self._token = opened["token"]
        await self._call("step", "POST", "steps", {"step": "instructions"})

    async def work(self) -> None:
        """Answer one grid after the other."""
        crowd = self._crowd
        turn = self._chance.uniform(0, crowd.pace)
        while crowd.elapsed < crowd.seconds:
            if crowd.pace:
                await asyncio.sleep(max(0.0, turn - crowd.elapsed))
                turn += crowd.pace
            handout = await self._call("claim", "POST", "leases")
            if handout["status"] != "leased":
                if handout["status"] != "wait":
                    raise RuntimeError(f"no more grids: {handout['status']}")
                crowd.n_waits += 1
                await asyncio.sleep(WAIT_SECONDS)
                continue
            await self._answer(handout["lease"])

    async def _answer(self, lease: dict[str, Any]) -> None:
        if self._crowd.images:
            await self._call("images", "GET", f"leases/{lease['id']}/images/thumb")
        images = [shown["image"] for shown in lease["images"]]
        body = {
            "images": images,
            "groups": [image % 3 for image in images],
            "descriptions": ["round", "another", "third"],
            "elapsed_ms": 8_000,
            "trace": [{"t": 100 * n, "image": image} for n, image in enumerate(images)],
        }
        await self._call("submit", "POST", f"leases/{lease['id']}/answer", body)

    async def _call(self, kind: str, method: str, path: str, body: object = None) -> Any:
        data = b"" if body is None else orjson.dumps(body)
        head = (
            f"{method} /api/v1/annotate/{path} HTTP/1.1\r\nHost: {self._crowd.host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
            f"Idempotency-Key: {path[:80]}\r\nAuthorization: Bearer {self._token}\r\n\r\n"
        )
        began = time.monotonic()
        self._writer.write(head.encode() + data)
        status, content = await _response(self._reader)
        now = time.monotonic()
        self._crowd.calls.append((kind, began - self._crowd.began, now - began, status))
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {content[:300]!r}")
        return None if kind == "images" or not content else orjson.loads(content)


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.find(b"content-length:")
    size = int(lower[at + 15 : lower.index(b"\r\n", at)]) if at >= 0 else 0
    return int(head[9:12]), await reader.readexactly(size) if size else b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--link", required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--images", action="store_true")
    options = parser.parse_args()
    host, _, port = options.address.partition(":")
    crowd = Crowd(
        host, int(port), options.link, options.people, options.seconds, options.pace, options.images
    )
    asyncio.run(crowd.work())
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump(
        {
            "calls": crowd.calls,
            "n_waits": crowd.n_waits,
            "seconds": crowd.elapsed,
            "core_seconds": used.ru_utime + used.ru_stime,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
