"""What tests of the Prolific channel share: the emulator as a market, orders, and a channel."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx

from app.recruitment.channel import PostingOrder, PostingRef, SubmissionRef
from app.recruitment.channels.prolific.client import Prolific
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.settings import ProlificSettings
from emulators.prolific.objects import Participant, Study
from emulators.prolific.server import Emulator, running
from emulators.prolific.world import World

PAGE = "https://likewise.example.org/a/prolific/abc"
ARRIVES = 30.0  # seconds from coming back with a code to AWAITING REVIEW
BONUS = 300.0  # seconds until a bonus is paid and shown
# Seconds that the client waits, more than a busy machine takes, and that a fault keeps it waiting.
PATIENCE, HANGS = 2.0, 4.0


class Market:
    """The emulator, as its people and as those who steer it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.http = httpx.Client(base_url=emulator.url, trust_env=False, timeout=60)
        self.tell("post", "/emulator/reset")

    @property
    def world(self) -> World:
        return self.emulator.state

    def tell(self, method: str, path: str, body: object = None) -> Any:
        reply = self.http.request(method, path, json=body)
        assert reply.is_success, reply.text
        return reply.json()

    def fails(self, *faults: Mapping[str, object]) -> None:
        self.tell("put", "/emulator/faults", list(faults))

    def later(self, seconds: float) -> None:
        self.tell("post", "/emulator/clock/advance", {"seconds": seconds})

    def people(self) -> list[Participant]:
        return list(self.world.participants.values())

    def starts(self, posting: PostingRef, person: Participant | None = None) -> SubmissionRef:
        """Somebody begins: the first who has not."""
        busy = {s.participant.id for s in self.world.of_study[posting.external_id]}
        participant = person or next(
            candidate for candidate in self.people() if candidate.id not in busy
        )
        body = {"participant": participant.id}
        begun = self.tell("post", f"/market/studies/{posting.external_id}/take-part", body)
        return SubmissionRef(posting, begun["submission_id"], participant.id)

    def comes_back(self, ref: SubmissionRef, code: str = "complete") -> SubmissionRef:
        body = {"code": ref.posting.details["codes"][code]}
        self.tell("post", f"/market/submissions/{ref.external_id}/complete", body)
        self.later(ARRIVES + 1)
        return ref

    def works(self, posting: PostingRef, person: Participant | None = None) -> SubmissionRef:
        return self.comes_back(self.starts(posting, person))

    def study(self, posting: PostingRef) -> Study:
        return self.world.studies[posting.external_id]

    def state(self, ref: SubmissionRef) -> str:
        return self.world.submissions[ref.external_id].status

    def paid(self, kind: str) -> dict[str, list[int]]:
        """What people got, by submission, from the journal."""
        amounts: dict[str, list[int]] = {}
        for entry in self.world.wallet.journal:
            if entry.kind == kind and entry.part == "money" and entry.submission:
                amounts.setdefault(entry.submission, []).append(-entry.amount)
        return amounts

    def asked(self, operation: str) -> int:
        return sum(call.operation == operation for call in self.world.calls)


@contextmanager
def served_market() -> Iterator[Emulator]:
    with running(submitted_seconds=ARRIVES, bonus_seconds=BONUS) as emulator:
        yield emulator


@contextmanager
def a_market(emulator: Emulator) -> Iterator[Market]:
    """Begins empty; at the end, the channel must not have broken a rule of the platform."""
    emulated = Market(emulator)
    yield emulated
    assert emulated.world.violations == []
    emulated.fails()
    emulated.http.close()


def channel_to(market: Market) -> Prolific:
    http = ProlificHttp(market.emulator.url, market.emulator.token, answer_seconds=PATIENCE)
    return Prolific(http)


def an_order(**changed: Any) -> PostingOrder:
    settings = ProlificSettings(minutes_estimated=10)
    order = PostingOrder(
        token="0f" * 16,
        title="Sort <small> pictures",
        description="Put pictures that look alike together.\nIt takes ten minutes & is fun.",
        url=PAGE,
        places=4,
        reward_cents=150,
        currency="GBP",
        settings=settings,
        campaign="c1",
    )
    return replace(order, **changed)


def posted(channel: Prolific, order: PostingOrder | None = None) -> PostingRef:
    order = order or an_order()
    external_id, details = channel.publish(order)
    return PostingRef(external_id, details, order.settings)
