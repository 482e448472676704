"""The Celery application.

PostgreSQL is the record of work (see `app/jobs`), so messages may be lost or duplicated: they are
acknowledged early, contain only a job id, and no result is kept.
"""

from celery import Celery
from celery.signals import celeryd_init, setup_logging

from app.alignments.service import ALIGN_TASK
from app.collections.garbage import DISCARD_TASK
from app.collections.imports import IMPORT_TASK
from app.core.logs import begin_log, log_the_uncaught
from app.core.settings import get_settings
from app.features.sets import FEATURES_TASK
from app.jobs.queues import FILES, LEARNING, QUEUES
from app.jobs.service import CHOOSE_TASK, DRY_RUN_TASK, SIMULATE_TASK, SPLIT_HALF_TASK

celery = Celery("likewise", broker=get_settings().redis_url, include=["workers.tasks"])
celery.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,
    # A worker that is started without a queue serves all. `likewise up` has one worker for
    # trainings and one for files, so that no import waits for another account's training.
    task_queues={name: {} for name in QUEUES},
    # The dispatcher names the queue of trainings for workers with a GPU (workers/queues.py).
    task_default_queue=LEARNING,
    task_routes={
        # A dry run must not delay the model of a running campaign.
        DRY_RUN_TASK: {"queue": FILES},
        CHOOSE_TASK: {"queue": FILES},
        SIMULATE_TASK: {"queue": FILES},
        SPLIT_HALF_TASK: {"queue": FILES},
        IMPORT_TASK: {"queue": FILES},
        FEATURES_TASK: {"queue": FILES},
        ALIGN_TASK: {"queue": FILES},
        DISCARD_TASK: {"queue": FILES},
    },
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    # If Valkey is out of memory or its disk is full, it responds and refuses. A worker waits for
    # that to end as it waits for a connection, instead of exiting.
    broker_channel_error_retry=True,
    worker_consumer="workers.consumer:PatientConsumer",
    broker_transport_options={
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        # A connection that the network has dropped stays silent forever. The dispatcher gives up
        # waiting after this time. A worker asks for work every second, and gives up when it has
        # missed two of these checks.
        "socket_timeout": 10,
        "health_check_interval": 10,
    },
)


# The first signal comes before anything is logged; a listener to the second keeps Celery from
# setting up its own logging.
@celeryd_init.connect  # type: ignore[untyped-decorator]  # Celery ships no types
@setup_logging.connect  # type: ignore[untyped-decorator]
def _begin_log(**_: object) -> None:
    begin_log("worker")
    log_the_uncaught()
