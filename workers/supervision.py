"""Runs a job in a separate process, under a lease that is renewed while the process lives.

A separate process can be killed, returns its memory, and keeps torch out of Celery.
"""

import logging
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO
from uuid import UUID

from celery.signals import worker_shutting_down
from sqlalchemy.exc import SQLAlchemyError

from app.core.database import transaction
from app.core.errors import LostLease
from app.core.outages import through_outages
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import SPLIT_HALF, claim_job, fail_job, release_job, renew_lease
from workers import training_process

logger = logging.getLogger(__name__)
_stopping = threading.Event()
POLL_SECONDS = 0.2
# Tracebacks end like this: `ValueError: …`, `package.module.Error: …`, `MemoryError`.
_ERROR = re.compile(r"[\w.]*(Error|Exception|\.\w+)(: |$)")


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery ships no types
def _stop_jobs(**_: object) -> None:
    _stopping.set()


def is_stopping() -> bool:
    """Tell whether this worker is asked to stop, so that work should be returned to the queue."""
    return _stopping.is_set()


def supervise_job(job_id: UUID) -> None:
    """Claim a job, train in a child process, and record how it ended.

    The child publishes the result itself, under the job's epoch; only its death is recorded here.
    """
    owner = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    with transaction() as session:
        job = claim_job(session, job_id, owner)
    if job is None:
        logger.info("job %s is not available, nothing to do", job_id)
        return
    logger.info("job %s: attempt %d, epoch %d", job.id, job.attempts, job.epoch)
    with tempfile.NamedTemporaryFile(prefix="likewise-training-") as errors:
        with _lease(job) as lost:
            child = training_process.start(
                "job",
                job.id,
                job.epoch,
                niceness=get_settings().training_niceness,
                output=Path(errors.name),
            )
            try:
                outcome = watch(child, lost)
            finally:
                returncode = end(child)
        _record(job, returncode, meant(outcome, returncode), errors)


@contextmanager
def _lease(job: Job) -> Iterator[threading.Event]:
    """Renew the lease during the block, also while the process is being started; yields an event
    that is set when another worker has taken the job over."""
    lost, over = threading.Event(), threading.Event()

    def renew() -> None:
        while not over.wait(get_settings().job_lease_seconds / 4):
            try:
                with transaction() as session:
                    renew_lease(session, job.id, job.epoch)
            except LostLease:
                lost.set()
                return
            except SQLAlchemyError as error:
                # The database may be back before the lease ends, and the epoch protects the result.
                logger.warning("job %s: lease not renewed: %s", job.id, error)
            except BaseException:
                # Nobody else would know that the lease ends now.
                lost.set()
                raise

    renewing = threading.Thread(target=renew, name=f"lease of job {job.id}", daemon=True)
    renewing.start()
    try:
        yield lost
    finally:
        over.set()
        renewing.join()


def watch(child: BaseProcess, lost: threading.Event) -> str:
    """Wait for the child, and return why the wait ended."""
    limit, started = get_settings().job_time_limit_seconds, time.monotonic()
    while child.is_alive():
        if _stopping.is_set():
            return "stopping"
        if time.monotonic() - started > limit:
            return "time_limit"
        if lost.is_set():
            return "lost"
        child.join(POLL_SECONDS)
    return "ended"


def meant(outcome: str, returncode: int) -> str:
    """Return why the process ended: what stops this worker may have reached it first."""
    return "stopping" if outcome == "ended" and returncode != 0 and is_stopping() else outcome


def end(child: BaseProcess) -> int:
    """Kill it unless it has ended; returns its exit code, negative for a signal."""
    child.kill()
    child.join()
    assert child.exitcode is not None
    returncode = child.exitcode
    child.close()
    return returncode


def _record(job: Job, returncode: int, outcome: str, errors: IO[bytes]) -> None:
    output = logged(errors, f"job {job.id}")
    if outcome == "lost" or (outcome == "ended" and returncode == 0):
        return
    noun = "comparison of halves" if job.kind == SPLIT_HALF else "training"
    reason = reason_of(noun, outcome, returncode, output)
    try:
        # A stopping worker does not wait: the lease will expire.
        through_outages(
            f"job {job.id}: recording its end",
            lambda: _store(job, outcome, reason),
            give_up=is_stopping,
        )
    except LostLease:
        # The child recorded its own error, or another worker took over the job, so there is nothing
        # to add.
        logger.info("job %s: ended with code %d, recorded elsewhere", job.id, returncode)


def _store(job: Job, outcome: str, reason: str) -> None:
    with transaction() as session:
        if outcome == "stopping":
            release_job(session, job.id, job.epoch)
        else:
            # Halves would take as long again.
            is_hopeless = job.kind == SPLIT_HALF and outcome == "time_limit"
            fail_job(session, job.id, job.epoch, reason, retry=not is_hopeless)


def logged(errors: IO[bytes], what: str) -> str:
    """Return the end of what a process has written, and log it."""
    output = errors.read()[-8000:].decode(errors="replace").strip()
    if output:
        logger.info("output of %s:\n%s", what, output)
    return output


def reason_of(noun: str, outcome: str, returncode: int, output: str) -> str:
    """Return why the process of a training or alignment has failed, as a sentence."""
    if outcome == "time_limit":
        return (
            f"The {noun} took longer than the limit of {get_settings().job_time_limit_seconds} "
            "seconds."
        )
    if returncode < 0:
        return f"The {noun} process was killed by signal {-returncode}."
    return f"The {noun} process ended with code {returncode}: {last_error(output)}"


def last_error(output: str) -> str:
    """Return the line that names the error, because messages of several lines end with less useful
    ones."""
    lines = output.splitlines()
    named = (line for line in reversed(lines) if _ERROR.match(line))
    return next(named, lines[-1] if lines else "no message")
