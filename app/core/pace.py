"""While annotators are at work, one account's requests do not keep the server busy all the time.

A limit on requests at once (app/core/places.py) does not stop an account that sends the next as
soon as one is answered: the processors that annotators need are then never free. Each account has a
credit of some seconds, which its requests use up and which come back at SHARE of the time that
passes; an account without credit sends its requests one after another, with pauses. Nobody is
slowed while no annotator is at work. The computation is that of a leaky bucket (GCRA, ITU-T I.371,
annex A).
"""

import asyncio
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

# Seconds per second: a quarter of the processors, half of one at least.
SHARE = max(0.5, (os.cpu_count() or 1) / 4)
# The most that a request costs, so that one slow export does not close an account's other pages.
DEAREST_SECONDS = 2.0
# An annotator's page is heard of at least that often while somebody sorts images.
AT_WORK_SECONDS = 30.0
_REMEMBERED = 10_000
_seen_at = float("-inf")


def annotator_seen() -> None:
    """Note that a request of an annotator has come."""
    global _seen_at
    _seen_at = time.monotonic()


def annotators_at_work() -> bool:
    """Whether a request of an annotator came in the last AT_WORK_SECONDS."""
    return time.monotonic() - _seen_at < AT_WORK_SECONDS


class Pace:
    """The credit of each account.

    credit: seconds that an account may use at once; reserved: seconds that a request counts as
    until it has ended, about what one takes, so that those that wait begin one after another
    clock: in seconds; at_work: whether annotators are
    """

    def __init__(
        self,
        credit: float,
        reserved: float,
        clock: Callable[[], float] = time.monotonic,
        at_work: Callable[[], bool] = annotators_at_work,
    ) -> None:
        self._credit, self._reserved = credit, reserved
        self.clock = clock
        self._at_work = at_work
        # When an account's credit will be whole again.
        self._whole_at: OrderedDict[Hashable, float] = OrderedDict()

    def begin(self, holder: Hashable) -> "Use":
        """Reserve time for a request; the caller waits for `Use.turn` and calls `Use.end`."""
        now = self.clock()
        if not self._at_work():
            return Use(None, holder, now)
        whole_at = max(now, self._whole_at.get(holder, now))
        turn_at = max(now, whole_at - self._credit / SHARE)
        self._set(holder, whole_at + self._reserved / SHARE)
        return Use(self, holder, turn_at)

    def correct(self, holder: Hashable, seconds: float) -> None:
        """Count what a request took instead of what it had reserved."""
        if holder in self._whole_at:
            difference = min(seconds, DEAREST_SECONDS) - self._reserved
            self._set(holder, self._whole_at[holder] + difference / SHARE)

    def _set(self, holder: Hashable, whole_at: float) -> None:
        self._whole_at[holder] = whole_at
        self._whole_at.move_to_end(holder)
        if len(self._whole_at) > _REMEMBERED:
            self._whole_at.popitem(last=False)


class Use:
    """The time that one request takes, from its turn until its response begins."""

    def __init__(self, pace: Pace | None, holder: Hashable, turn_at: float) -> None:
        self._pace, self._holder, self.turn_at = pace, holder, turn_at

    @property
    def wait_seconds(self) -> float:
        """How long the request has to wait."""
        return 0.0 if self._pace is None else max(0.0, self.turn_at - self._pace.clock())

    async def turn(self) -> None:
        """Wait until the request may begin."""
        await asyncio.sleep(self.wait_seconds)

    def pause(self) -> None:
        """Count nothing until `restart`: what comes first takes as long as the client's network."""
        self.turn_at = math.inf

    def restart(self) -> None:
        """Count from now on only."""
        if self._pace is not None:
            self.turn_at = self._pace.clock()

    def end(self) -> None:
        """Count the time; further calls do nothing."""
        pace, self._pace = self._pace, None
        if pace is not None:
            pace.correct(self._holder, max(0.0, pace.clock() - self.turn_at))
