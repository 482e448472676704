"""Runs a job in a separate process, under a lease that is renewed while the process lives.

A separate process can be killed, returns its memory, and keeps torch out of Celery: torch hangs in
a child forked from a process that has used it.
"""

import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO
from uuid import UUID

from celery.signals import worker_shutting_down
from sqlalchemy.exc import DBAPIError

from app.core.database import transaction
from app.core.errors import LostLease
from app.core.outages import through_outages
from app.core.priority import give_way
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import claim_job, fail_job, release_job, renew_lease

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
    with tempfile.TemporaryFile() as errors:
        child = _start(job, errors)
        try:
            give_way(child.pid, get_settings().training_niceness)
            outcome = _watch(job, child)
        finally:
            _end(child)
        _record(job, child.returncode, outcome, errors)


def _start(job: Job, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "workers.trainer", str(job.campaign_id), str(job.id)]
    arguments = [str(job.epoch), str(os.getpid())]
    return subprocess.Popen(
        [*command, *arguments], stderr=errors, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _watch(job: Job, child: subprocess.Popen[bytes]) -> str:
    """Wait for the child while renewing the lease, and return why the wait ended."""
    settings = get_settings()
    started = renewed = time.monotonic()
    while child.poll() is None:
        now = time.monotonic()
        if _stopping.is_set():
            return "stopping"
        if now - started > settings.job_time_limit_seconds:
            return "time_limit"
        if now - renewed > settings.job_lease_seconds / 4:
            renewed = now
            try:
                with transaction() as session:
                    renew_lease(session, job.id, job.epoch)
            except LostLease:
                return "lost"
            except DBAPIError as error:
                # The database may be back before the lease ends, and the epoch protects the result.
                logger.warning("job %s: lease not renewed: %s", job.id, error)
        time.sleep(POLL_SECONDS)
    return "ended"


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
    child.wait()


def _record(job: Job, returncode: int, outcome: str, errors: IO[bytes]) -> None:
    errors.seek(0)
    output = errors.read()[-8000:].decode(errors="replace").strip()
    if output:
        logger.info("output of job %s:\n%s", job.id, output)
    if outcome == "lost" or (outcome == "ended" and returncode == 0):
        return
    reason = _reason(outcome, returncode, output)
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
            fail_job(session, job.id, job.epoch, reason, retry=True)


def _reason(outcome: str, returncode: int, output: str) -> str:
    if outcome == "time_limit":
        return (
            f"The training took longer than the limit of {get_settings().job_time_limit_seconds} "
            "seconds."
        )
    if returncode < 0:
        return f"The training process was killed by signal {-returncode}."
    return f"The training process ended with code {returncode}: {last_error(output)}"


def last_error(output: str) -> str:
    """Return the line that names the error, because messages of several lines end with less useful
    ones."""
    lines = output.splitlines()
    named = (line for line in reversed(lines) if _ERROR.match(line))
    return next(named, lines[-1] if lines else "no message")
