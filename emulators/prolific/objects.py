"""The objects of the emulated marketplace."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from emulators.prolific.models.completion import CompletionCode
from emulators.prolific.models.studies import StudySettings, StudyStatus, least_allowed_time
from emulators.prolific.models.submissions import Status

Attribute = str | int | float | list[str]
LONGEST_MINUTES = 24 * 60 - 1  # "always less than 24 hours"


def new_id() -> str:
    """A random id in the format of Prolific's ids."""
    return secrets.token_hex(12)


@dataclass
class Researcher:
    email: str
    token: str
    id: str = field(default_factory=new_id)
    testers: list[str] = field(default_factory=list)


@dataclass
class Workspace:
    owner: Researcher
    title: str
    currency: str
    fee_rate: Decimal
    vat_rate: Decimal
    id: str = field(default_factory=new_id)


@dataclass
class Project:
    workspace: Workspace
    title: str
    description: str = ""
    naivety: float | None = None
    id: str = field(default_factory=new_id)


@dataclass
class Participant:
    """A person. `attributes` has their answers to filters: ids of choices, or numbers."""

    email: str
    attributes: dict[str, Attribute] = field(default_factory=dict)
    tester_of: str | None = None
    id: str = field(default_factory=new_id)


@dataclass
class Study:
    project: Project
    settings: StudySettings
    created: datetime
    id: str = field(default_factory=new_id)
    status: StudyStatus = "UNPUBLISHED"
    published_at: datetime | None = None
    publish_at: datetime | None = None
    only_for: frozenset[str] | None = None  # a test study's participants
    former: dict[str, set[str]] = field(default_factory=dict)  # study id → who was in it, as frozen

    @property
    def workspace(self) -> Workspace:
        return self.project.workspace

    @property
    def codes(self) -> list[CompletionCode]:
        return self.settings.completion_codes or []

    def code(self, given: str | None) -> CompletionCode | None:
        return next((code for code in self.codes if code.code == given), None)

    @property
    def screen_out(self) -> CompletionCode | None:
        return next((code for code in self.codes if code.screen_out), None)

    @property
    def allowed_minutes(self) -> float:
        least = least_allowed_time(self.settings.estimated_completion_time)
        return self.settings.maximum_allowed_time or max(LONGEST_MINUTES, least)

    @property
    def live(self) -> bool:
        return self.status in ("ACTIVE", "PAUSED", "AWAITING REVIEW")


@dataclass
class Submission:
    study: Study
    participant: Participant
    started_at: datetime
    id: str = field(default_factory=new_id)
    status: Status = "RESERVED"
    shown: Status | None = None  # an older status that is still shown
    completed_at: datetime | None = None
    entered_code: str | None = None
    submitted: bool = False  # the participant came back, and the status is about to change
    reviewing: int = 0  # number of reviews so far, which voids an older automatic approval
    returned_from: Status = "ACTIVE"
    return_requested: datetime | None = None
    return_reasons: list[str] = field(default_factory=list)
    rejection: tuple[str, str] | None = None
    bonuses: list[int] = field(default_factory=list)
    history: list[tuple[datetime, Status]] = field(default_factory=list)

    @property
    def visible(self) -> Status:
        return self.shown or self.status


@dataclass
class Bulk:
    """A bonus payment that was set up, and how often it has been paid."""

    study: Study
    lines: list[tuple[Submission, int]]
    fees: int
    vat: int
    id: str = field(default_factory=new_id)
    paid: int = 0

    @property
    def amount(self) -> int:
        return sum(cents for _, cents in self.lines)

    @property
    def total(self) -> int:
        return self.amount + self.fees + self.vat


@dataclass
class Group:
    workspace: Workspace
    name: str
    description: str | None
    members: dict[str, datetime] = field(default_factory=dict)
    deleted: bool = False
    id: str = field(default_factory=new_id)


@dataclass
class Message:
    sender: str
    recipient: str
    body: str
    study: str
    sent_at: datetime
    id: str = field(default_factory=new_id)


@dataclass(frozen=True)
class Entry:
    """A line of the journal: money that came into a workspace (positive) or left it (negative)."""

    at: datetime
    workspace: str
    kind: str  # deposit, reward, partial, screen-out, bonus
    part: str  # money (to the participant), fee, vat
    amount: int
    study: str | None = None
    submission: str | None = None
    participant: str | None = None
    bulk: str | None = None


@dataclass(frozen=True)
class Violation:
    """The emulator broke its own contract, or a client used something that is not emulated."""

    at: datetime
    operation: str
    problem: str


@dataclass(frozen=True)
class Call:
    at: datetime
    operation: str
    path: str
    status: int
    fault: str | None
