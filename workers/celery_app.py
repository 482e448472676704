"""The Celery application.

PostgreSQL is the record of work (see `app/jobs`), so messages may be lost or doubled: they are
acknowledged early, carry a job id alone, and no result is kept.
"""

from celery import Celery
from celery.signals import celeryd_init, setup_logging

from app.collections.discards import DISCARD_TASK
from app.collections.imports import IMPORT_TASK
from app.core.logs import begin_log, log_the_uncaught
from app.core.settings import get_settings
from app.jobs.service import DRY_RUN_TASK

celery = Celery("likewise", broker=get_settings().redis_url, include=["workers.tasks"])
celery.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,
    # A worker that is told no queue works for both; `likewise up` has one worker for each, so that
    # nobody's import waits for somebody's training.
    task_queues={"learning": {}, "files": {}},
    task_default_queue="learning",
    task_routes={
        # A dry run must not keep a running campaign waiting for its model.
        DRY_RUN_TASK: {"queue": "files"},
        IMPORT_TASK: {"queue": "files"},
        DISCARD_TASK: {"queue": "files"},
    },
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    # A Valkey without memory, or whose disk is full, answers and refuses: a worker waits for that
    # to end as it waits for a connection, in place of ending itself.
    broker_channel_error_retry=True,
    worker_consumer="workers.consumer:PatientConsumer",
    broker_transport_options={
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        # A connection that the network has forgotten is silent for ever. The dispatcher gives up
        # waiting after so long; a worker, whose wait for work is asked again every second, when
        # it has missed two of these checks.
        "socket_timeout": 10,
        "health_check_interval": 10,
    },
)


# The first comes before anything is said; whoever listens to the second keeps Celery from setting
# up its own.
@celeryd_init.connect  # type: ignore[untyped-decorator]  # Celery ships no types
@setup_logging.connect  # type: ignore[untyped-decorator]
def _begin_log(**_: object) -> None:
    begin_log("worker")
    log_the_uncaught()
