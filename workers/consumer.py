"""Makes workers wait for a Valkey that is unreachable or refuses writes."""

import time

from celery.worker.consumer import Consumer

PAUSE_SECONDS = 2.0


class PatientConsumer(Consumer):  # type: ignore[misc]  # Celery ships no types
    """Reconnects after a pause if Valkey responds and refuses.

    Celery itself pauses if Valkey does not respond. Otherwise it retries five times a second, with
    an error and a traceback in the log, which would fill what is left of a full disk.
    """

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        super().on_connection_error_before_connected(exc)
        time.sleep(PAUSE_SECONDS)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        super().on_connection_error_after_connected(exc)
        if isinstance(exc, self.channel_errors):
            time.sleep(PAUSE_SECONDS)
