"""What Likewise asks of a channel: the only way it speaks to a platform that people come from.

A channel holds no state and no database session. Every request may be made again after a crash or
a lost reply, with the same token; what that does is told by three errors.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeGuard

SubmissionState = Literal[
    "accepted",
    "submitted",
    "approved",
    "rejected",
    "returned",
    "timed_out",
    "screened_out",
]


class ChannelError(Exception):
    """A request to a platform failed; the message is fit for the requester."""


# Prolific's ids, and MTurk's of workers.
_IDS = re.compile(r"\b(?:[0-9a-f]{24}|A[A-Z0-9]{9,20})\b")


def said_by(error: ChannelError) -> str:
    """What is kept and shown of an error: without the ids of people that platforms name in it."""
    return _IDS.sub("…", str(error))


class ChannelRefused(ChannelError):
    """The platform said no, for good: nothing happened, and repeating changes nothing.

    code: the platform's own code, as `AWS.MechanicalTurk.InsufficientFunds`.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class ChannelUnavailable(ChannelError):
    """Not now: nothing happened, or repeating is harmless. Throttling, time-outs, 5xx."""


class OutcomeUnknown(ChannelError):
    """Money may have moved: look before you pay again."""


@dataclass(frozen=True)
class Cost:
    """What something costs, in hundredths of the currency."""

    reward_cents: int
    fee_cents: int

    @property
    def total_cents(self) -> int:
        return self.reward_cents + self.fee_cents


@dataclass(frozen=True)
class PostingOrder:
    """What is to stand on the platform. `token` marks it there, so that a posting whose reply was
    lost is found again instead of being made twice.

    url: where an annotator's page of this recruitment is, without the platform's parameters
    excluded: the platform's ids of people who may not take part, where the platform wants a list
    campaign: marks what belongs to the campaign on the platform, the same for all its postings
    attempts: which attempt this is; from the second on, an earlier one may have had its effect
    """

    token: str
    title: str
    description: str
    url: str
    places: int
    reward_cents: int
    currency: str
    settings: Any
    excluded: tuple[str, ...] = ()
    campaign: str = ""
    attempts: int = 1


@dataclass(frozen=True)
class PlannedRequest:
    """What would be asked of a platform: the name of its call, and what is sent (JSON)."""

    name: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Compensation:
    """Money for one person who worked but could not hand in: a posting that nobody else sees.

    url: the page that says what it is for, and that hands in; days: how long it stands.
    attempts: which attempt this is
    """

    token: str
    person: str
    amount_cents: int
    currency: str
    title: str
    description: str
    url: str
    days: int = 30
    attempts: int = 1


@dataclass(frozen=True)
class PostingRef:
    """A posting that stands: its id on the platform and what publishing told of it (JSON)."""

    external_id: str
    details: dict[str, Any]
    settings: Any


@dataclass(frozen=True)
class PostingStatus:
    """taken: places that nobody else can have: at work or handed in. `paused` where the platform
    knows that state. at_work: accepted and not handed in, where the platform tells."""

    state: Literal["open", "paused", "closed"]
    places: int
    taken: int
    at_work: int | None = None


@dataclass(frozen=True)
class SubmissionRef:
    """One person's work on a posting, by the platform's ids."""

    posting: PostingRef
    external_id: str
    person: str


@dataclass(frozen=True)
class PlatformSubmission:
    """The platform's own record of one person's work. Times are UTC.

    code: the completion code that the person gave, where the platform asks for one
    auto_approved_at: when the platform pays by itself unless somebody says no
    """

    external_id: str
    person: str
    state: SubmissionState
    accepted_at: datetime | None = None
    submitted_at: datetime | None = None
    auto_approved_at: datetime | None = None
    code: str = ""


@dataclass(frozen=True)
class Rejection:
    """category: one of the channel's `rejection_categories`; message: what the person reads."""

    category: str
    message: str


@dataclass(frozen=True)
class BonusOrder:
    """A payment beyond the reward.

    token: the same at every attempt; also part of what is paid, where the platform keeps a text
    earlier_cents: bonuses that this person is known to have for this submission already
    """

    token: str
    submission: SubmissionRef
    amount_cents: int
    currency: str
    reason: str
    earlier_cents: tuple[int, ...] = ()


@dataclass(frozen=True)
class BonusOutcome:
    """error is None: paid. `external_id` where the platform names payments."""

    token: str
    external_id: str = ""
    error: ChannelError | None = None


@dataclass(frozen=True)
class Checked:
    """What a look at the account found. `problems` prevent recruiting, `warnings` do not."""

    balance_cents: int | None
    currency: str
    who: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Channel(Protocol):
    """One account on one platform. All methods may raise ChannelRefused and ChannelUnavailable.

    bonuses_repeatable: a bonus with the same token is paid once however often it is asked for.
    bonus_batch: how many bonuses of one posting `pay_bonuses` takes at a time.
    """

    bonuses_repeatable: bool
    bonus_batch: int

    def check(self) -> Checked:
        """Whether the credentials work and what they may do."""
        ...

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        """Put a posting on the platform; its id there and details to keep. Repeatable."""
        ...

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        """The requests that `publish` would make, as far as they are known beforehand; none is
        made."""
        ...

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        """So many more places. Repeatable with the same token; for ever only with `total`, how
        many places there are to be in the end, because platforms forget tokens."""
        ...

    def pause(self, posting: PostingRef) -> None:
        """Nobody new may take part; those at work go on. Repeatable."""
        ...

    def resume(self, posting: PostingRef) -> None:
        """Undo `pause`. Repeatable."""
        ...

    def stop(self, posting: PostingRef) -> None:
        """For good: nobody new may take part; those at work may still hand in. Repeatable."""
        ...

    def status(self, posting: PostingRef) -> PostingStatus:
        """How the platform sees the posting."""
        ...

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        """All that the platform tells of a posting's work."""
        ...

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        """The platform's record of one submission; None when it knows none, or not yet."""
        ...

    def approve(self, ref: SubmissionRef, message: str) -> None:
        """Pay the reward. Repeatable: what is approved stays so."""
        ...

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        """Refuse the reward. Repeatable."""
        ...

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        """Approve what was rejected. Repeatable."""
        ...

    def screen_out(self, ref: SubmissionRef) -> None:
        """Pay the posting's fixed screen-out amount instead of the reward. Repeatable."""
        ...

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        """Pay bonuses of one posting; an outcome for each, OutcomeUnknown where none is known."""
        ...

    def find_bonus(self, order: BonusOrder) -> str | None:
        """The id (or "" where there are none) of a bonus that an earlier attempt paid; None: the
        platform shows no such payment."""
        ...

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        """What the platform says that was paid beyond the reward, in hundredths, for each of these
        submissions."""
        ...

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        """Keep these people from this and later postings of the same campaign. Repeatable."""
        ...


class Compensating(Channel, Protocol):
    """A channel that can pay people who have no submission there."""

    def compensate(self, order: Compensation) -> tuple[str, dict[str, Any]]:
        """Put up a posting for one person alone; as `publish`. Repeatable."""
        ...


class Notifying(Channel, Protocol):
    """A channel that can send signed notifications."""

    def ensure_hooks(self, url: str) -> str:
        """Have events sent to `url`; the secret that signs them. Repeatable."""
        ...


def can_notify(channel: Channel) -> TypeGuard[Notifying]:
    return hasattr(channel, "ensure_hooks")


def can_compensate(channel: Channel) -> TypeGuard[Compensating]:
    return hasattr(channel, "compensate")
