"""What the process of a training or alignment does (workers/training_process.py).

It exits with 0 if the result was stored or the failure was recorded. Anything else is a crash,
which the supervising task records.
"""

import logging
import traceback
from uuid import UUID

from app.alignments.learning import learn_alignment
from app.campaigns.choosing import run_choosing
from app.core.database import transaction
from app.core.errors import LikewiseError, LostLease, NoRoom
from app.core.outages import through_outages
from app.jobs.models import Job
from app.jobs.service import CHOOSE, DRY_RUN, LEARN, SPLIT_HALF, fail_job
from app.planning.play import run_dry_run
from app.results.learn import run_learning_job
from app.results.split_half import run_split_half

# The work for each kind of job.
RUNNERS = {
    LEARN: run_learning_job,
    DRY_RUN: run_dry_run,
    CHOOSE: run_choosing,
    SPLIT_HALF: run_split_half,
}
logger = logging.getLogger(__name__)


def align(alignment_id: UUID, epoch: int) -> None:
    """Learn an alignment, which records its errors itself."""
    learn_alignment(alignment_id, epoch)


def main(job_id: UUID, epoch: int) -> None:
    """Do the job. An error in the data is recorded as final, because trying again would not
    help."""
    try:
        campaign_id, kind = through_outages(
            f"job {job_id}: reading its kind", lambda: _kind_of(job_id)
        )
        RUNNERS[kind](campaign_id, job_id, epoch)
    except NoRoom:
        # This records a crash, which is tried again.
        raise
    except LostLease as error:
        logger.warning("nothing published: %s", error)
    except (LikewiseError, ValueError) as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
        through_outages(f"job {job_id}: recording its end", lambda: _fail(job_id, epoch, reason))


def _kind_of(job_id: UUID) -> tuple[UUID, str]:
    with transaction() as session:
        job = session.get_one(Job, job_id)
        return job.campaign_id, job.kind


def _fail(job_id: UUID, epoch: int, reason: str) -> None:
    with transaction() as session:
        fail_job(session, job_id, epoch, reason, retry=False)
