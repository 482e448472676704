"""Submissions, their transitions and bonuses."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emulators.prolific.models.common import Listed, Moment, Number, Strict, Text

Status = Literal[
    "RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED",
    "RETURNED", "TIMED-OUT", "SCREENED OUT", "UNKNOWN",
]  # fmt: skip
Action = Literal[
    "APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN"
]
Category = Literal[
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK",
    "LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
]  # fmt: skip


class SubmissionShort(Strict):
    id: str
    participant_id: str
    status: Status
    started_at: Moment
    has_siblings: bool
    completed_at: Moment | None = None
    study_code: str | None = None
    return_requested: Moment | None = None


class SubmissionList(Listed):
    results: list[SubmissionShort]


class Submission(Strict):
    """The response to a transition."""

    id: str
    participant: str
    started_at: Moment
    status: Status
    study_id: str
    completed_at: Moment | None = None
    entered_code: str | None = None


class SubmissionDetail(Submission):
    parent_study_id: str | None = None
    bonus_payments: list[Number] = Field(default_factory=list)
    return_requested: Moment | None = None


class SubmissionCounts(Strict):
    active: Annotated[int, Field(alias="ACTIVE")]
    approved: Annotated[int, Field(alias="APPROVED")]
    awaiting: Annotated[int, Field(alias="AWAITING REVIEW")]
    rejected: Annotated[int, Field(alias="REJECTED")]
    reserved: Annotated[int, Field(alias="RESERVED")]
    returned: Annotated[int, Field(alias="RETURNED")]
    timed_out: Annotated[int, Field(alias="TIMED-OUT")]
    partially: Annotated[int, Field(alias="PARTIALLY APPROVED")]
    screened: Annotated[int, Field(alias="SCREENED OUT")]
    total: Annotated[int, Field(alias="TOTAL")]


class CodeData(Strict):
    percentage_of_reward: Annotated[Number, Field(ge=8, le=99)] | None = None
    message_to_participant: str | None = None


class Transition(Strict):
    action: Action
    message: str | None = None
    rejection_category: Category | None = None
    completion_code: Text | None = None
    completion_code_data: CodeData | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Transition":
        if self.action == "REJECT":
            if self.rejection_category is None:
                raise ValueError("rejection_category is required if action is REJECT")
            if len(self.message or "") < 100:
                raise ValueError("message must be at least 100 characters long if action is REJECT")
        if self.action in ("COMPLETE", "SCREEN_OUT") and self.completion_code is None:
            raise ValueError(f"completion_code is required if action is {self.action}")
        return self


class ReturnQuestion(Strict):
    request_return_reasons: Annotated[list[Text], Field(min_length=1)]


class ReturnRequested(Strict):
    id: str
    status: Status
    participant: str
    return_requested: Moment


# Prolific recommends against more. The emulator refuses them, so that no client relies on them.
MOST_APPROVED = 1000
MOST_BONUSES = 200
Ids = Annotated[list[Text], Field(min_length=1, max_length=MOST_APPROVED)]


class ApproveByParticipant(Strict):
    study_id: Text
    participant_ids: Ids


class ApproveBySubmission(Strict):
    submission_ids: Ids


BulkApprove = ApproveByParticipant | ApproveBySubmission


class BonusQuestion(Strict):
    study_id: Text
    csv_bonuses: Text


class BulkBonus(Strict):
    id: str
    study: str
    amount: Number
    fees: Number
    vat: Number
    total_amount: Number
