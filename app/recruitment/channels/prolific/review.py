"""Prolific's names for the states of a submission and for rejection categories."""

from datetime import timedelta

from app.recruitment.channel import (
    ChannelRefused,
    PlatformSubmission,
    Rejection,
    SubmissionState,
)
from app.recruitment.channels.prolific.replies import SubmissionDetail, SubmissionShort

# "Submissions are approved automatically after 21 days" (researcher-help.prolific.com, 445207).
REVIEW_TIME = timedelta(days=21)
LEAST_MESSAGE = 100
REJECTION_CATEGORIES: dict[str, str] = {
    "TOO_QUICKLY": "Much too fast to have been done carefully",
    "TOO_SLOWLY": "Much too slow",
    "FAILED_INSTRUCTIONS": "Did not follow the instructions",
    "INCOMP_LONGITUDINAL": "Did not complete all parts of a multi-part study",
    "FAILED_CHECK": "Failed attention checks",
    "LOW_EFFORT": "Low effort",
    "MALINGERING": "Gave false or misleading answers",
    "NO_CODE": "Returned without a completion code",
    "BAD_CODE": "Returned with a wrong completion code",
    "NO_DATA": "No answers were received",
    "UNSUPP_DEVICE": "Used an unsupported device",
    "OTHER": "Other",
}
AT_WORK = {"RESERVED", "ACTIVE"}
APPROVED = {"APPROVED", "PARTIALLY APPROVED"}
_STATES: dict[str, SubmissionState] = {
    "RESERVED": "accepted",
    "ACTIVE": "accepted",
    "AWAITING REVIEW": "submitted",
    "APPROVED": "approved",
    "PARTIALLY APPROVED": "approved",
    "REJECTED": "rejected",
    "RETURNED": "returned",
    "TIMED-OUT": "timed_out",
    "SCREENED OUT": "screened_out",
}


def check_rejection(rejection: Rejection) -> None:
    """Raise ChannelRefused for what Prolific would not accept."""
    if rejection.category not in REJECTION_CATEGORIES:
        raise ChannelRefused(
            f"Prolific has no rejection category {rejection.category}.", "category"
        )
    length = len(rejection.message.strip())
    if length < LEAST_MESSAGE:
        raise ChannelRefused(
            f"Prolific requires a reason of at least {LEAST_MESSAGE} characters for a rejection. "
            f"Yours has {length}.",
            "message",
        )


def platform_submission(submission: SubmissionShort | SubmissionDetail) -> PlatformSubmission:
    waits_since = submission.completed_at if submission.status == "AWAITING REVIEW" else None
    return PlatformSubmission(
        external_id=submission.id,
        person=submission.person,
        # Prolific does not document this state, so nothing follows from it.
        state=_STATES.get(submission.status, "accepted"),
        accepted_at=submission.started_at,
        submitted_at=submission.completed_at,
        auto_approved_at=waits_since + REVIEW_TIME if waits_since else None,
        code=submission.code or "",
    )
