"""Request and response bodies for simulated crowds that answer a campaign."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.core.fields import StrictInt
from app.jobs.models import Job
from app.planning.crowd_record import CrowdRecord, End
from app.planning.crowd_runs import (
    MOST_ANNOTATORS,
    USUAL_ANNOTATORS,
    USUAL_NOISE,
    CrowdOptions,
)

# What a page says about a crowd that has ended without an error.
ENDS: dict[End, str] = {
    "complete": "It gave all its answers.",
    "stopped": "It was stopped.",
    "paused": "It ended because the campaign was paused.",
    "finished": "It ended because the campaign has finished.",
    "no_work": "It ended because there are no more grids for its annotators. Each of them answers "
    "a grid only once.",
}


class CrowdRunIn(BaseModel, extra="forbid"):
    """The simulated crowd."""

    by: list[Annotated[str, Field(min_length=1, max_length=400)]] = Field(
        min_length=1,
        max_length=10,
        description="What it sorts by: some of `choices`.",
    )
    annotators: StrictInt = Field(default=USUAL_ANNOTATORS, ge=1, le=MOST_ANNOTATORS)
    noise: float = Field(
        default=USUAL_NOISE,
        ge=0,
        le=1,
        description="Share of images that are put into a random group, or the mean error of votes.",
    )
    answers: StrictInt | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="How many answers of the budget it gives, at most `left`. By default a tenth "
        "of the budget.",
    )


class CrowdRunOut(BaseModel):
    """A simulated crowd that answers, or has answered.

    state: queued (waits for a worker), waiting (for grids, while a model learns), running, done or
        failed.
    message: what it waits for, how it ended, or why it failed; empty while it runs.
    answers, stored: how many answers it was asked for, and has given, that count toward the budget.
    checks: its answers to gold grids and repeats; surplus: to grids that had enough by then.
    """

    id: UUID
    created_at: datetime
    finished_at: datetime | None
    state: Literal["queued", "waiting", "running", "done", "failed"]
    message: str
    by: list[str]
    annotators: int
    noise: float
    answers: int
    stored: int
    checks: int
    surplus: int

    @classmethod
    def of(cls, job: Job, record: CrowdRecord) -> "CrowdRunOut":
        is_active = job.state in ("queued", "running")
        waits = is_active and record.waiting_since is not None
        return cls.model_validate(
            {
                **record.model_dump(),
                "id": job.id,
                "created_at": job.created_at,
                "finished_at": job.finished_at,
                "state": "waiting" if waits else _state(job, record),
                "message": _message(job, record),
            }
        )


def _state(job: Job, record: CrowdRecord) -> str:
    """A crowd that goes on after a turn of another job's is not called queued again."""
    has_begun = record.stored + record.checks + record.surplus > 0
    return "running" if job.state == "queued" and has_begun else job.state


WAITS_FOR_WORKER = (
    "It waits for a free worker. Only one simulated crowd of an account answers at a time."
)


def _message(job: Job, record: CrowdRecord) -> str:
    if job.state == "failed":
        return job.error or "The job failed without saying why."
    if record.end is not None:
        return ENDS[record.end]
    if job.state == "queued" and job.error:
        return f"It is tried again: {job.error}"
    if record.waiting_since is not None:
        return (
            "It waits for grids, which come when the model has learned. It looks again by itself."
        )
    return WAITS_FOR_WORKER if _state(job, record) == "queued" else ""


class CrowdOut(BaseModel):
    """Whether a simulated crowd can answer the campaign, and the newest one.

    refusal: why none can be started now; null if one can.
    choices: what a crowd can sort by; `one_only`: only one of them.
    usual_by, usual_answers: what to choose if nothing else is known.
    fewest_annotators, most_annotators: each grid needs answers of different annotators.
    left: how many answers the campaign still asks for.
    has_people: whether people have answered this campaign.
    """

    refusal: str | None
    choices: list[str]
    one_only: bool
    usual_by: list[str]
    usual_answers: int
    usual_annotators: int
    usual_noise: float
    fewest_annotators: int
    most_annotators: int
    left: int
    has_people: bool
    run: CrowdRunOut | None

    @classmethod
    def of(cls, options: CrowdOptions) -> "CrowdOut":
        job, record = options.job, options.record
        return cls(
            refusal=options.refusal,
            choices=options.choices,
            one_only=options.one_only,
            usual_by=options.usual,
            usual_answers=options.usual_answers,
            usual_annotators=max(USUAL_ANNOTATORS, options.fewest),
            usual_noise=USUAL_NOISE,
            fewest_annotators=options.fewest,
            most_annotators=options.most,
            left=options.left,
            has_people=options.has_people,
            run=None if job is None or record is None else CrowdRunOut.of(job, record),
        )
