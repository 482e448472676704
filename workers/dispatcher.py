"""The dispatcher: hands outbox messages to Celery, queues again what was lost, sends webhooks,
speaks to the platforms that annotators come from.

`python -m workers.dispatcher`. Any number may run; rows are taken with SKIP LOCKED. Woken by
PostgreSQL's NOTIFY, and once a second without it.
"""

import logging
import signal
import threading
import time
from types import FrameType

import psycopg
from celery.exceptions import CeleryError
from kombu.exceptions import KombuError, OperationalError
from redis.exceptions import RedisError
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from app.accounts.sessions import forget_old_sessions
from app.collections.discards import request_removal
from app.collections.imports import requeue_lost_imports
from app.core.database import transaction
from app.core.idempotency import forget_old_replies
from app.core.logs import begin_log, log_the_uncaught
from app.core.outbox import NOTIFY_CHANNEL, OutboxMessage
from app.core.settings import get_settings
from app.jobs.service import requeue_lost_jobs
from app.operations.violations import forget_old_violations
from app.recruitment.erasure import forget_old
from app.webhooks.delivery import forget_old_deliveries
from workers.celery_app import celery
from workers.deliverer import Deliverer
from workers.recruiter import Recruiter

logger = logging.getLogger("workers.dispatcher")
TICK_SECONDS = 1.0
SWEEP_SECONDS = 5.0
RETENTION_SECONDS = 600.0
BROKER_ERRORS = (OperationalError, KombuError, RedisError, CeleryError, OSError)


def relay_messages(limit: int = 100) -> int:
    """Send waiting messages to Celery; returns how many. A broker error rolls all of them back.

    Sent, then marked: a crash between the two sends a message twice, which is harmless because a
    job is claimed by a conditional update.
    """
    with transaction() as session:
        waiting = session.scalars(
            select(OutboxMessage)
            .where(OutboxMessage.dispatched_at.is_(None))
            .order_by(OutboxMessage.id)
            .limit(limit)
            .with_for_update(skip_locked=True)
        ).all()
        for message in waiting:
            celery.send_task(
                message.task, kwargs=message.arguments, retry=False, ignore_result=True
            )
            message.dispatched_at = func.clock_timestamp()
        return len(waiting)


def sweep() -> None:
    """Queue again jobs and imports that lost their worker or their message; forget what is
    outdated, and have objects of deleted images removed."""
    with transaction() as session:
        queued = requeue_lost_jobs(session) + requeue_lost_imports(session)
        forget_old_replies(session)
        forget_old_deliveries(session)
        request_removal(session)
    if queued:
        logger.info("queued %d lost jobs again", queued)


def forget() -> None:
    """Forget who people of campaigns that ended long ago were, and what is outdated."""
    with transaction() as session:
        people = forget_old(session)
        forget_old_violations(session)
        forget_old_sessions(session)
    if people:
        logger.info("forgot who %d people were, as their campaigns ended long ago", people)


class Dispatcher:
    """The loop around `relay_messages` and `sweep`; survives restarts of both servers."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._deliverer = Deliverer(self.stopping)
        self._recruiter = Recruiter(self.stopping)
        self._swept = self._forgot = -RETENTION_SECONDS

    def run(self) -> None:
        self._deliverer.start()
        self._recruiter.start()
        while not self.stopping.is_set():
            try:
                self._listen()
            except (psycopg.Error, DBAPIError) as error:
                logger.warning("database not reachable, trying again: %s", error)
                self.stopping.wait(TICK_SECONDS)

    def _listen(self) -> None:
        url = get_settings().database_url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"LISTEN {NOTIFY_CHANNEL}")
            while not self.stopping.is_set():
                self._tick()
                for _ in connection.notifies(timeout=TICK_SECONDS, stop_after=1):
                    pass

    def _tick(self) -> None:
        self._deliverer.wake()
        self._recruiter.wake()
        if time.monotonic() - self._swept > SWEEP_SECONDS:
            self._swept = time.monotonic()
            sweep()
        if time.monotonic() - self._forgot > RETENTION_SECONDS:
            self._forgot = time.monotonic()
            forget()
        try:
            while relay_messages():
                continue
        except BROKER_ERRORS as error:
            logger.warning("broker not reachable, messages stay in the outbox: %s", error)
            self.stopping.wait(TICK_SECONDS)


def main() -> None:
    begin_log("dispatcher")
    log_the_uncaught()
    dispatcher = Dispatcher()

    def stop(number: int, frame: FrameType | None) -> None:
        dispatcher.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    logger.info("dispatching")
    dispatcher.run()


if __name__ == "__main__":
    main()
