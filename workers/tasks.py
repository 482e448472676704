"""Celery tasks."""

from uuid import UUID

from app.alignments.service import ALIGN_TASK
from app.collections.garbage import DISCARD_TASK, remove_discarded
from app.collections.importing import run_import
from app.collections.imports import IMPORT_TASK
from app.core.database import transaction
from app.features.computing import run_feature_set
from app.features.sets import FEATURES_TASK
from app.jobs.service import (
    CHOOSE_TASK,
    DRY_RUN_TASK,
    LEARN_TASK,
    SIMULATE_TASK,
    SPLIT_HALF_TASK,
)
from app.planning.crowd_play import run_crowd
from workers.aligning import supervise_alignment
from workers.celery_app import celery
from workers.supervision import is_stopping, supervise_job


@celery.task(name=LEARN_TASK)  # type: ignore[untyped-decorator]  # Celery ships no types
def learn(job_id: str) -> None:
    """Run one learning job, if it is still available."""
    supervise_job(UUID(job_id))


@celery.task(name=DRY_RUN_TASK)  # type: ignore[untyped-decorator]
def dry_run(job_id: str) -> None:
    """Let a simulated crowd play a campaign, if the job is still available."""
    supervise_job(UUID(job_id))


@celery.task(name=CHOOSE_TASK)  # type: ignore[untyped-decorator]
def choose_images(job_id: str) -> None:
    """Choose the images that a campaign asks about, if the job is still available."""
    supervise_job(UUID(job_id))


@celery.task(name=SPLIT_HALF_TASK)  # type: ignore[untyped-decorator]
def compare_halves(job_id: str) -> None:
    """Compare models of two halves of a campaign's answers, if the job is still available."""
    supervise_job(UUID(job_id))


@celery.task(name=SIMULATE_TASK)  # type: ignore[untyped-decorator]
def simulate_crowd(job_id: str) -> None:
    """Let a simulated crowd answer a part of its grids, if the job is still available."""
    run_crowd(UUID(job_id), is_stopping)


@celery.task(name=IMPORT_TASK)  # type: ignore[untyped-decorator]
def import_images(import_id: str) -> None:
    """Continue one import, if it is still available."""
    run_import(UUID(import_id), is_stopping)


@celery.task(name=FEATURES_TASK)  # type: ignore[untyped-decorator]
def compute_features(set_id: str) -> None:
    """Continue one feature set, if it is still available."""
    run_feature_set(UUID(set_id), is_stopping)


@celery.task(name=ALIGN_TASK)  # type: ignore[untyped-decorator]
def align_features(alignment_id: str) -> None:
    """Learn one alignment, if it is still available."""
    supervise_alignment(UUID(alignment_id))


@celery.task(name=DISCARD_TASK)  # type: ignore[untyped-decorator]
def remove_discarded_objects() -> None:
    """Remove objects that deletions left in storage, a part in each transaction."""
    removed = 1
    while removed and not is_stopping():
        with transaction() as session:
            removed = remove_discarded(session)
