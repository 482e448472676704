"""Celery tasks."""

from uuid import UUID

from app.jobs.service import LEARN_TASK
from workers.celery_app import celery
from workers.supervision import supervise_job


@celery.task(name=LEARN_TASK)  # type: ignore[untyped-decorator]  # Celery ships no types
def learn(job_id: str) -> None:
    """Run one learning job, if it is still to be had."""
    supervise_job(UUID(job_id))
