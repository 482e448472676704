"""When those who wait for a grid ask again.

Hundreds may wait for the same round, and a request that finds nothing costs as much as one that
does: asking every other second, they would keep the server busy that the round is waiting for.
"""

import threading
import time
from math import ceil
from uuid import UUID

# A page asks again after as long, if not many do.
WAIT_SECONDS = 2
# Of one campaign and web server: as many as hundreds at work ask for grids anyway. Once there are
# grids again, all who waited begin at this pace, and save and submit at it, too.
ASKED_PER_SECOND = 10.0
LONGEST_SECONDS = 30
KEPT = 1000


class Turns:
    """Moments at which to ask again, each for one, by campaign."""

    def __init__(self, per_second: float = ASKED_PER_SECOND) -> None:
        self._gap = 1 / per_second
        self._next: dict[UUID, float] = {}
        self._lock = threading.Lock()

    def seconds_until(self, campaign_id: UUID, now: float | None = None) -> int:
        """How long the next one waits; now: seconds of the monotonic clock."""
        now = time.monotonic() if now is None else now
        with self._lock:
            if len(self._next) > KEPT:
                self._next = {one: turn for one, turn in self._next.items() if turn > now}
            turn = max(self._next.get(campaign_id, 0.0), now + WAIT_SECONDS)
            turn = min(turn, now + LONGEST_SECONDS)
            self._next[campaign_id] = turn + self._gap
        return min(ceil(turn - now), LONGEST_SECONDS)


turns = Turns()
