"""How workers wait for a Valkey that cannot be had, or takes nothing."""

import time

from celery.worker.consumer import Consumer

PAUSE_SECONDS = 2.0


class PatientConsumer(Consumer):  # type: ignore[misc]  # Celery ships no types
    """Connects again after a pause where Valkey answers and refuses.

    Celery pauses by itself where nobody answers, and asks five times a second otherwise, with an
    error and a traceback in the log: these would fill what is left of a full disk.
    """

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        super().on_connection_error_before_connected(exc)
        time.sleep(PAUSE_SECONDS)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        super().on_connection_error_after_connected(exc)
        if isinstance(exc, self.channel_errors):
            time.sleep(PAUSE_SECONDS)
