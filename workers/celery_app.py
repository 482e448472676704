"""The Celery application.

PostgreSQL is the record of work (see `app/jobs`), so messages may be lost or doubled: they are
acknowledged early, carry a job id alone, and no result is kept.
"""

from celery import Celery

from app.core.settings import get_settings

celery = Celery("likewise", broker=get_settings().redis_url, include=["workers.tasks"])
celery.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=False,
    task_default_queue="learning",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_connect_timeout": 5, "socket_keepalive": True},
)
