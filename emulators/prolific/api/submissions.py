"""Submissions and bonuses."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import ConfigDict

from emulators.prolific.api.shapes import (
    Shape,
    submission_detail,
    submission_shape,
    submission_short,
)
from emulators.prolific.api.wire import Me, Page, StrictRoute, TheWorld, listed
from emulators.prolific.errors import bad, not_found
from emulators.prolific.models import submissions as m
from emulators.prolific.models.common import Strict, stamp
from emulators.prolific.objects import Submission
from emulators.prolific.rules import bonuses, reviewing

router = APIRouter(prefix="/api/v1", route_class=StrictRoute)
STATUSES = (
    "ACTIVE", "APPROVED", "AWAITING REVIEW", "REJECTED", "RESERVED", "RETURNED", "TIMED-OUT",
    "PARTIALLY APPROVED", "SCREENED OUT",
)  # fmt: skip
YES, NO = ("1", "true", "yes", "t"), ("0", "false", "no", "f")
FLAGS = {
    "completed": ("AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED", "SCREENED OUT"),
    "returned": ("RETURNED",),
    "awaiting_review": ("AWAITING REVIEW",),
    "approved": ("APPROVED",),
    "active": ("ACTIVE",),
    "timeout": ("TIMED-OUT",),
    "rejected": ("REJECTED",),
    "screened_out": ("SCREENED OUT",),
    "completeoractive": (
        "ACTIVE",
        "AWAITING REVIEW",
        "APPROVED",
        "PARTIALLY APPROVED",
        "REJECTED",
        "SCREENED OUT",
    ),
}
ORDERS = {
    "started_at": lambda s: stamp(s.started_at),
    "completed_at": lambda s: stamp(s.completed_at) if s.completed_at else "",
    "status": lambda s: s.visible,
    "participant_id": lambda s: s.participant.id,
    "study_code": lambda s: s.entered_code or "",
}


class Flags(Strict):
    """Filters of the list: yes or no (1/0, true/false, yes/no, t/f) and dates as DD/MM/YYYY."""

    model_config = ConfigDict(extra="ignore")
    completed: str | None = None
    returned: str | None = None
    awaiting_review: str | None = None
    approved: str | None = None
    active: str | None = None
    timeout: str | None = None
    rejected: str | None = None
    screened_out: str | None = None
    completeoractive: str | None = None
    submitted_from: str | None = None
    submitted_before: str | None = None

    def keep(self, submissions: list[Submission]) -> list[Submission]:
        if self.submitted_from is not None:
            first = _day("submitted_from", self.submitted_from)
            submissions = [
                submission
                for submission in submissions
                if submission.completed_at and submission.completed_at >= first
            ]
        if self.submitted_before is not None:
            end = _day("submitted_before", self.submitted_before)
            submissions = [
                submission
                for submission in submissions
                if submission.completed_at and submission.completed_at < end
            ]
        for name, wanted in self.model_dump(include=set(FLAGS), exclude_none=True).items():
            if wanted.lower() not in YES + NO:
                raise bad({name: ["This must be yes or no."]})
            yes = wanted.lower() in YES
            submissions = [
                submission
                for submission in submissions
                if (submission.visible in FLAGS[name]) is yes
            ]
        return submissions


def _day(name: str, written: str) -> datetime:
    try:
        return datetime.strptime(written, "%d/%m/%Y").replace(tzinfo=UTC)
    except ValueError as error:
        raise bad({name: ["This must be a date as DD/MM/YYYY."]}) from error


def _ordered(submissions: list[Submission], ordering: str | None) -> list[Submission]:
    if ordering is None:
        return submissions
    key = ORDERS.get(ordering.removeprefix("-"))
    if key is None:
        raise bad({"ordering": [f"This must be one of {', '.join(ORDERS)}."]})
    return sorted(submissions, key=key, reverse=ordering.startswith("-"))


@router.get(
    "/studies/{id}/submissions/",
    operation_id="get-study-submissions",
    response_model=m.SubmissionList,
)
async def list_of_study(
    request: Request, world: TheWorld, me: Me, page: Page, id: str, ordering: str | None = None
) -> Shape:
    submissions = _ordered(world.of_study[world.study_of(me, id).id], ordering)
    return listed(
        request, page, submissions, lambda submission: submission_short(world, submission)
    )


@router.get(
    "/studies/{id}/submissions/counts/",
    operation_id="count-study-submissions-by-status",
    response_model=m.SubmissionCounts,
)
async def count_of_study(world: TheWorld, me: Me, id: str) -> Shape:
    states: list[str] = [
        submission.visible for submission in world.of_study[world.study_of(me, id).id]
    ]
    return {**{status: states.count(status) for status in STATUSES}, "TOTAL": len(states)}


@router.get("/submissions/", operation_id="get-submissions", response_model=m.SubmissionList)
async def list_submissions(
    request: Request,
    world: TheWorld,
    me: Me,
    page: Page,
    flags: Annotated[Flags, Depends()],
    study: Annotated[str, Query()],
    status: str | None = None,
    ordering: str | None = None,
) -> Shape:
    submissions = flags.keep(_ordered(world.of_study[world.study_of(me, study).id], ordering))
    if status is not None:
        wanted = status.upper().replace("_", " ")
        if wanted not in (*STATUSES, "UNKNOWN"):
            raise bad({"status": ["This status does not exist."]})
        submissions = [submission for submission in submissions if submission.visible == wanted]
    return listed(
        request, page, submissions, lambda submission: submission_short(world, submission)
    )


@router.get("/submissions/{id}/", operation_id="get-submission", response_model=m.SubmissionDetail)
async def read_submission(world: TheWorld, me: Me, id: str) -> Shape:
    return submission_detail(world.submission_of(me, id))


@router.post(
    "/submissions/{id}/transition/",
    operation_id="transition-submission",
    response_model=m.Submission,
)
async def transition(world: TheWorld, me: Me, id: str, wanted: m.Transition) -> Shape:
    submission = world.submission_of(me, id)
    reviewing.transition(world, submission, wanted)
    return submission_shape(submission)


@router.post(
    "/submissions/{id}/request-return/",
    operation_id="request-submission-return",
    response_model=m.ReturnRequested,
)
async def request_return(world: TheWorld, me: Me, id: str, wanted: m.ReturnQuestion) -> Shape:
    submission = world.submission_of(me, id)
    reviewing.request_return(world, submission, wanted.request_return_reasons)
    assert submission.return_requested is not None
    return {
        "id": submission.id,
        "status": submission.visible,
        "participant": submission.participant.id,
        "return_requested": stamp(submission.return_requested),
    }


@router.post(
    "/submissions/bulk-approve/", operation_id="bulk-approve-submissions", response_model=str
)
async def bulk_approve(world: TheWorld, me: Me, wanted: m.BulkApprove) -> str:
    reviewing.approve_all(world, me, wanted)
    return "The submissions will be approved."


@router.post(
    "/submissions/bonus-payments/",
    operation_id="create-bonus-payments",
    status_code=201,
    response_model=m.BulkBonus,
)
async def set_up_bonuses(world: TheWorld, me: Me, wanted: m.BonusQuestion) -> Shape:
    bulk = bonuses.set_up(world, world.study_of(me, wanted.study_id), wanted.csv_bonuses)
    return {
        "id": bulk.id,
        "study": bulk.study.id,
        "amount": bulk.amount,
        "fees": bulk.fees,
        "vat": bulk.vat,
        "total_amount": bulk.total,
    }


@router.post(
    "/bulk-bonus-payments/{id}/pay/",
    operation_id="pay-bonus-payments",
    status_code=202,
    response_model=str,
)
async def pay_bonuses(world: TheWorld, me: Me, id: str) -> str:
    bulk = world.bulks.get(id)
    if bulk is None or bulk.study.workspace.owner is not me:
        raise not_found(f"Bulk bonus payment {id}")
    bonuses.pay(world, bulk)
    return "The bonuses will be paid."
