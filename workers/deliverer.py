"""Threads of the dispatcher that send webhooks.

Not Celery tasks: a training would hold them up for as long as it takes, and the table of
deliveries is an outbox already, with the time at which each is due.
"""

import logging
import threading

from sqlalchemy.exc import DBAPIError

from app.webhooks.delivery import deliver_next

logger = logging.getLogger(__name__)
THREADS = 6
TICK_SECONDS = 1.0


class Deliverer:
    """Sends what is due until `stopping` is set; looks once a second, or when woken."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._news = threading.Condition()

    def start(self) -> None:
        """Daemon threads: an attempt that is cut off is made again by the next dispatcher."""
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
                # The delivery's claim runs out, and it is tried again.
                logger.exception("could not send a webhook")
            with self._news:
                self._news.wait(TICK_SECONDS)
