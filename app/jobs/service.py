"""The lifecycle of a job (app/core/leased.py). Lock order everywhere: campaign, then job. Before
both, a trainer that publishes takes its job's advisory lock, which only trainers of that job
request.
"""

from uuid import UUID

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from app.core import leased
from app.core.errors import Conflict
from app.core.events import campaign_changed
from app.core.outbox import send_after_commit
from app.jobs import hooks
from app.jobs.models import Job

LEARN_TASK = "likewise.learn"
DRY_RUN_TASK = "likewise.dry_run"
CHOOSE_TASK = "likewise.choose"
SIMULATE_TASK = "likewise.simulate"
SPLIT_HALF_TASK = "likewise.split_half"
# CHOOSE: the images that a campaign asks about are chosen. SIMULATE: a simulated crowd answers.
# SPLIT_HALF: models of two halves of the answers are compared.
LEARN, DRY_RUN, CHOOSE, SIMULATE = "learn", "dry_run", "choose", "simulate"
SPLIT_HALF = "split_half"
# The Celery task for each kind of job.
TASKS = {
    LEARN: LEARN_TASK,
    DRY_RUN: DRY_RUN_TASK,
    CHOOSE: CHOOSE_TASK,
    SIMULATE: SIMULATE_TASK,
    SPLIT_HALF: SPLIT_HALF_TASK,
}


def request_job(
    session: Session, campaign_id: UUID, watermark: int, kind: str = "learn", *, again: bool = False
) -> Job:
    """Request a job in the caller's transaction, which holds the campaign's row lock.

    A queued job takes the newer watermark. A running one is marked to be followed by another if
    more answers have arrived by then, or in any case if `again` (the answers themselves have
    changed).
    """
    if again and kind != SPLIT_HALF:
        _repeat_split_half(session, campaign_id)
    job = active_job(session, campaign_id, kind, lock=True)
    if job is None:
        return _new_job(session, campaign_id, watermark, kind)
    if job.state == "queued":
        job.watermark = max(job.watermark, watermark)
    else:
        job.rerun_wanted = True
        job.rerun_anew = job.rerun_anew or again
    return job


def _repeat_split_half(session: Session, campaign_id: UUID) -> None:
    """What a running comparison of halves says is of answers that have changed."""
    job = active_job(session, campaign_id, SPLIT_HALF, lock=True)
    if job is not None and job.state == "running":
        job.rerun_anew = True


def _new_job(session: Session, campaign_id: UUID, watermark: int, kind: str) -> Job:
    job = Job(campaign_id=campaign_id, kind=kind, watermark=watermark)
    session.add(job)
    session.flush()
    _dispatch(session, job)
    campaign_changed(session, campaign_id)
    return job


def _dispatch(session: Session, job: Job) -> None:
    if job.kind not in TASKS:
        raise LookupError(f"this server has no task for jobs of kind {job.kind!r}")
    send_after_commit(session, TASKS[job.kind], {"job_id": str(job.id)}, job_id=job.id)


def active_job(
    session: Session, campaign_id: UUID, kind: str = "learn", *, lock: bool = False
) -> Job | None:
    """Return the queued or running job of a campaign."""
    query = select(Job).where(
        Job.campaign_id == campaign_id, Job.kind == kind, Job.state.in_(("queued", "running"))
    )
    return session.scalar(query.with_for_update(key_share=True) if lock else query)


def latest_job(session: Session, campaign_id: UUID, kind: str = "learn") -> Job | None:
    """Return the active job, or the one requested last."""
    query = select(Job).where(Job.campaign_id == campaign_id, Job.kind == kind)
    # Times alone are not enough: the clock may have been set back since an earlier job.
    active = Job.state.in_(("queued", "running"))
    order = (active.desc(), Job.created_at.desc(), Job.id.desc())
    return session.scalar(query.order_by(*order).limit(1))


def jobs_of(campaign_id: UUID) -> Select[Job]:
    """Select every job of a campaign, of all kinds. Failed ones keep their reason."""
    return select(Job).where(Job.campaign_id == campaign_id)


def claim_job(session: Session, job_id: UUID, owner: str) -> Job | None:
    """Claim a queued job; None if it is not available (done, failed, or claimed by another
    worker)."""
    claimed = leased.claim(
        session,
        Job,
        job_id,
        lease_owner=owner,
        progress=0.0,
        rerun_wanted=False,
        rerun_anew=False,
    )
    if claimed is not None:
        campaign_changed(session, claimed.campaign_id)
    return claimed


