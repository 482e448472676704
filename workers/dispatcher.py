"""The dispatcher: sends outbox messages to Celery, queues lost work again, sends webhooks, and
talks to the platforms that annotators come from.

Run it with `python -m workers.dispatcher`. Any number may run, because rows are claimed with SKIP
LOCKED. PostgreSQL's NOTIFY wakes it, and it also checks once a second.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import TypeVar

import psycopg
from celery.exceptions import CeleryError
from kombu.exceptions import KombuError, OperationalError, SerializationError
from redis.exceptions import RedisError
from sqlalchemy import func
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.accounts.sessions import forget_old_sessions
from app.alignments.learning import requeue_lost_alignments
from app.annotation.leaving import complete_left
from app.collections.garbage import request_removal
from app.collections.imports import requeue_lost_imports
from app.core.database import transaction
from app.core.idempotency import forget_old_replies
from app.core.logs import begin_log, log_the_uncaught
from app.core.outbox import NOTIFY_CHANNEL, OutboxMessage
from app.core.settings import get_settings
from app.core.sweeps import each_apart, is_passing
from app.features.computing import requeue_lost_sets
from app.jobs.queues import LEARNING_GPU, gpu_strategies
from app.jobs.service import requeue_lost_jobs
from app.operations.clock import shorten_waits
from app.operations.violations import forget_old_violations
from app.recruitment.paid_work import take_back_paid_work
from app.recruitment.people import forget_old
from app.webhooks.delivery import forget_old_deliveries
from workers.celery_app import celery
from workers.pool import Pool
from workers.queues import gpu_jobs, warn_of_unserved_trainings
from workers.turns import next_messages

logger = logging.getLogger("workers.dispatcher")
TICK_SECONDS = 1.0
SWEEP_SECONDS = 5.0
# Pause between two checks of the outbox, in multiples of the time that the last one took.
PAUSE_TIMES = 4
CLOCK_SECONDS = 30.0
RETENTION_SECONDS = 600.0
Swept = TypeVar("Swept")
BROKER_ERRORS = (OperationalError, KombuError, RedisError, CeleryError, OSError)


def relay_messages(limit: int = 100) -> int:
    """Send waiting messages to Celery, and return how many. A broker error rolls all of them back.

    A message is sent and then marked. A crash between the two sends it twice, which is harmless
    because a job is claimed by a conditional update. A message that cannot be serialised is set
    aside.
    """
    with transaction() as session:
        waiting = {message.id: message for message in next_messages(session, limit)}
        with_gpu = gpu_jobs(session, waiting.values())

        def refuse(message_id: int, reason: str) -> None:
            waiting[message_id].refused = reason
            waiting[message_id].dispatched_at = func.clock_timestamp()

        def send(message_id: int) -> None:
            message = waiting[message_id]
            _send(message, LEARNING_GPU if message.job_id in with_gpu else None)

        each_apart(session, waiting, send, refuse, _waits)
        return len(waiting)


def _waits(error: Exception) -> bool:
    """Tell whether a message can be sent once the broker or the database is back."""
    is_away = isinstance(error, BROKER_ERRORS) and not isinstance(error, SerializationError)
    return is_away or is_passing(error)


def _send(message: OutboxMessage, queue: str | None) -> None:
    """Send it to a queue, or to that of its task."""
    if not isinstance(message.arguments, dict):
        raise TypeError(f"the arguments are not an object but {type(message.arguments).__name__}")
    celery.send_task(
        message.task, kwargs=message.arguments, queue=queue, retry=False, ignore_result=True
    )
    message.dispatched_at = func.clock_timestamp()


def requeue(lost: Callable[[Session], int]) -> None:
    """Queue work again that has lost its worker or its message."""
    queued = _in_transaction(lost)
    if queued:
        logger.info("queued %d lost items again", queued)


def forget_people() -> None:
    """Delete the identities of annotators whose campaigns ended long ago."""
    people = _in_transaction(forget_old)
    if people:
        logger.info(
            "deleted the identities of %d annotators whose campaigns ended long ago", people
        )


def _warn_of_unserved_trainings() -> None:
    try:
        warn_of_unserved_trainings()
    except BROKER_ERRORS:
        # Relaying messages fails as well, and reports it.
        return


def _in_transaction(sweep: Callable[[Session], Swept]) -> Swept:
    with transaction() as session:
        return sweep(session)


SWEEPS: dict[float, tuple[Callable[[], object], ...]] = {
    SWEEP_SECONDS: (
        partial(requeue, requeue_lost_jobs),
        partial(requeue, requeue_lost_imports),
        partial(requeue, requeue_lost_sets),
        partial(requeue, requeue_lost_alignments),
        partial(_in_transaction, forget_old_replies),
        partial(_in_transaction, forget_old_deliveries),
        partial(_in_transaction, request_removal),
        take_back_paid_work,
    ),
    CLOCK_SECONDS: (partial(_in_transaction, shorten_waits), _warn_of_unserved_trainings),
    RETENTION_SECONDS: (
        forget_people,
        partial(_in_transaction, complete_left),
        partial(_in_transaction, forget_old_violations),
        partial(_in_transaction, forget_old_sessions),
    ),
}


def run_sweeps(sweeps: Iterable[Callable[[], object]]) -> None:
    """Run all sweeps, each in its own transactions: one that fails does not stop the others."""
    for sweep in sweeps:
        try:
            sweep()
        except Exception as error:
            if is_passing(error):
                raise
            logger.exception("a sweep failed, the others continue")


class Dispatcher:
    """Run the loop around `relay_messages` and SWEEPS, which survives restarts of both servers."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._pool = Pool(self.stopping)
        self._swept = dict.fromkeys(SWEEPS, -RETENTION_SECONDS)

    def run(self) -> None:
        self._pool.start()
        while not self.stopping.is_set():
            try:
                self._listen()
            except (psycopg.Error, DBAPIError) as error:
                logger.warning("database not reachable, trying again: %s", error)
                self.stopping.wait(TICK_SECONDS)

    def _listen(self) -> None:
        # A pooler would forget that this session listens.
        url = get_settings().direct_url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"LISTEN {NOTIFY_CHANNEL}")
            while not self.stopping.is_set():
                self._tick()
                for _ in connection.notifies(timeout=TICK_SECONDS, stop_after=1):
                    pass

    def _tick(self) -> None:
        self._pool.wake()
        for seconds, sweeps in SWEEPS.items():
            if time.monotonic() - self._swept[seconds] > seconds:
                self._swept[seconds] = time.monotonic()
                run_sweeps(sweeps)
        run_sweeps([self._relay])

    def _relay(self) -> None:
        began = time.monotonic()
        try:
            while relay_messages():
                continue
            # If very many messages wait for their turn, a check takes long, so leave most of a core
            # to others.
            self.stopping.wait(min(PAUSE_TIMES * (time.monotonic() - began), TICK_SECONDS))
        except BROKER_ERRORS as error:
            logger.warning("broker not reachable, messages wait in the outbox: %s", error)
            self.stopping.wait(TICK_SECONDS)


def main() -> None:
    begin_log("dispatcher")
    log_the_uncaught()
    # A wrong name ends the process here, not at the first training.
    gpu_strategies()
    dispatcher = Dispatcher()

    def stop(number: int, frame: FrameType | None) -> None:
        dispatcher.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    logger.info("dispatching")
    dispatcher.run()


if __name__ == "__main__":
    main()
