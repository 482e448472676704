"""When annotators who wait for a grid should ask again.

Hundreds of people may wait for the same round, and a request that finds nothing costs as much as
one that finds a grid. If they all asked every two seconds, they would slow down the server on which
the round depends.
"""

import threading
import time
from math import ceil
from uuid import UUID

# A page asks again after this time, if not many pages do.
WAIT_SECONDS = 2
# The limit for one campaign and web server: as many requests as hundreds of people at work make
# anyway. Once there are grids again, everyone who waited starts at this pace, and saves and submits
# at it as well.
ASKED_PER_SECOND = 10.0
LONGEST_SECONDS = 30
KEPT = 1000


class Turns:
    """Times at which to ask again, one per assignment, by campaign. An assignment that asks before
    its time keeps its time, because a page that does not wait would otherwise delay all others."""

    def __init__(self, per_second: float = ASKED_PER_SECOND) -> None:
        self._gap = 1 / per_second
        self._next: dict[UUID, float] = {}
        self._given: dict[UUID, float] = {}
        self._lock = threading.Lock()

    def seconds_until(
        self, campaign_id: UUID, assignment_id: UUID, now: float | None = None
    ) -> int:
        """Return how long an assignment of the campaign should wait. `now` is in seconds of the
        monotonic clock."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._next, self._given = _kept(self._next, now), _kept(self._given, now)
            turn = self._given.get(assignment_id, now)
            if turn <= now:
                turn = max(self._next.get(campaign_id, now), now + WAIT_SECONDS)
                turn = min(turn, now + LONGEST_SECONDS)
                self._next[campaign_id] = turn + self._gap
                self._given[assignment_id] = turn
        return min(ceil(turn - now), LONGEST_SECONDS)


def _kept(turns_by_id: dict[UUID, float], now: float) -> dict[UUID, float]:
    """Remove times that have passed, once there are many."""
    if len(turns_by_id) <= KEPT:
        return turns_by_id
    return {key: turn for key, turn in turns_by_id.items() if turn > now}


turns = Turns()
