"""Sends trainings to workers with a GPU, and notices if no worker serves their queue."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.jobs.models import Job
from app.jobs.queues import LEARNING_GPU, gpu_strategies
from app.jobs.service import LEARN
from workers.celery_app import celery

logger = logging.getLogger("workers.dispatcher")
# How long to wait for the replies of all workers.
REPLY_SECONDS = 2.0
# A training that has waited less may still be taken.
PATIENCE_SECONDS = 30.0


def gpu_jobs(session: Session, messages: Iterable[OutboxMessage]) -> set[UUID]:
    """Return the jobs of these messages that are trainings for workers with a GPU."""
    if not gpu_strategies():
        return set()
    ids = [message.job_id for message in messages if message.job_id is not None]
    return set(session.scalars(_gpu_trainings().where(Job.id.in_(ids))))


def _gpu_trainings() -> Select[UUID]:
    return (
        select(Job.id)
        .join(Campaign, Campaign.id == Job.campaign_id)
        .where(Job.kind == LEARN, Campaign.strategy.in_(gpu_strategies()))
    )


def served_queues() -> set[str]:
    """Ask all workers which queues they serve. Raises an error of Celery, kombu or redis if the
    broker cannot be reached."""
    replies = celery.control.inspect(timeout=REPLY_SECONDS).active_queues() or {}
    return {queue["name"] for queues in replies.values() for queue in queues}


def warn_of_unserved_trainings() -> None:
    """Log a warning if trainings wait for a worker with a GPU and there is none. They are not sent
    elsewhere, because such workers may be started only when trainings wait."""
    if not gpu_strategies():
        return
    before = datetime.now(UTC) - timedelta(seconds=PATIENCE_SECONDS)
    query = _gpu_trainings().where(Job.state == "queued", Job.created_at < before)
    with transaction() as session:
        waiting = len(session.scalars(query).all())
    if waiting and LEARNING_GPU not in served_queues():
        logger.warning(
            "no worker with a GPU is running, and %d training(s) wait for one: start "
            "`likewise worker --queue learning-gpu`, or remove their strategies from "
            "LIKEWISE_GPU_STRATEGIES",
            waiting,
        )
