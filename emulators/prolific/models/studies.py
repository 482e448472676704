"""Studies and what they cost."""

import math
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from emulators.prolific.models.common import Link, Listed, Moment, Number, Strict, Text
from emulators.prolific.models.completion import CodePatch, CompletionCode
from emulators.prolific.models.filters import AnyFilter

StudyStatus = Literal[
    "UNPUBLISHED", "SCHEDULED", "PUBLISHING", "ACTIVE", "AWAITING REVIEW", "PAUSED", "COMPLETED"
]
StudyAction = Literal["PUBLISH", "SCHEDULE_PUBLISH", "CANCEL_PUBLISH", "PAUSE", "START", "STOP"]
Label = Literal[
    "survey", "writing_task", "annotation", "decision_making_task", "interview", "other",
    "ai_annotation", "ai_evaluation", "ai_reasoning", "ai_fact_checking", "ai_safety",
    "ai_data_creation_text", "ai_data_creation_audio", "ai_data_creation_video",
    "ai_data_creation_images", "ai_other",
]  # fmt: skip
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2048)]


class SubmissionsConfig(Strict):
    max_submissions_per_participant: Annotated[int, Field(ge=-1)] | None = 1
    max_concurrent_submissions: Annotated[int, Field(ge=-1)] | None = -1
    auto_rejection_categories: list[Literal["EXCEPTIONALLY_FAST"]] = Field(default_factory=list)


class StudyOptions(Strict):
    """The optional fields of a new study and of one that is read."""

    internal_name: str | None = None
    completion_codes: Annotated[list[CompletionCode], Field(min_length=1)] | None = None
    maximum_allowed_time: Annotated[Number, Field(gt=0)] | None = None
    device_compatibility: list[Literal["desktop", "tablet", "mobile"]] = Field(default_factory=list)
    peripheral_requirements: list[Literal["audio", "camera", "download", "microphone"]] = Field(
        default_factory=list
    )
    filters: list[AnyFilter] | None = None
    naivety_distribution_rate: Annotated[Number, Field(ge=0, le=1)] | None = None
    project: str | None = None
    submissions_config: SubmissionsConfig = Field(default_factory=SubmissionsConfig)
    study_labels: Annotated[list[Label], Field(max_length=1)] = Field(default_factory=list)
    content_warnings: Annotated[list[Literal["sensitive", "explicit"]], Field(max_length=1)] = (
        Field(default_factory=list)
    )
    content_warning_details: str | None = None
    metadata: str | None = None
    is_external_study_url_secure: bool = False
    has_credentials: Literal[False] = False

    # This emulator does not support these fields, so it refuses them unless they are null.
    filter_set_id: None = None
    filter_set_version: None = None
    credential_pool_id: None = None
    data_collection_method: None = None
    data_collection_id: None = None
    data_collection_metadata: None = None
    access_details: None = None


class StudySettings(StudyOptions):
    """The fields of a new draft: `POST /studies/`."""

    name: Text
    description: Text
    external_study_url: Url
    prolific_id_option: Literal["question", "url_parameters", "not_required"]
    total_available_places: Annotated[int, Field(ge=1)]
    estimated_completion_time: Annotated[Number, Field(ge=1)]
    reward: Annotated[int, Field(ge=1)]

    @field_validator("completion_codes")
    @classmethod
    def _unique(cls, codes: list[CompletionCode] | None) -> list[CompletionCode] | None:
        given = [code.code for code in codes or []]
        if len(set(given)) < len(given):
            raise ValueError("each code must be unique within a study")
        by_participants = [code for code in codes or [] if code.actor == "participant"]
        if len(by_participants) > 1 and any(code.code is None for code in by_participants):
            raise ValueError("a code that is null must be the participants' only code")
        return codes

    @model_validator(mode="after")
    def _time_enough(self) -> "StudySettings":
        least = least_allowed_time(self.estimated_completion_time)
        if self.maximum_allowed_time is not None and self.maximum_allowed_time < least:
            raise ValueError(f"maximum_allowed_time must be at least {least} minutes")
        for code in self.completion_codes or []:
            paid = code.screen_out_reward
            if paid is not None and paid >= self.reward:
                raise ValueError("fixed_screen_out_reward must be less than the reward")
        return self


class StudyPatch(StudyOptions):
    """`PATCH /studies/{id}/`: any field of a draft, but only four of a published study."""

    name: Text | None = None
    description: Text | None = None
    external_study_url: Url | None = None
    prolific_id_option: Literal["question", "url_parameters", "not_required"] | None = None
    total_available_places: Annotated[int, Field(ge=1)] | None = None
    estimated_completion_time: Annotated[Number, Field(ge=1)] | None = None
    reward: Annotated[int, Field(ge=1)] | None = None
    completion_codes: Annotated[list[CodePatch], Field(min_length=1)] | None = None  # type: ignore[assignment]


class Study(StudySettings):
    id: str
    status: StudyStatus
    is_ready_to_publish: bool


class StudyShort(Strict):
    id: str
    name: str
    internal_name: str | None
    status: StudyStatus
    study_type: Literal["SINGLE", "UK_REP_SAMPLE", "US_REP_SAMPLE"]
    estimated_completion_time: Number
    total_available_places: Number
    places_taken: Number
    number_of_submissions: Number
    reward: Number
    total_cost: Number
    published_at: Moment | None
    publish_at: Moment | None
    date_created: Moment
    credential_pool_id: str | None
    is_ready_to_publish: bool


class StudyList(Listed):
    results: list[StudyShort]


class StudyTransition(Strict):
    action: StudyAction
    publish_at: Moment | None = None


class CostQuestion(Strict):
    reward: Annotated[int, Field(ge=1)]
    total_available_places: Annotated[int, Field(ge=1)]


class Cost(Strict):
    total_cost: Number


class Amount(Strict):
    amount: Number
    currency: str


class CostBreakdown(Strict):
    rewards: Amount
    fees: Amount
    tax: Amount


class SelfLink(Strict):
    self: Link


class StudyCost(Strict):
    links: Annotated[SelfLink, Field(alias="_links")]
    rewards: CostBreakdown
    bonuses: CostBreakdown


class TestStudy(Strict):
    study_id: str
    study_url: str


class CloneStudy(Strict):
    block_previous_participants: bool = True


def least_allowed_time(estimated: float) -> int:
    """The minimum of `maximum_allowed_time` in minutes: 2 + 2 · time + 2 · √time."""
    return math.ceil(2 + 2 * estimated + 2 * math.sqrt(estimated))
