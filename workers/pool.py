"""Threads of the dispatcher that do what is due (app/core/work.py): they send webhooks and talk to
the platforms that annotators come from.

These are not Celery tasks, because a training would delay them for as long as it takes, and the
tables of deliveries, calls and payments are already outboxes with the time at which each is due.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from app.recruitment.channel import ChannelError
from app.recruitment.steps import listen_once, poll_once, work_once
from app.webhooks.delivery import deliver_next

logger = logging.getLogger(__name__)
TICK_SECONDS = 1.0
PATIENCE_SECONDS = 10.0
Claimed = Callable[[], None]


@dataclass(frozen=True)
class Crew:
    """Threads for the same work. do_next: does one piece of it, and calls its argument when it has
    claimed the piece; returns False if none is due."""

    name: str
    threads: int
    do_next: Callable[[Claimed], bool]


CREWS = (
    Crew("webhooks", 6, deliver_next),
    Crew("recruiter", 4, work_once),
    Crew("recruiter-poll", 2, poll_once),
    Crew("recruiter-queue", 1, lambda _: listen_once()),
)


class Bell:
    """Calls one of those who wait, and again whenever a second has passed since the last call. A
    call while nobody waits is kept for the next who does; several count as one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._called = False
        self._next = time.monotonic() + TICK_SECONDS

    def ring(self) -> None:
        with self._condition:
            self._called = True
            self._condition.notify()

    def wait(self) -> None:
        with self._condition:
            while not self._called and (left := self._next - time.monotonic()) > 0:
                self._condition.wait(left)
            self._called = False
            self._next = time.monotonic() + TICK_SECONDS


class Pool:
    """Works until `stopping` is set.

    One thread of each crew checks what is due, once a second or when woken. When it has claimed
    something, it calls a colleague, who checks whether there is more. If all of them checked,
    thirteen threads without work would cost a twelfth of a core.
    """

    def __init__(self, stopping: threading.Event, crews: Sequence[Crew] = CREWS) -> None:
        self._stopping = stopping
        self._bells = {crew: Bell() for crew in crews}

    def start(self) -> None:
        """The threads are daemons: work that is cut off is repeated by the next dispatcher."""
        for crew in self._bells:
            for number in range(crew.threads):
                name = f"{crew.name}-{number}"
                threading.Thread(target=self._run, args=(crew,), name=name, daemon=True).start()

    def wake(self) -> None:
        """Let one idle thread of each crew check what is due."""
        for bell in self._bells.values():
            bell.ring()

    def _run(self, crew: Crew) -> None:
        while not self._stopping.is_set():
            self._work(crew)
            self._bells[crew].wait()

    def _work(self, crew: Crew) -> None:
        """Do what is due until nothing is."""
        try:
            while not self._stopping.is_set() and crew.do_next(self._bells[crew].ring):
                continue
        except DBAPIError as error:
            logger.warning("%s: waiting for the database: %s", crew.name, error)
        except ChannelError as error:
            logger.warning("%s: could not reach a platform: %s", crew.name, error)
            self._stopping.wait(PATIENCE_SECONDS)
        except Exception:
            # The claim will expire, and then it is tried again.
            logger.exception("%s: work failed", crew.name)
