"""Threads of the dispatcher that talk to the platforms that annotators come from.

These are not Celery tasks, for the same reasons as the deliverer: a training would delay them, and
the tables of calls and payments are already outboxes.
"""

import logging
import threading
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError

from app.recruitment.channel import ChannelError
from app.recruitment.steps import listen_once, poll_once, work_once

logger = logging.getLogger(__name__)
WORKING, POLLING, LISTENING = 4, 2, 1
TICK_SECONDS = 1.0
PATIENCE_SECONDS = 10.0


class Recruiter:
    """Makes due requests until `stopping` is set; checks once a second, or when woken."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._news = threading.Condition()

    def start(self) -> None:
        """The threads are daemons: a request that is cut off is repeated by the next dispatcher."""
        for name, count, once in (
            ("recruiter", WORKING, work_once),
            ("recruiter-poll", POLLING, poll_once),
            ("recruiter-queue", LISTENING, listen_once),
        ):
            for number in range(count):
                threading.Thread(
                    target=self._run, args=(once,), name=f"{name}-{number}", daemon=True
                ).start()

    def wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def _run(self, once: Callable[[], bool]) -> None:
        while not self._stopping.is_set():
            try:
                while not self._stopping.is_set() and once():
                    continue
            except DBAPIError as error:
                logger.warning("recruiting is waiting for the database: %s", error)
            except ChannelError as error:
                logger.warning("could not reach a platform: %s", error)
                self._stopping.wait(PATIENCE_SECONDS)
            except Exception:
                # The claim will expire, and then it is tried again.
                logger.exception("a request to a platform failed")
            with self._news:
                self._news.wait(TICK_SECONDS)
