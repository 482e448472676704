"""Threads of the dispatcher that send webhooks.

These are not Celery tasks, because a training would delay them for as long as it takes, and the
table of deliveries is already an outbox with the time at which each is due.
"""

import logging
import threading

from sqlalchemy.exc import DBAPIError

from app.webhooks.delivery import deliver_next

logger = logging.getLogger(__name__)
THREADS = 6
TICK_SECONDS = 1.0


class Deliverer:
    """Sends due deliveries until `stopping` is set; checks once a second, or when woken."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._news = threading.Condition()

    def start(self) -> None:
        """The threads are daemons: an attempt that is cut off is repeated by the next
        dispatcher."""
        for number in range(THREADS):
            name = f"webhooks-{number}"
            threading.Thread(target=self._run, name=name, daemon=True).start()

    def wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                while not self._stopping.is_set() and deliver_next():
                    continue
            except DBAPIError as error:
                logger.warning("webhooks are waiting for the database: %s", error)
            except Exception:
                # The delivery's claim will expire, and then it is tried again.
                logger.exception("could not send a webhook")
            with self._news:
                self._news.wait(TICK_SECONDS)
