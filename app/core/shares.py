"""A pool of threads that no account can occupy alone.

Threads of the dispatcher wait for other people's servers. The servers of one account may be slow
and its work may be much, so each account has a maximum number of threads.
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar
from uuid import UUID


class OfAccount(Protocol):
    """Claimed work that knows its account."""

    @property
    def account_id(self) -> UUID: ...


Work = TypeVar("Work", bound=OfAccount)


class Shares:
    """Counts the work that threads of this process currently do for each account.

    most: maximum pieces of work of one account at once
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def claimed(self, claim: Callable[[Collection[UUID]], Work | None]) -> Iterator[Work | None]:
        """Claim work with `claim`, which gets the accounts to skip, and count it during the
        block."""
        # Only one thread claims at a time; two at once would both find room.
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
