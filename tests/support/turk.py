"""What tests of the MTurk channel share: the emulator, a channel that speaks to it, its people."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest

from app.recruitment.channel import BonusOrder, PostingOrder, PostingRef, SubmissionRef
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.client import MTurkChannel
from app.recruitment.channels.mturk.settings import MTurkSettings
from app.recruitment.channels.mturk.sites import Site
from emulators.mturk import market
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.faults import CallFault, FaultRule, Faults, FaultSettings
from emulators.mturk.records import Hit, Worker
from emulators.mturk.server import Emulator, running
from testbed.settings import forget_settings

SECRET = "emulator-secret"
# Faults of replies that were lost, and of requests that were.
LOST: tuple[CallFault, ...] = ("error_after", "timeout_after")
STRUCK: tuple[CallFault, ...] = ("throttle", "error_before", "timeout_before", *LOST)


class Turk:
    """An emulated MTurk, and the channel that recruits on it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.state = emulator.state
        url = emulator.endpoint_url
        self.site = Site("custom", url, url, (url,))
        self.api = MTurkApi(self.site, "emulator", SECRET, "")
        self.channel = MTurkChannel(self.api, now=lambda: self.state.clock.now())

    def hurry(self, *, hours: float) -> None:
        """Hours later."""
        with self.state.lock:
            self.state.clock.advance(hours * 3600)
            market.settle(self.state)

    @contextmanager
    def fault(self, kind: CallFault, *operations: str, share: float = 1.0) -> Iterator[None]:
        """Calls of these operations go wrong, or of all."""
        rule = FaultRule(kind=kind, share=share, operations=list(operations) or None)
        self.state.faults = Faults(FaultSettings(calls=[rule], hold_seconds=0.01))
        try:
            yield
        finally:
            self.state.faults = Faults()

    def publish(self, places: int = 3, **changes: object) -> PostingRef:
        order = replace(an_order(places=places), **changes)  # type: ignore[arg-type]
        external_id, details = self.channel.publish(order)
        return PostingRef(external_id, details, order.settings)

    def hit(self, posting: PostingRef) -> Hit:
        return self.state.hits[posting.external_id]

    def worker(self, **traits: object) -> Worker:
        [worker] = add_workers(self.state, NewWorkers.model_validate(traits))
        return worker

    def work(self, posting: PostingRef, worker: Worker | None = None) -> SubmissionRef:
        """Somebody takes a place and hands in."""
        with self.state.lock:
            someone = worker or self.worker()
            assignment = market.accept(self.state, someone, self.hit(posting))
            market.submit(self.state, assignment, [("likewise", "done-1")])
        return SubmissionRef(posting, assignment.assignment_id, assignment.worker_id)

    def paid(self, kind: str) -> Decimal:
        return sum((entry.amount for entry in self.state.journal if entry.kind == kind), Decimal(0))

    def asked(self, operation: str) -> int:
        return sum(call["operation"] == operation for call in self.state.calls)


@contextmanager
def served_turk() -> Iterator[Turk]:
    """An emulator over HTTP, and the settings that lead to it."""
    with pytest.MonkeyPatch.context() as patch, running() as emulator:
        patch.setenv("DATABASE_URL", "postgresql+psycopg://unused")
        for name in ("REDIS_URL", "LIKEWISE_SECRET_KEY"):
            patch.setenv(name, "unused")
        patch.setenv("LIKEWISE_MTURK_ENDPOINT", emulator.endpoint_url)
        patch.setenv("LIKEWISE_MTURK_WORKER_SITE", emulator.endpoint_url)
        forget_settings()
        yield Turk(emulator)
    forget_settings()


@contextmanager
def emptied(turk: Turk) -> Iterator[Turk]:
    turk.state.reset()
    yield turk
    # Every request and every reply fitted botocore's shapes, patterns and limits.
    assert turk.state.violations == []


def an_order(
    token: str = "01a2" * 8,
    places: int = 3,
    settings: MTurkSettings | None = None,
    attempts: int = 1,
) -> PostingOrder:
    return PostingOrder(
        token=token,
        title="Group pictures",
        description="Which of them look alike?",
        url="http://127.0.0.1:9/a/mturk/link?from=mturk&x=1",
        places=places,
        reward_cents=55,
        currency="USD",
        settings=settings or MTurkSettings(),
        campaign="c0ffee",
        attempts=attempts,
    )


def a_bonus(ref: SubmissionRef, token: str = "f00d" * 8, cents: int = 30) -> BonusOrder:
    return BonusOrder(token, ref, cents, "USD", "Three grids more")
