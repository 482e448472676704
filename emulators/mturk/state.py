"""The emulator's whole state, in memory and protected by one lock."""

import heapq
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from random import Random
from string import ascii_uppercase, digits
from threading import RLock

from emulators.kit.clock import Clock
from emulators.mturk.faults import Faults
from emulators.mturk.records import (
    Assignment,
    Bonus,
    Grant,
    Hit,
    HitType,
    JournalEntry,
    QualificationType,
    Requester,
    Worker,
)
from emulators.mturk.shapes import Document

_LETTERS = digits + ascii_uppercase
# The number of calls and messages that are kept for inspection.
_KEPT = 20_000


@dataclass(frozen=True)
class Options:
    allow_http: bool = False
    # access key → secret; the first is the one that documents and tests use.
    accounts: dict[str, str] = field(default_factory=lambda: {"emulator": "emulator-secret"})
    balance: Decimal = Decimal(10_000)  # what the real sandbox always shows
    # Origin of the worker site as browsers see it; None uses the origin of each request.
    worker_site: str | None = None
    seed: int = 0


@dataclass
class Message:
    """A message in a queue, which is hidden until `visible` while a reader handles it."""

    message_id: str
    body: str
    sent: datetime
    visible: datetime
    receipt: str = ""
    received: int = 0


class State:
    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.lock = RLock()
        self.reset()

    def reset(self) -> None:
        """Delete everything except the options."""
        options = self.options
        self._random = Random(options.seed)
        self.clock = Clock()
        self.faults = Faults()
        self.hit_types: dict[str, HitType] = {}
        self.hits: dict[str, Hit] = {}
        self.assignments: dict[str, Assignment] = {}  # the current assignment of each id
        self.workers: dict[str, Worker] = {}
        self.qualification_types: dict[str, QualificationType] = {}
        self.grants: dict[tuple[str, str], Grant] = {}  # by (type, worker)
        self.bonuses: list[Bonus] = []
        self.journal: list[JournalEntry] = []
        self.queues: dict[str, list[Message]] = {}  # by name
        # (requester, operation, token) → (when, what a repeat's error names)
        self.tokens: dict[tuple[str, str, str], tuple[datetime, str]] = {}
        self.calls: deque[Document] = deque(maxlen=_KEPT)
        self.letters: deque[Document] = deque(maxlen=_KEPT)  # NotifyWorkers
        self.violations: list[Document] = []
        self.agenda: list[tuple[datetime, int, str, str]] = []
        self._turn = 0
        self.requesters = {
            key: Requester(key, secret, self.worker_id(), options.balance)
            for key, secret in options.accounts.items()
        }

    def new_id(self) -> str:
        return "3" + "".join(self._random.choices(_LETTERS, k=29))

    def worker_id(self) -> str:
        """A new id for a worker or requester."""
        return "A" + "".join(self._random.choices(_LETTERS, k=13))

    def plan(self, at: datetime, what: str, identifier: str) -> None:
        """Schedule work; market.settle checks whether it is still valid when it is due."""
        self._turn += 1
        heapq.heappush(self.agenda, (at, self._turn, what, identifier))
