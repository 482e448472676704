"""What Prolific calls the states of a submission and the reasons to reject one."""

from datetime import timedelta

from app.recruitment.channel import (
    ChannelRefused,
    PlatformSubmission,
    Rejection,
    SubmissionState,
)
from app.recruitment.channels.prolific_replies import SubmissionDetail, SubmissionShort

# "Submissions are approved automatically after 21 days" (researcher-help.prolific.com, 445207).
REVIEW_TIME = timedelta(days=21)
LEAST_MESSAGE = 100
REJECTION_CATEGORIES: dict[str, str] = {
    "TOO_QUICKLY": "Far too fast to have been done with care",
    "TOO_SLOWLY": "Far too slow",
    "FAILED_INSTRUCTIONS": "Did not follow the instructions",
    "INCOMP_LONGITUDINAL": "Did not do all parts of a study in parts",
    "FAILED_CHECK": "Failed attention checks",
    "LOW_EFFORT": "Little effort",
    "MALINGERING": "Pretended or lied",
    "NO_CODE": "Came back without a completion code",
    "BAD_CODE": "Came back with a wrong completion code",
    "NO_DATA": "No answers were received",
    "UNSUPP_DEVICE": "Used a device that was ruled out",
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
    """Raises ChannelRefused for what Prolific would not take."""
    if rejection.category not in REJECTION_CATEGORIES:
        raise ChannelRefused(
            f"Prolific knows no reason {rejection.category} for a rejection.", "category"
        )
    length = len(rejection.message.strip())
    if length < LEAST_MESSAGE:
        raise ChannelRefused(
            f"Prolific wants at least {LEAST_MESSAGE} characters that explain a rejection to the "
            f"person; there are {length}.",
            "message",
        )


def platform_submission(found: SubmissionShort | SubmissionDetail) -> PlatformSubmission:
    waits_since = found.completed_at if found.status == "AWAITING REVIEW" else None
    return PlatformSubmission(
        external_id=found.id,
        person=found.person,
        # A state that Prolific does not describe: nothing follows from it.
        state=_STATES.get(found.status, "accepted"),
        accepted_at=found.started_at,
        submitted_at=found.completed_at,
        auto_approved_at=waits_since + REVIEW_TIME if waits_since else None,
        code=found.code or "",
    )