def renew_lease(session: Session, job_id: UUID, epoch: int) -> None:
    """Renew the lease; raises LostLease if another worker owns the job by now."""
    _renewed(session, job_id, epoch)


def report_progress(
    session: Session, job_id: UUID, epoch: int, progress: float, *, advanced: bool = False
) -> None:
    """Store the progress in [0, 1], which also renews the lease. advanced: the next attempt begins
    after what was stored since, so earlier attempts say nothing about it. Raises LostLease."""
    again = {"attempts": 1} if advanced else {}
    share = min(max(progress, 0.0), 1.0)
    campaign_changed(session, _renewed(session, job_id, epoch, progress=share, **again))


def _renewed(session: Session, job_id: UUID, epoch: int, **values: float) -> UUID:
    """Update the job and return its campaign. This is a single statement, because submissions may
    wait for the row, and trainers are slow when there are many."""
    campaign_id = session.execute(
        update(Job)
        .where(Job.id == job_id, Job.epoch == epoch, Job.state == "running")
        .values(lease_until=leased.lease_end(), **values)
        .returning(Job.campaign_id)
    ).scalar()
    if campaign_id is None:
        raise leased.lost_lease(Job, job_id, epoch)
    return campaign_id


def require_held(session: Session, job_id: UUID, epoch: int, *, lock: bool = False) -> Job:
    """Return the running job, as in app/core/leased.py. Raises LostLease."""
    return leased.require_held(session, Job, job_id, epoch, lock=lock)


def complete_job(
    session: Session, job_id: UUID, epoch: int, *, n_learned: int, n_answers: int
) -> bool:
    """Mark a held job done, and request the next one if it is needed for answers that this one
    missed.

    n_learned: number of answers it learned from; n_answers: current number of answers. The caller
    holds the campaign's row lock. Returns whether the input or purpose of the job has changed since
    it began. Raises LostLease.
    """
    job = require_held(session, job_id, epoch, lock=True)
    job.progress = 1.0
    leased.end(job, "done")
    session.flush()
    if job.rerun_anew or (job.rerun_wanted and n_answers > n_learned):
        _new_job(session, job.campaign_id, n_answers, job.kind)
    campaign_changed(session, job.campaign_id)
    return job.rerun_anew


def fail_job(session: Session, job_id: UUID, epoch: int, error: str, *, retry: bool) -> None:
    """Record why a held job failed; queue it again if `retry` and attempts are left.

    Raises LostLease.
    """
    job = require_held(session, job_id, epoch, lock=True)
    _after_failure(session, job, error, retry=retry)


def _after_failure(session: Session, job: Job, error: str, *, retry: bool) -> None:
    job.error = error[-4000:]
    if not retry:
        leased.end(job, "failed")
    if not (retry and leased.queue_again(session, job, _dispatch)):
        about = {"id": str(job.id), "kind": job.kind, "attempts": job.attempts, "error": job.error}
        # Nobody has to do anything about a comparison of halves: the next round has another.
        if job.kind != SPLIT_HALF:
            hooks.job_failed(session, job.campaign_id, about)
    campaign_changed(session, job.campaign_id)


def release_job(session: Session, job_id: UUID, epoch: int) -> None:
    """Return a held job to the queue because the worker is being stopped; it does not count as an
    attempt. Raises LostLease."""
    job = require_held(session, job_id, epoch, lock=True)
    leased.give_back(job)
    _dispatch(session, job)


def retry_failed_job(session: Session, campaign_id: UUID, watermark: int) -> Job:
    """Request a new job after a failed one, for a requester. Raises Conflict."""
    latest = latest_job(session, campaign_id)
    if latest is None or latest.state != "failed":
        raise Conflict("The last learning job did not fail, so there is nothing to retry.")
    return _new_job(session, campaign_id, watermark, latest.kind)


def requeue_lost_jobs(session: Session) -> int:
    """Queue jobs again that have lost their worker or message, and return how many."""
    return leased.requeue_lost(session, Job, _lose_worker, _dispatch)


def _lose_worker(session: Session, job: Job) -> None:
    _after_failure(session, job, f"The worker stopped during attempt {job.attempts}.", retry=True)
