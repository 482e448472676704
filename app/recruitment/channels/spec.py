"""What a channel is to the rest of the code. Each platform describes itself in a folder here.

The rest of the code asks these descriptions and knows no platform by its name. They have no state
and no database session. Talking to a platform is `app.recruitment.channel.Channel`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from app.annotation.schemas import HandIn, Reading
from app.recruitment.channel import Channel, PostingRef
from app.recruitment.channels.paid import Paid


@dataclass(frozen=True)
class Credentials:
    """What a channel needs to act for an account. This is never logged.

    environment: `production`, `sandbox` or `custom` (the endpoint in the operator's settings).
    secret: by the channel's own names, or None to use the server's own environment or its profile
        `profile`.
    """

    environment: str
    secret: dict[str, str] | None
    profile: str = ""


@dataclass(frozen=True)
class RejectionRules:
    """What a platform requires for a rejection.

    categories: descriptions by the platform's own names; empty if it has no categories.
    least: the minimum length of the reason in characters.
    """

    categories: Mapping[str, str]
    least: int


@dataclass(frozen=True)
class SecretField:
    """A part of the credentials. `is_hidden`: forms do not show it while it is entered."""

    label: str
    is_hidden: bool = True


@dataclass(frozen=True)
class PlatformEvent:
    """A notification that something changed, by the platform's ids, "" where it names none.

    seen_keys: later notifications with one of these are ignored. given_back_at: when the place was
        given back, if that is what happened.
    """

    posting: str = ""
    submission: str = ""
    seen_keys: tuple[str, ...] = ()
    given_back_at: datetime | None = None


@dataclass(frozen=True)
class Arrival:
    """What a platform's address claims. Nothing of it has been checked yet."""

    assignment: str
    posting: str
    person: str


class Entry(BaseModel):
    """The body with which the annotators' page opens a session on a platform: the link, and what
    the platform's address says."""

    link: str = Field(max_length=500)
    language: Reading = ""


@dataclass(frozen=True)
class Place:
    """What a session on a platform is about: the paying account's environment, the details of the
    posting, what the address says, and our id of the assignment."""

    environment: str
    posting: dict[str, Any]
    entry: Any
    assignment: str


class ChannelSpec(ABC):
    """A platform on which people are recruited and paid.

    name, title, short_title: as stored, as on requesters' pages, as on annotators' pages.
    about: whether and how people can be recruited there today.
    credentials_help: where a requester gets the credentials from.
    secrets: the parts of the credentials, by name.
    uses_server_credentials: whether admins can use the server's own credentials.
    settings: what a requester decides about a recruitment.
    currency: the only one in which it pays, or None for any.
    rejections: what it requires for a rejection.
    posting, one_posting, many_postings: what it calls what people find there; `{n}` is their
        number. posting_note: explains the word to requesters, if it needs that.
    grows: whether places can be added to a posting without a higher fee.
    full_looks_closed: whether a posting that is full looks closed but opens again when a place is
        given back.
    compensates: whether somebody without a submission can be paid, through a posting of their own;
        bonuses are only for submissions there.
    messages: whether messages can be sent to people who took part.
    entry: the body that opens an annotator's session; the page empties a field `token` once it is
        100 seconds old. tells_person: the fields of the address that
        identify one person's assignment.
    must_confirm: whether nobody is let in while the platform cannot be asked who they are.
    notifies: whether it sends signed notifications to `/hooks/<name>/…`.
    look: the message on the annotators' page that says how to begin, while it is only looked at.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    short_title: ClassVar[str]
    about: ClassVar[str]
    credentials_help: ClassVar[str]
    secrets: ClassVar[dict[str, SecretField]]
    settings: ClassVar[type[Paid]]
    rejections: ClassVar[RejectionRules]
    entry: ClassVar[type[Entry]]
    tells_person: ClassVar[tuple[str, ...]]
    uses_server_credentials: ClassVar[bool] = False
    currency: ClassVar[str | None] = None
    posting: ClassVar[str] = "posting"
    posting_note: ClassVar[str] = ""
    one_posting: ClassVar[str] = "1 posting"
    many_postings: ClassVar[str] = "{n} postings"
    grows: ClassVar[bool] = True
    full_looks_closed: ClassVar[bool] = False
    compensates: ClassVar[bool] = False
    messages: ClassVar[bool] = False
    must_confirm: ClassVar[bool] = True
    notifies: ClassVar[bool] = False
    look: ClassVar[str] = "look_platform"

    @abstractmethod
    def environments(self) -> list[str]:
        """Return the environments that an account can have on this server, the usual one first."""

    @abstractmethod
    def open(self, credentials: Credentials) -> Channel:
        """Return the channel, without asking the platform. Raises ChannelRefused if the credentials
        cannot be used."""

    @abstractmethod
    def reward_fee(self, cents: int, places: int) -> int:
        """Return the fee for one reward of a posting with so many places, in cents, rounded up."""

    @abstractmethod
    def bonus_fee(self, cents: int) -> int:
        """Return the fee for a bonus, in cents, rounded up."""

    def split(self, places: int, settings: Paid) -> list[int]:
        """Return the places of each posting that these places are split into."""
        return [places]

    def problems(self, environment: str) -> list[str]:
        """Return what must be fixed on this server before people can be recruited."""
        return []

    @abstractmethod
    def claims(self, query: Mapping[str, str], environment: str) -> dict[str, str] | None:
        """Return what the address of the annotators' page says, by the fields of `entry`; None
        while nobody has taken a place, so that the page is only looked at. Raises LikewiseError if
        the address would do harm."""

    @abstractmethod
    def arrival(self, entry: Any) -> Arrival:
        """Return who claims to arrive."""

    @abstractmethod
    def confirm(self, channel: Channel, posting: PostingRef, entry: Any, page: str) -> None:
        """Ask the platform whether this person is at work on this posting. `page` is the address
        that the platform sends people to.

        Raises NotAtWork, with a sentence that says so and a code, if they are not. Any other
        ChannelError means that the platform could not be asked.
        """

    @abstractmethod
    def ways_back(self, place: Place) -> dict[str, HandIn]:
        """Return how a session ends on the platform: `hand_in`, and where there is one `declined`
        (without consent) and `screened_out` (after failed practice). Raises LikewiseError."""

    def thanks(self, query: Mapping[str, str], environment: str) -> tuple[str, str] | None:
        """Return the assignment and the address to submit to, on the page of a posting that pays
        one person for earlier work; None while they have not accepted it."""
        return None

    def framed_by(self) -> str:
        """Return the origins that may show its annotators' pages in a frame; "" for none."""
        return ""

    def verified(
        self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime
    ) -> PlatformEvent:
        """Return what a signed notification says. Raises LikewiseError if it is not genuine."""
        raise NotImplementedError(f"{self.title} sends no notifications.")

    def listen(self, take: Callable[[list[PlatformEvent]], None]) -> bool:
        """Take in what is in the operator's queue of events. Return False if there is nothing."""
        return False
