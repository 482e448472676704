"""A crowd that does what people and networks do: `python -m bench.load.careless`.

Some send each answer twice at once with the same key, some have two tabs open, some leave for good
in the middle of a grid, and some answer after their lease has run out. Ends when there are no more
grids. Prints JSON: also what the server acknowledged, and replies that no law allows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.load.clients import API, Annotator, Crowd, answer_to, bearer, crowd_parser
from bench.load.connections import Connection

# Of one lease: lease, images, groups, reply's status, key.
Acknowledged = tuple[str, list[int], list[int], str, str]
# A lease is left, or outlived, this often by those who do.
SHARE = 0.05


@dataclass
class Ledger:
    """What all people of the crowd noted. counts: how often somebody did what by name."""

    lease_seconds: float
    acknowledged: list[Acknowledged] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1


class Careful(Annotator):
    """Notes what was acknowledged, and goes on with the grid that an answer brings."""

    ledger: Ledger
    goes_on = True

    def end(self, status: str) -> None:
        if status != "done":
            self.ledger.violations.append(f"an annotator got {status}")

    async def answer(self, lease: dict[str, Any]) -> None:
        status, reply = await self.submit(self.connection, lease, key=lease["id"])
        self._expect(status, {200}, lease, reply)
        self.note(lease, reply, key=lease["id"])
        self.keep_next(reply)

    async def submit(
        self, connection: Connection, lease: dict[str, Any], key: str
    ) -> tuple[int, dict[str, Any]]:
        path = f"{API}/leases/{lease['id']}/answer"
        headers = bearer(self.token, key)
        body = {**answer_to(lease), "next": self.goes_on}
        status, content = await connection.call("submit", "POST", path, body, headers)
        return status, orjson.loads(content)

    def _expect(
        self, status: int, allowed: set[int], lease: dict[str, Any], reply: dict[str, Any]
    ) -> None:
        if status not in allowed:
            self.ledger.violations.append(f"answer to {lease['id']}: {status} {reply}")

    def note(self, lease: dict[str, Any], reply: dict[str, Any], key: str) -> None:
        if "answered" in reply:
            body = answer_to(lease)
            entry = (lease["id"], body["images"], body["groups"], reply["status"], key)
            self.ledger.acknowledged.append(entry)


class Repeating(Careful):
    """Sends each answer twice at once, and a third time later."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        super().__init__(crowd, number)
        self.other = self.another_connection()

    async def answer(self, lease: dict[str, Any]) -> None:
        key = lease["id"]
        both = await asyncio.gather(
            self.submit(self.connection, lease, key), self.submit(self.other, lease, key)
        )
        later = await self.submit(self.other, lease, key)
        for status, reply in (*both, later):
            self._expect(status, {200}, lease, reply)
            if reply.get("status") != later[1].get("status"):
                self.ledger.violations.append(f"two replies to {key}: {reply} and {later[1]}")
        self.note(lease, later[1], key)
        self.ledger.count("repeated")


class TwoTabs(Repeating):
    """Asks and answers in two tabs at once, each with a key of its own."""

    async def answer(self, lease: dict[str, Any]) -> None:
        tabs = await asyncio.gather(self.claim(self.connection), self.claim(self.other))
        leases = {tab["lease"]["id"] for tab in tabs if tab["status"] == "leased"}
        if leases - {lease["id"]}:
            self.ledger.violations.append(f"two leases in two tabs: {leases} and {lease['id']}")
        keys = [f"{lease['id']}-{tab}" for tab in (1, 2)]
        replies = await asyncio.gather(
            self.submit(self.connection, lease, keys[0]), self.submit(self.other, lease, keys[1])
        )
        if sorted(status for status, _ in replies) != [200, 409]:
            self.ledger.violations.append(f"two tabs answered {lease['id']}: {replies}")
        for key, (_, reply) in zip(keys, replies, strict=True):
            self.note(lease, reply, key)
        self.ledger.count("tabs")


class Claiming(Careful):
    """Leases each grid by itself."""

    goes_on = False


class Leaving(Careful):
    """Now and then leaves for good, and another person comes."""

    async def answer(self, lease: dict[str, Any]) -> None:
        if self.chance.random() >= SHARE:
            await super().answer(lease)
            return
        self.ledger.count("left")
        await self.come_as_another()


class Late(Careful):
    """Now and then answers after the lease has run out."""

    async def answer(self, lease: dict[str, Any]) -> None:
        if self.chance.random() < SHARE:
            self.ledger.count("late")
            await asyncio.sleep(self.ledger.lease_seconds + 1)
        await super().answer(lease)


KINDS = (Repeating, TwoTabs, Leaving, Late, Claiming, *[Careful] * 3)


def main() -> None:
    parser = crowd_parser(__doc__)
    parser.add_argument("--lease-seconds", type=float, required=True)
    asked = parser.parse_args()
    ledger = Ledger(asked.lease_seconds)

    def person(crowd: Crowd, number: int) -> Annotator:
        annotator = KINDS[number % len(KINDS)](crowd, number)
        annotator.ledger = ledger
        return annotator

    crowd = Crowd(asked.address, asked.link, asked.people, asked.seconds)
    asyncio.run(crowd.work(person))
    crowd.record.print(
        acknowledged=ledger.acknowledged, violations=ledger.violations, counts=ledger.counts
    )


if __name__ == "__main__":
    main()
