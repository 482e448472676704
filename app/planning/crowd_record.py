"""What a job of a simulated crowd was asked for and has done, as it is stored with the job."""

import logging
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, Field, ValidationError

from app.jobs.models import Job

logger = logging.getLogger(__name__)
# Records come back from archives, which may contain anything.
MOST = 2**31 - 1
# Why a crowd ended without an error. no_work: nobody of it gets another grid.
End = Literal["complete", "stopped", "paused", "finished", "no_work"]


class CrowdRecord(BaseModel):
    """The record of a crowd, in `Job.metrics`.

    by: as in `app.planning.crowd.make_crowd`.
    seed: a crowd with the same seed and size has the same annotators.
    answers: how many answers it should give; stored: how many it gave so far that count toward the
        budget. checks: its answers to gold grids and repeats. surplus: its answers to grids that
        had enough by then.
    waiting_since: when it found no grid for anybody, until it gets one.
    """

    by: list[str]
    annotators: int = Field(ge=1, le=MOST)
    noise: float = Field(ge=0, le=1)
    seed: int = Field(ge=0, le=MOST)
    answers: int = Field(ge=1, le=MOST)
    stored: int = Field(default=0, ge=0, le=MOST)
    checks: int = Field(default=0, ge=0, le=MOST)
    surplus: int = Field(default=0, ge=0, le=MOST)
    waiting_since: datetime | None = None
    end: End | None = None

    @classmethod
    def of(cls, job: Job) -> Self:
        """Read the record of a job. Raises pydantic.ValidationError if it has none."""
        return cls.model_validate(job.metrics)

    def count(self, state: str, *, is_check: bool) -> None:
        """Count an answer that was stored in this state."""
        if is_check:
            self.checks += 1
        elif state == "surplus":
            self.surplus += 1
        else:
            self.stored += 1

    def keep(self, job: Job) -> None:
        """Store the record, which the caller then flushes or commits."""
        job.metrics = self.model_dump(mode="json")
        job.progress = min(1.0, self.stored / self.answers)


def known_record(job: Job) -> CrowdRecord | None:
    """Return the record of a job, or None if it has no valid one, as in a changed archive."""
    try:
        return CrowdRecord.of(job)
    except ValidationError as error:
        logger.warning("job %s has no valid record of its crowd: %s", job.id, error)
        return None
