"""Annotators as coroutines over bare connections, in few processor cycles of their own.

    python -m bench.load.clients --address 127.0.0.1:8000 --link TOKEN --people 10 --seconds 20

Each person opens the campaign's link, leases a grid, and answers grids until time is up, as each
answer brings the next one (`--claims`: leases each by itself, as earlier releases do). With
`--pace`, one begins every so many seconds (open loop), else at once (closed loop). With several
addresses, people are spread over them; with several links, each person works for some campaigns in
turn. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.load.connections import Connection, Record

API = "/api/v1/annotate"


@dataclass
class Crowd:
    """pace: seconds from grid to grid, 0 without a pause. claims: whether each grid is leased by a
    request of its own."""

    addresses: list[str]
    links: list[str]
    people: int
    seconds: float
    pace: float = 0.0
    images: bool = False
    claims: bool = False
    record: Record = field(default_factory=Record)

    async def work(self, person: Callable[[Crowd, int], Annotator]) -> None:
        people = [person(self, number) for number in range(self.people)]
        await asyncio.gather(*(annotator.come() for annotator in people))
        self.record.begin()
        await asyncio.gather(*(annotator.work() for annotator in people))

    def is_over(self) -> bool:
        return self.record.elapsed >= self.seconds


class Annotator:
    """One person, on a connection that stays open."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        self.crowd, self.number = crowd, number
        self.chance = random.Random(number)
        self.connection = self.another_connection()
        links = crowd.links
        self._links = links[number :: crowd.people] or [links[number % len(links)]]
        # One for each campaign; that at the end is the next one's.
        self._tokens: list[str] = []
        # Grids that answers have brought, by token.
        self._next: dict[str, dict[str, Any]] = {}

    def another_connection(self) -> Connection:
        addresses = self.crowd.addresses
        return Connection(addresses[self.number % len(addresses)], self.crowd.record)

    async def come(self) -> None:
        # A class of hundreds opens the link within some seconds.
        await asyncio.sleep(self.number * 0.02)
        self._tokens = [await self.open(link) for link in self._links]

    async def open(self, link: str) -> str:
        """The bearer token of somebody new."""
        key = f"load-{self.number:06d}-{time.time_ns()}"
        opened = await self.connection.json(
            "session", "POST", f"{API}/sessions", {"link": link, "annotator_key": key}
        )
        token = str(opened["token"])
        step = {"step": "instructions"}
        await self.connection.json("step", "POST", f"{API}/steps", step, bearer(token))
        return token

    async def come_as_another(self) -> None:
        """Another person goes on at this one's place."""
        self._tokens = [await self.open(link) for link in self._links]

    @property
    def token(self) -> str:
        """Of the campaign at hand."""
        return self._tokens[-1]

    async def work(self) -> None:
        """Answer one grid after the other."""
        crowd = self.crowd
        turn = self.chance.uniform(0, crowd.pace)
        while not crowd.is_over():
            if crowd.pace:
                await asyncio.sleep(max(0.0, turn - crowd.record.elapsed))
                turn += crowd.pace
            handout = self._next.pop(self.token, None) or await self.claim(self.connection)
            if handout["status"] == "leased":
                await self.answer(handout["lease"])
                self._tokens.insert(0, self._tokens.pop())
            elif handout["status"] == "wait":
                crowd.record.n_waits += 1
                left = max(0.0, crowd.seconds - crowd.record.elapsed)
                await asyncio.sleep(min(left, handout["retry_after_seconds"]))
            else:
                self.end(handout["status"])
                return

    def end(self, status: str) -> None:
        """There are no more grids."""
        raise RuntimeError(f"no more grids: {status}")

    async def claim(self, connection: Connection) -> dict[str, Any]:
        handout: dict[str, Any] = await connection.json(
            "claim", "POST", f"{API}/leases", None, bearer(self.token)
        )
        return handout

    async def answer(self, lease: dict[str, Any]) -> None:
        if self.crowd.images:
            path = f"{API}/leases/{lease['id']}/images/thumb"
            await self.connection.call("images", "GET", path, None, bearer(self.token))
        path, body = f"{API}/leases/{lease['id']}/answer", answer_to(lease)
        body["next"] = not self.crowd.claims
        headers = bearer(self.token, lease["id"])
        reply = await self.connection.json("submit", "POST", path, body, headers)
        self.keep_next(reply)

    def keep_next(self, reply: dict[str, Any]) -> None:
        """Keep the grid that an answer has brought."""
        if reply.get("next") is not None:
            self._next[self.token] = reply["next"]


def answer_to(lease: dict[str, Any]) -> dict[str, Any]:
    """The body of a finished grouping."""
    images = [shown["image"] for shown in lease["images"]]
    return {
        "images": images,
        "groups": [image % 3 for image in images],
        "descriptions": ["round", "another", "third"],
        "elapsed_ms": 8_000,
        "trace": [{"t": 100 * n, "image": image} for n, image in enumerate(images)],
    }


def bearer(token: str, key: str = "") -> str:
    """Headers; key: of a request that is sent again."""
    again = f"Idempotency-Key: {key}\r\n" if key else ""
    return f"Authorization: Bearer {token}\r\n{again}"


def crowd_parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--address", action="append", required=True)
    parser.add_argument("--link", action="append", required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    return parser


def main() -> None:
    parser = crowd_parser(__doc__)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--claims", action="store_true")
    asked = parser.parse_args()
    crowd = Crowd(
        asked.address,
        asked.link,
        asked.people,
        asked.seconds,
        asked.pace,
        asked.images,
        asked.claims,
    )
    asyncio.run(crowd.work(Annotator))
    crowd.record.print()


if __name__ == "__main__":
    main()
