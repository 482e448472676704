"""Submitted work on MTurk, and decisions about it."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from app.recruitment.channel import (
    ChannelRefused,
    PlatformSubmission,
    PostingRef,
    SubmissionRef,
    SubmissionState,
)
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import has_code
from app.recruitment.channels.mturk.texts import MAX_FEEDBACK, clipped
from app.recruitment.channels.mturk.xml import BadAnswer, answer_fields

# The form field in which the annotators' page submits the id of our assignment.
CODE_FIELD = "likewise"
REVERSIBLE = timedelta(days=30)
_STATES: dict[str, SubmissionState] = {
    "Submitted": "submitted",
    "Approved": "approved",
    "Rejected": "rejected",
}


def submissions(api: MTurkApi, posting: PostingRef) -> Iterator[PlatformSubmission]:
    """Yield the submitted work. MTurk lists neither who is working nor who gave up."""
    assignments = api.every(
        "list_assignments_for_hit",
        "Assignments",
        HITId=posting.external_id,
        AssignmentStatuses=list(_STATES),
    )
    for assignment in assignments:
        yield _submission(assignment)


def submission(api: MTurkApi, ref: SubmissionRef) -> PlatformSubmission | None:
    """Return the submission, or None if it belongs to another HIT or is not submitted yet."""
    try:
        assignment = api.read("get_assignment", AssignmentId=ref.external_id)["Assignment"]
    except ChannelRefused as error:
        if has_code(error, "AssignmentDoesNotExist", "InvalidAssignmentState"):
            return None
        raise
    return _submission(assignment) if assignment["HITId"] == ref.posting.external_id else None


def approve(api: MTurkApi, ref: SubmissionRef, message: str) -> None:
    """Pay the reward. Approved work stays approved."""
    known = submission_of_person(api, ref)
    if known.state == "approved":
        return
    _require_submitted(known)
    _judge(api, ref, "approve_assignment", "approved", message)


def reject(api: MTurkApi, ref: SubmissionRef, message: str) -> None:
    """Reject the work. The person can read why."""
    if not clipped(message, MAX_FEEDBACK):
        raise ChannelRefused("Enter a reason. The person will read it.", "no_reason")
    known = submission_of_person(api, ref)
    if known.state == "rejected":
        return
    _require_submitted(known)
    _judge(api, ref, "reject_assignment", "rejected", message)


def reverse(api: MTurkApi, ref: SubmissionRef, message: str, now: datetime) -> None:
    """Approve work that was rejected. This is possible within 30 days of submitting, while the HIT
    exists."""
    known = submission_of_person(api, ref)
    if known.state == "approved":
        return
    try:
        _judge(api, ref, "approve_assignment", "approved", message, OverrideRejection=True)
    except ChannelRefused as error:
        old = known.submitted_at is not None and known.submitted_at < now - REVERSIBLE
        if not (old and has_code(error, "InvalidAssignmentState")):
            raise
        raise ChannelRefused(
            "On MTurk, you can reverse a rejection only within 30 days after the work was "
            "submitted. Pay the person with a bonus instead.",
            error.code,
        ) from error


def _require_submitted(known: PlatformSubmission) -> None:
    if known.state != "submitted":
        raise ChannelRefused(
            f"On MTurk, this work is already {known.state}.",
            "AWS.MechanicalTurk.InvalidAssignmentState",
        )


def _judge(
    api: MTurkApi,
    ref: SubmissionRef,
    operation: str,
    wanted: SubmissionState,
    message: str,
    **options: object,
) -> None:
    text = clipped(message, MAX_FEEDBACK)
    feedback: dict[str, object] = {"RequesterFeedback": text} if text else {}
    try:
        api.tell(operation, AssignmentId=ref.external_id, **feedback, **options)
    except ChannelRefused as error:
        # MTurk may have approved it automatically since the last check.
        refused = has_code(error, "InvalidAssignmentState")
        if not refused or submission_of_person(api, ref).state != wanted:
            raise


def submission_of_person(api: MTurkApi, ref: SubmissionRef) -> PlatformSubmission:
    """Return the submission after checking whose it is. MTurk gives a returned assignment's id to
    the next person and pays the person who has it. Raises ChannelRefused."""
    known = submission(api, ref)
    if known is None:
        raise ChannelRefused(
            "MTurk has no record that this work was submitted.", "unknown_submission"
        )
    if known.person != ref.person:
        raise ChannelRefused(
            "According to MTurk, someone else submitted this, so nothing was done.", "other_person"
        )
    return known


def _submission(assignment: dict[str, Any]) -> PlatformSubmission:
    return PlatformSubmission(
        external_id=assignment["AssignmentId"],
        person=assignment["WorkerId"],
        state=_STATES[assignment["AssignmentStatus"]],
        accepted_at=assignment.get("AcceptTime"),
        submitted_at=assignment.get("SubmitTime"),
        auto_approved_at=assignment.get("AutoApprovalTime"),
        code=_code(assignment.get("Answer") or ""),
    )


def _code(answer: str) -> str:
    """Return what our page posted as its code, or an empty text if something else was posted."""
    try:
        code = answer_fields(answer).get(CODE_FIELD, "") if answer else ""
    except BadAnswer:
        return ""
    return code if re.fullmatch(r"[\w-]{0,100}", code, re.ASCII) else ""
