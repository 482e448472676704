"""The dispatcher's threads: one of a crew checks what is due, and calls others if there is more."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from testbed.system import wait_until
from workers import pool as pools
from workers.pool import Claimed, Crew, Pool


@dataclass
class Work:
    """Pieces of work that take until `let_go`. checks: how often somebody looked for a piece."""

    pieces: int = 0
    checks: int = 0
    under_way: int = 0
    failures: int = 0
    let_go: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def do_next(self, claimed: Claimed) -> bool:
        with self.lock:
            self.checks += 1
            if self.failures:
                self.failures -= 1
                raise RuntimeError("lost")
            if not self.pieces:
                return False
            self.pieces -= 1
            self.under_way += 1
        claimed()
        self.let_go.wait()
        with self.lock:
            self.under_way -= 1
        return True


@contextmanager
def at_work(*crews: Crew) -> Iterator[Pool]:
    """Run threads that nothing but a call wakes."""
    stopping = threading.Event()
    pool = Pool(stopping, crews)
    pool.start()
    try:
        yield pool
    finally:
        stopping.set()
        wait_until("the end of all threads", partial(have_ended, pool, crews))


def have_ended(pool: Pool, crews: tuple[Crew, ...]) -> bool:
    pool.wake()
    beginnings = tuple(f"{crew.name}-" for crew in crews)
    return not any(thread.name.startswith(beginnings) for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "TICK_SECONDS", 3600.0)


def test_a_wake_makes_one_thread_of_each_crew_check() -> None:
    first, second = Work(), Work()
    with at_work(Crew("first", 5, first.do_next), Crew("second", 1, second.do_next)) as pool:
        wait_until("everybody is idle", lambda: (first.checks, second.checks) == (5, 1))
        for _ in range(20):
            checks = first.checks + 1, second.checks + 1
            pool.wake()
            wait_until("the checks", partial(has_checks, checks, first, second))


def has_checks(expected: tuple[int, ...], *works: Work) -> bool:
    return tuple(work.checks for work in works) == expected


def test_one_wake_is_enough_for_as_much_work_as_there_are_threads() -> None:
    work = Work()
    with at_work(Crew("senders", 4, work.do_next)) as pool:
        wait_until("everybody is idle", lambda: work.checks == 4)
        with work.lock:
            work.pieces = 6
        pool.wake()
        try:
            wait_until("all threads are at work", lambda: work.under_way == 4)
            assert work.pieces == 2
        finally:
            work.let_go.set()
        wait_until("the rest", lambda: (work.pieces, work.under_way) == (0, 0))


def test_work_that_fails_ends_no_thread() -> None:
    work = Work(failures=9)
    work.let_go.set()
    with at_work(Crew("senders", 3, work.do_next)) as pool:
        wait_until("everybody is idle", lambda: work.failures == 6)
        while work.failures:
            checks = work.checks + 1
            pool.wake()
            wait_until("a failure", partial(has_checks, (checks,), work))
        work.pieces = 2
        pool.wake()
        wait_until("the work", lambda: (work.pieces, work.under_way) == (0, 0))


def test_without_a_wake_all_idle_threads_together_check_once_a_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "TICK_SECONDS", 0.05)
    work, began = Work(), time.monotonic()
    with at_work(Crew("senders", 5, work.do_next)):
        wait_until("some checks", lambda: work.checks >= 30)
        checks = work.checks
        ticks = (time.monotonic() - began) / 0.05
    # Each thread has checked at its start.
    assert checks <= 5 + ticks
