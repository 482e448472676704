"""A pool of threads that no account has for itself.

Work that is done in threads of the dispatcher waits for other people's servers. Those of one
account may be slow, and its work may be much: each account has a share of the threads at once.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar
from uuid import UUID


class OfAccount(Protocol):
    """Claimed work that says whose it is."""

    @property
    def account_id(self) -> UUID: ...


Work = TypeVar("Work", bound=OfAccount)


class Shares:
    """Counts the work of each account that threads of this process do at the moment.

    most: pieces of work of one account at once
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def claimed(self, claim: Callable[[Collection[UUID]], Work | None]) -> Iterator[Work | None]:
        """What `claim` takes, given the accounts it must pass over, counted during the block."""
        # One at a time: two that look at once would both find room.
        with self._lock:
            work = claim([one for one, n in self._under_way.items() if n >= self._most])
            if work is not None:
                self._under_way[work.account_id] += 1
        try:
            yield work
        finally:
            if work is not None:
                self._end(work.account_id)

    def _end(self, account_id: UUID) -> None:
        with self._lock:
            self._under_way[account_id] -= 1
            if not self._under_way[account_id]:
                del self._under_way[account_id]
