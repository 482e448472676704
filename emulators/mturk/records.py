"""The emulator's records, which market.py, money.py and the operations change."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from emulators.mturk.shapes import Document


@dataclass
class Requester:
    access_key: str
    secret: str
    customer_id: str
    deposit: Decimal
    blocks: dict[str, str] = field(default_factory=dict)  # worker id → reason


@dataclass
class Worker:
    """A worker. Approvals increase `number_approved`; the percentage never changes."""

    worker_id: str
    country: str = "US"
    subdivision: str | None = None
    percent_approved: int = 100
    number_approved: int = 0
    adult: bool = False


@dataclass
class HitType:
    hit_type_id: str
    group_id: str
    owner: str
    title: str
    description: str
    keywords: str
    reward: Decimal
    duration: timedelta
    auto_approval: timedelta
    requirements: list[Document]
    notification: Document | None = None
    notifying: bool = False


@dataclass
class Hit:
    hit_id: str
    hit_type: HitType
    owner: str
    created: datetime
    expires: datetime
    max_assignments: int
    question: str
    url: str
    frame_height: int
    annotation: str | None
    reviewing: bool = False
    disposed: bool = False
    # Whether the event was already sent: each is sent once whenever it becomes true.
    expiry_notified: bool = False
    reviewable_since: datetime | None = None
    # Ids of returned and abandoned assignments, which MTurk gives to the next worker.
    free_ids: list[str] = field(default_factory=list)
    assignments: list["Assignment"] = field(default_factory=list)


AssignmentState = Literal["Accepted", "Returned", "Abandoned", "Submitted", "Approved", "Rejected"]


@dataclass
class Assignment:
    """One worker's place in a HIT. Workers can have the same id in turn; see free_ids."""

    assignment_id: str
    hit: Hit
    worker_id: str
    accepted: datetime
    deadline: datetime
    state: AssignmentState = "Accepted"
    submitted: datetime | None = None
    auto_approves: datetime | None = None
    visible: datetime | None = None  # when lists show it (late arrivals)
    approved: datetime | None = None
    rejected: datetime | None = None
    answer: str = ""
    feedback: str | None = None


@dataclass
class Bonus:
    owner: str
    worker_id: str
    assignment: Assignment
    amount: Decimal
    reason: str
    granted: datetime


@dataclass
class QualificationType:
    type_id: str
    owner: str
    created: datetime
    name: str
    description: str
    keywords: str | None
    status: str
    retry_delay: int | None
    auto_granted: bool
    auto_value: int


@dataclass
class Grant:
    type_id: str
    worker_id: str
    value: int
    granted: datetime
    status: Literal["Granted", "Revoked"] = "Granted"


@dataclass
class JournalEntry:
    """A payment from a requester's account. Amounts are exact, even below a cent."""

    at: datetime
    requester: str
    kind: Literal["reward", "fee", "bonus", "bonus_fee"]
    amount: Decimal
    worker_id: str
    hit_id: str
    assignment_id: str
    token: str | None = None
