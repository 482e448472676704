"""Users, workspaces, projects, participant groups and messages."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emulators.prolific.models.common import Email, Listed, Moment, Number, Strict, Text


class User(Strict):
    id: str
    email: str


class TestParticipantQuestion(Strict):
    email: Email


class TestParticipant(Strict):
    participant_id: str


class Member(Strict):
    id: str
    name: str
    email: str
    roles: list[str]


class WorkspaceShort(Strict):
    id: str
    title: str
    description: str
    owner: str
    users: list[Member]
    naivety_distribution_rate: Number | None


class ProjectShort(Strict):
    id: str
    title: str
    description: str
    owner: str
    type: Literal["PRIVATE", "PUBLIC"]
    public_details: None
    users: list[Member]
    naivety_distribution_rate: Number | None


class Project(ProjectShort):
    workspace: str
    is_longitudinal: bool


class ProjectQuestion(Strict):
    """A new project. This emulator does not support public and longitudinal projects."""

    title: Text
    description: str = ""
    type: Literal["PRIVATE"] = "PRIVATE"
    naivety_distribution_rate: Annotated[Number, Field(ge=0, le=1)] | None = None


class Workspace(WorkspaceShort):
    projects: list[ProjectShort]
    wallet: str


class WorkspaceList(Listed):
    results: list[WorkspaceShort]


class ProjectList(Listed):
    results: list[ProjectShort]


class Breakdown(Strict):
    """The fields' names are this emulator's: Prolific describes them only in words."""

    rewards: int
    fees: int
    vat: int


class Balance(Strict):
    currency_code: str
    total_balance: int
    balance_breakdown: Breakdown
    available_balance: int
    available_balance_breakdown: Breakdown


class FeederCode(Strict):
    code: str
    code_type: str
    action: Literal["ADD_TO_PARTICIPANT_GROUP", "REMOVE_FROM_PARTICIPANT_GROUP"]


class FeederStudy(Strict):
    id: str
    name: str
    internal_name: str
    status: str
    feeder_completion_codes: list[FeederCode]


class Group(Strict):
    id: str
    name: str
    project_id: str | None
    workspace_id: str | None
    organisation_id: str | None
    description: str | None
    participant_count: int
    is_deleted: bool
    feeder_studies: list[FeederStudy]


class GroupList(Listed):
    results: list[Group]


class GroupQuestion(Strict):
    name: Text
    workspace_id: str | None = None
    organisation_id: None = None
    description: str | None = None
    participant_ids: list[Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _somewhere(self) -> "GroupQuestion":
        if self.workspace_id is None:
            raise ValueError("workspace_id is required")
        return self


class GroupPatch(Strict):
    name: Text | None = None
    participant_ids: list[Text] | None = None


class ParticipantIds(Strict):
    participant_ids: list[Text]


class Membership(Strict):
    participant_id: str
    datetime_created: Moment


class MembershipList(Strict):
    results: list[Membership]


class MessageData(Strict):
    study_id: str


class Message(Strict):
    id: str
    sender_id: str
    body: str
    sent_at: Moment
    type: str
    channel_id: str
    data: MessageData


class MessageList(Listed):
    results: list[Message]


class SendMessage(Strict):
    recipient_id: Text
    body: Text
    study_id: Text


class SendMessages(Strict):
    ids: Annotated[list[Text], Field(min_length=1)]
    body: Text
    study_id: Text
