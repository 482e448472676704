"""The parts of Prolific's responses that are used here. Amounts are in cents unless a field says
otherwise."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field

from app.recruitment.channels.prolific.http import Reply


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]


class Nothing(Reply):
    """A response that only confirms success."""


class User(Reply):
    id: str
    email: str = ""


class Workspace(Reply):
    id: str
    title: str = ""


class Project(Reply):
    id: str
    title: str = ""


class Balance(Reply):
    currency_code: str = ""
    available_balance: int | None = None


class Action(Reply):
    action: str
    fixed_screen_out_reward: int | None = None
    slots: int | None = None


class Code(Reply):
    code: str | None
    code_type: str = ""
    actor: str = "participant"
    actions: tuple[Action, ...] = ()


class StudyShort(Reply):
    id: str
    status: str = ""
    internal_name: str | None = None


class Filter(Reply):
    filter_id: str
    selected_values: tuple[str, ...] = ()


class Study(StudyShort):
    total_available_places: float
    completion_codes: tuple[Code, ...] | None = None
    filters: tuple[Filter, ...] | None = None


class Cost(Reply):
    total_cost: float


class FilterChoices(Reply):
    """A filter as Prolific offers it. `choices` of a select filter has labels by id."""

    filter_id: str
    type: str = ""
    choices: dict[str, object] = Field(default_factory=dict)


class SubmissionShort(Reply):
    id: str
    status: str
    person: str = Field(alias="participant_id")
    started_at: Moment | None = None
    completed_at: Moment | None = None
    code: str | None = Field(default=None, alias="study_code")


class SubmissionDetail(Reply):
    id: str
    study_id: str
    status: str
    person: str = Field(default="", alias="participant")
    started_at: Moment | None = None
    completed_at: Moment | None = None
    code: str | None = Field(default=None, alias="entered_code")
    bonus_payments: tuple[Decimal, ...] | None = None


class Counts(Reply):
    """How many submissions of a study are in each state."""

    active: int = Field(default=0, alias="ACTIVE")
    reserved: int = Field(default=0, alias="RESERVED")
    awaiting_review: int = Field(default=0, alias="AWAITING REVIEW")
    approved: int = Field(default=0, alias="APPROVED")
    partially_approved: int = Field(default=0, alias="PARTIALLY APPROVED")
    rejected: int = Field(default=0, alias="REJECTED")


class Bulk(Reply):
    id: str


class Group(Reply):
    id: str
    name: str = ""
    is_deleted: bool = False


class Secret(Reply):
    value: str
    workspace_id: str = ""


class Subscription(Reply):
    id: str
    event_type: str = ""
    target_url: str = ""
    is_enabled: bool = True


class SentMessage(Reply):
    body: str = ""
