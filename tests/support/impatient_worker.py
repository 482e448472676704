"""The Celery application whose unacknowledged messages are delivered again after seconds.

Kombu's default is an hour, which no test waits for.
"""

import os

from workers.celery_app import celery

__all__ = ["VISIBILITY", "celery"]

VISIBILITY = "LIKEWISE_TEST_VISIBILITY_SECONDS"

celery.conf.broker_transport_options = {
    **celery.conf.broker_transport_options,
    "visibility_timeout": float(os.environ[VISIBILITY]),
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}
