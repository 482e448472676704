"""Virtual time, which is real time plus skipped time, and work that is scheduled in it."""

import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime

Work = Callable[[], None]


class Clock:
    """`later` schedules work, `run_due` does the work that is due, `advance` skips time.

    Nothing is done in between, and nothing here is locked.
    """

    def __init__(self) -> None:
        self._skipped = 0.0
        self._planned: list[tuple[float, int, Work]] = []
        self._numbers = itertools.count()

    def seconds(self) -> float:
        """Virtual seconds since 1970."""
        return time.time() + self._skipped

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds(), UTC)

    def later(self, seconds: float, work: Work) -> None:
        """Do `work` after this many virtual seconds, or immediately if the number is 0."""
        if seconds <= 0:
            work()
            return
        heapq.heappush(self._planned, (self.seconds() + seconds, next(self._numbers), work))

    def run_due(self) -> None:
        while self._planned and self._planned[0][0] <= self.seconds():
            heapq.heappop(self._planned)[2]()

    def advance(self, seconds: float) -> datetime:
        """Skip time, and stop at each moment at which work is due; returns the time. Raises
        ValueError for a time before now, OverflowError for one that no calendar has."""
        if seconds < 0:
            raise ValueError("The clock cannot be set back.")
        end = self.seconds() + seconds
        _check(end)
        while self._planned and self._planned[0][0] <= end:
            self._skipped += max(0.0, self._planned[0][0] - self.seconds())
            self.run_due()
        self._skipped += max(0.0, end - self.seconds())
        return self.now()


def _check(seconds: float) -> None:
    try:
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OSError) as error:
        raise OverflowError("That is too far in the future.") from error
