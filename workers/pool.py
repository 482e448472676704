"""Threads of the dispatcher that do what is due (app/core/work.py): they send webhooks and talk to
the platforms that annotators come from.

These are not Celery tasks, because a training would delay them for as long as it takes, and the
tables of deliveries, calls and payments are already outboxes with the time at which each is due.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from app.recruitment.channel import ChannelError
from app.recruitment.steps import listen_once, poll_once, work_once
from app.webhooks.delivery import deliver_next

logger = logging.getLogger(__name__)
TICK_SECONDS = 1.0
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Crew:
    """Threads for the same work. do_next: does one piece of it; returns False if none is due."""

    name: str
    threads: int
    do_next: Callable[[], bool]


CREWS = (
    Crew("webhooks", 6, deliver_next),
    Crew("recruiter", 4, work_once),
    Crew("recruiter-poll", 2, poll_once),
    Crew("recruiter-queue", 1, listen_once),
)


class Pool:
    """Works until `stopping` is set; checks what is due once a second, or when woken."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._news = threading.Condition()

    def start(self) -> None:
        """The threads are daemons: work that is cut off is repeated by the next dispatcher."""
        for crew in CREWS:
            for number in range(crew.threads):
                name = f"{crew.name}-{number}"
                threading.Thread(target=self._run, args=(crew,), name=name, daemon=True).start()

    def wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def _run(self, crew: Crew) -> None:
        while not self._stopping.is_set():
            try:
                while not self._stopping.is_set() and crew.do_next():
                    continue
            except DBAPIError as error:
                logger.warning("%s: waiting for the database: %s", crew.name, error)
            except ChannelError as error:
                logger.warning("%s: could not reach a platform: %s", crew.name, error)
                self._stopping.wait(PATIENCE_SECONDS)
            except Exception:
                # The claim will expire, and then it is tried again.
                logger.exception("%s: work failed", crew.name)
            with self._news:
                self._news.wait(TICK_SECONDS)
