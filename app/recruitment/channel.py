"""The interface of a channel. Likewise contacts recruiting platforms only through it.

A channel has no state and no database session. Every request can be repeated with the same token
after a crash or a lost response. Three errors tell what repeating does.
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
    """A request to a platform failed. The message is written for the requester."""


# Matches Prolific's ids and MTurk's worker ids.
_IDS = re.compile(r"\b(?:[0-9a-f]{24}|A[A-Z0-9]{9,20})\b")


def redacted_message(error: ChannelError) -> str:
    """Return the message of an error to store and show, without people's ids that platforms name in
    it."""
    return _IDS.sub("…", str(error))


class ChannelRefused(ChannelError):
    """The platform refused permanently: nothing happened, and repeating changes nothing.

    code: the platform's own code, such as `AWS.MechanicalTurk.InsufficientFunds`.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class NotAtWork(ChannelRefused):
    """According to the platform, this person is not at work on this posting."""


class ChannelUnavailable(ChannelError):
    """The request failed for now: nothing happened, or repeating is harmless. Examples are
    throttling, time-outs and 5xx responses."""


class OutcomeUnknown(ChannelError):
    """Money may have moved, so check before you pay again."""


@dataclass(frozen=True)
class Cost:
    """What something costs, in cents."""

    reward_cents: int
    fee_cents: int

    @property
    def total_cents(self) -> int:
        return self.reward_cents + self.fee_cents


@dataclass(frozen=True)
class PostingOrder:
    """A posting to publish. `token` marks it on the platform, so that a posting whose response was
    lost is found again instead of being published twice.

    url: the address of this recruitment's annotators' page, without the platform's parameters.
    excluded: the platform's ids of people who may not take part, if the platform needs a list.
    campaign: marks what belongs to the campaign on the platform; the same for all its postings.
    attempts: the number of this attempt; from 2 on, an earlier attempt may have taken effect.
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
    """A request that would be sent to a platform: its name and its JSON body."""

    name: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Compensation:
    """Money for one person who worked but could not submit, paid through a posting that nobody else
    sees.

    url: the page that says what the payment is for and submits it.
    days: how long the posting stays open.
    attempts: the number of this attempt.
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
    """A published posting: its id on the platform and the JSON details from publishing it."""

    external_id: str
    details: dict[str, Any]
    settings: Any


@dataclass(frozen=True)
class PostingStatus:
    """The state of a posting on the platform.

    state: `paused` only if the platform has that state.
    taken: places that nobody else can have because someone is at work or has submitted.
    at_work: accepted but not submitted, if the platform reports it.
    """

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

    code: the completion code that the person entered, if the platform asks for one.
    auto_approved_at: when the platform pays automatically unless the work is rejected.
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
    """`category` is one of the channel's `rejection_categories`, and the person reads `message`."""

    category: str
    message: str


@dataclass(frozen=True)
class BonusOrder:
    """A payment on top of the reward.

    token: the same in every attempt; also part of the payment's text if the platform stores one.
    earlier_cents: bonuses that this person is known to have received for this submission.
    """

    token: str
    submission: SubmissionRef
    amount_cents: int
    currency: str
    reason: str
    earlier_cents: tuple[int, ...] = ()


@dataclass(frozen=True)
class BonusOutcome:
    """The result of a bonus. It was paid if `error` is None. `external_id` is set if the platform
    gives payments ids."""

    token: str
    external_id: str = ""
    error: ChannelError | None = None


@dataclass(frozen=True)
class Checked:
    """The result of checking an account. `problems` prevent recruiting, `warnings` do not."""

    balance_cents: int | None
    currency: str
    who: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Message:
    """A message to a person who took part in a posting.

    since: when the requester asked for it to be sent.
    repeated: whether it was tried before.
    unanswered: whether the last attempt ended before it was recorded what became of it.
    """

    person: str
    posting: PostingRef
    subject: str
    text: str
    since: datetime
    repeated: bool = False
    unanswered: bool = False


MAYBE_SENT = "This message may or may not have been sent. It is not sent again by itself."


class Channel(Protocol):
    """One account on one platform. All methods can raise ChannelRefused and ChannelUnavailable.

    bonuses_repeatable: whether a bonus with the same token is paid once, however often it is
        requested.
    bonus_batch: how many bonuses of one posting `pay_bonuses` takes at once.
    """

    bonuses_repeatable: bool
    bonus_batch: int

    def check(self) -> Checked:
        """Check whether the credentials work and what they are allowed to do."""
        ...

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        """Publish a posting. Return its id on the platform and details to store. Repeatable."""
        ...

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        """Return the requests that `publish` would send, as far as they are known in advance. None
        is sent."""
        ...

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        """Add places. This is repeatable with the same token. It is repeatable forever only with
        `total`, the resulting number of places, because platforms forget tokens."""
        ...

    def pause(self, posting: PostingRef) -> None:
        """Let no new people take part. People at work continue. Repeatable."""
        ...

    def resume(self, posting: PostingRef) -> None:
        """Undo `pause`. Repeatable."""
        ...

    def stop(self, posting: PostingRef) -> None:
        """Let no new people take part, permanently. People at work can still submit. Repeatable."""
        ...

    def status(self, posting: PostingRef) -> PostingStatus:
        """Return the state of the posting on the platform."""
        ...

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        """Yield the platform's records of all work on a posting."""
        ...

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        """Return the platform's record of one submission, or None if it has none, or none yet."""
        ...

    def approve(self, ref: SubmissionRef, message: str) -> None:
        """Pay the reward. Repeatable: approved work stays approved."""
        ...

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        """Reject the work, so that no reward is paid. Repeatable."""
        ...

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        """Approve work that was rejected. Repeatable."""
        ...

    def screen_out(self, ref: SubmissionRef) -> None:
        """Pay the posting's fixed screen-out amount instead of the reward. Repeatable."""
        ...

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        """Pay bonuses of one posting. Return an outcome for each, with OutcomeUnknown if it is not
        known."""
        ...

    def find_bonus(self, order: BonusOrder) -> str | None:
        """Return the id of a bonus that an earlier attempt paid ("" if the platform has no ids), or
        None if the platform shows no such payment."""
        ...

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        """Return what the platform has paid on top of the reward for each of these submissions, in
        cents."""
        ...

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        """Exclude these people from this and later postings of the same campaign. Repeatable."""
        ...


class Compensating(Channel, Protocol):
    """A channel that can pay people who have no submission there."""

    def compensate(self, order: Compensation) -> tuple[str, dict[str, Any]]:
        """Publish a posting that only one person can see. It returns the same as `publish`.
        Repeatable."""
        ...


class Notifying(Channel, Protocol):
    """A channel that can send signed notifications."""

    def ensure_hooks(self, url: str) -> str:
        """Have events sent to `url`, and return the secret that signs them. Repeatable."""
        ...


class Messaging(Channel, Protocol):
    """A channel that can send messages to people who took part."""

    def send_message(self, message: Message) -> None:
        """Send a message. Raises ChannelRefused also if nobody can know whether an earlier attempt
        has sent it, because it is not sent twice."""
        ...


def can_message(channel: Channel) -> TypeGuard[Messaging]:
    return hasattr(channel, "send_message")


def can_notify(channel: Channel) -> TypeGuard[Notifying]:
    return hasattr(channel, "ensure_hooks")


def can_compensate(channel: Channel) -> TypeGuard[Compensating]:
    return hasattr(channel, "compensate")
