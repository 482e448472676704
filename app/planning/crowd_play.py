"""A worker's part of a simulated crowd: it answers grids one after the other.

It calls the services that the annotators' page calls, so that leases, budget, rounds and checks
hold as they do for people. Each lease and each answer is a transaction, and the record of the crowd
is stored with the answer, so a worker that is killed loses and repeats nothing: the next one gets
the live lease of the same annotator again.

A job goes back to the queue after some seconds, because others wait for the worker, and when nobody
of the crowd gets a grid. In that case it is looked at again once its message counts as lost
(app/core/leased.py), which takes LIKEWISE_REDISPATCH_SECONDS.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.campaigns.rounds import awaits_grids, rounds_at_work
from app.core import leased
from app.core.database import transaction
from app.core.errors import LikewiseError, LostLease
from app.core.events import campaign_changed
from app.core.outages import through_outages
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import (
    CHOOSE,
    LEARN,
    active_job,
    claim_job,
    complete_job,
    fail_job,
    latest_job,
    release_job,
    require_held,
)
from app.planning.crowd_player import CrowdPlayer, Pause
from app.planning.crowd_record import CrowdRecord, End

logger = logging.getLogger(__name__)
# While other annotators may still leave a grid, or finish the round.
PATIENCE = timedelta(minutes=15)


def run_crowd(job_id: UUID, stopping: Callable[[], bool]) -> None:
    """Claim the job of a crowd and answer grids for some seconds, until it has given all its
    answers, has to wait, or the worker is stopped."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    with transaction() as session:
        job = claim_job(session, job_id, owner)
    if job is None:
        logger.info("crowd %s is not available, nothing to do", job_id)
        return
    try:
        pause = CrowdPlayer(job, stopping).play()
        _stored(job, lambda session: _record(session, job, pause))
    except (LostLease, NoResultFound) as error:
        # It was stopped, taken over or deleted, so nothing more is written.
        logger.info("crowd %s: %s", job_id, error)
    except (LikewiseError, ValueError) as error:
        # Trying again would not help.
        logger.warning("crowd %s has failed: %s", job_id, error)
        _fail(job, str(error), retry=False)
    except Exception as error:
        logger.exception("crowd %s has failed", job_id)
        _fail(job, f"{type(error).__name__}: {error}", retry=True)


def _stored(job: Job, write: Callable[[Session], None]) -> None:
    """Write how the work ended, also if the database is away for a moment."""

    def work() -> None:
        with transaction() as session:
            # The lock on the campaign comes before that on the job.
            locked_campaign(session, job.campaign_id)
            write(session)

    through_outages(f"crowd {job.id}: recording its end", work)


def _fail(job: Job, reason: str, *, retry: bool) -> None:
    try:
        _stored(job, lambda session: fail_job(session, job.id, job.epoch, reason, retry=retry))
    except (LostLease, NoResultFound) as error:
        logger.info("crowd %s: %s", job.id, error)


def _record(session: Session, job: Job, pause: Pause) -> None:
    """Record why the crowd paused or ended. Raises LostLease."""
    if pause == "turn_over" or pause == "stopping":
        release_job(session, job.id, job.epoch)
    elif pause == "waiting":
        _wait(session, job)
    else:
        _end(session, job, pause)


def _end(session: Session, job: Job, end: End) -> None:
    held = require_held(session, job.id, job.epoch, lock=True)
    record = CrowdRecord.of(held)
    record.end, record.waiting_since = end, None
    complete_job(session, job.id, job.epoch, n_learned=0, n_answers=0)
    record.keep(held)


def _wait(session: Session, job: Job) -> None:
    """Return the job to the queue without a message, unless nothing can come of waiting."""
    failed = _failed_job(session, job.campaign_id)
    if failed is not None and not _is_unfilled(session, job.campaign_id):
        reason = f"There are no more grids, because a job of the campaign has failed: {failed}"
        fail_job(session, job.id, job.epoch, reason, retry=False)
        return
    held = require_held(session, job.id, job.epoch, lock=True)
    record = CrowdRecord.of(held)
    now = datetime.now(UTC)
    is_coming = any(active_job(session, job.campaign_id, kind) for kind in (LEARN, CHOOSE))
    # The next round opens in the moment in which its training ends: patience begins then.
    record.waiting_since = now if is_coming else record.waiting_since or now
    patience = max(PATIENCE, timedelta(seconds=get_settings().lease_seconds))
    if now - record.waiting_since > patience:
        _end(session, job, "no_work")
        return
    record.keep(held)
    leased.give_back(held)
    campaign_changed(session, job.campaign_id)


def _is_unfilled(session: Session, campaign_id: UUID) -> bool:
    """Return whether a round with all its grids still wants answers, which others may be giving."""
    campaign = session.get_one(Campaign, campaign_id)
    at_work = rounds_at_work(session, campaign)
    return any(
        round_.n_answers < round_.n_wanted and not awaits_grids(round_) for round_ in at_work
    )


def _failed_job(session: Session, campaign_id: UUID) -> str | None:
    """Return the error of the newest training or choice of images, if it has failed for good."""
    for kind in (LEARN, CHOOSE):
        newest = latest_job(session, campaign_id, kind)
        if newest is not None and newest.state == "failed":
            return newest.error or "it says no reason."
    return None
