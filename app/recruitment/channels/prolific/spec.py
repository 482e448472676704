"""What the rest of the code needs to know about Prolific."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field

from app.annotation.schemas import HandIn
from app.core.settings import get_settings
from app.recruitment.channel import Channel, ChannelRefused, NotAtWork, PostingRef
from app.recruitment.channels.money import share
from app.recruitment.channels.paid import Paid
from app.recruitment.channels.prolific.client import Prolific, completion_address, open_prolific
from app.recruitment.channels.prolific.hooks import verified
from app.recruitment.channels.prolific.review import LEAST_MESSAGE, REJECTION_CATEGORIES
from app.recruitment.channels.prolific.settings import ProlificSettings
from app.recruitment.channels.spec import (
    Arrival,
    ChannelSpec,
    Credentials,
    Entry,
    Place,
    PlatformEvent,
    RejectionRules,
    SecretField,
)

# Companies pay 42.8 %, universities and charities 33.3 %, and in the United Kingdom VAT on that
# (researcher-help.prolific.com). The highest fee is assumed, so that a limit holds for everyone.
PERCENT = Decimal("42.8")
VAT_PERCENT = 20
# How a session ends, and the completion code for it.
WAYS = {"hand_in": "complete", "declined": "no_consent", "screened_out": "screened_out"}


class OpenProlificSession(Entry):
    """The parameters that Prolific adds to the address. `token` is set if the study's address is
    signed."""

    participant: str = Field(max_length=100)
    study: str = Field(max_length=100)
    session: str = Field(max_length=100)
    token: str = Field(default="", max_length=8000)


class ProlificSpec(ChannelSpec):
    name: ClassVar[str] = "prolific"
    title: ClassVar[str] = "Prolific"
    short_title: ClassVar[str] = "Prolific"
    messages: ClassVar[bool] = True
    about: ClassVar[str] = (
        "Available. Anyone can open an account. There is no sandbox: everything you publish is "
        "real."
    )
    credentials_help: ClassVar[str] = (
        "Create it on Prolific under Settings → API tokens. It can do everything that you can do "
        "there, and it does not expire."
    )
    secrets: ClassVar[dict[str, SecretField]] = {"token": SecretField("API token")}
    settings: ClassVar[type[Paid]] = ProlificSettings
    rejections: ClassVar[RejectionRules] = RejectionRules(REJECTION_CATEGORIES, LEAST_MESSAGE)
    posting: ClassVar[str] = "study"
    one_posting: ClassVar[str] = "1 study"
    many_postings: ClassVar[str] = "{n} studies"
    full_looks_closed: ClassVar[bool] = True
    entry: ClassVar[type[Entry]] = OpenProlificSession
    tells_person: ClassVar[tuple[str, ...]] = ("session", "participant")
    notifies: ClassVar[bool] = True
    look: ClassVar[str] = "look_prolific"

    def environments(self) -> list[str]:
        return ["production", *(["custom"] if get_settings().prolific_endpoint else [])]

    def open(self, credentials: Credentials) -> Channel:
        return open_prolific(credentials)

    def reward_fee(self, cents: int, places: int) -> int:
        """A share of all payments that depends on the kind of account, plus VAT on it for some
        (reliability.md §1b)."""
        return self.bonus_fee(cents)

    def bonus_fee(self, cents: int) -> int:
        fee = share(cents, PERCENT)
        return fee + share(fee, VAT_PERCENT)

    def problems(self, environment: str) -> list[str]:
        if environment != "custom" or get_settings().prolific_site:
            return []
        return [
            "LIKEWISE_PROLIFIC_SITE is not set, so people could not be sent back to the platform. "
            "The operator must set it."
        ]

    def claims(self, query: Mapping[str, str], environment: str) -> dict[str, str] | None:
        if not query.get("SESSION_ID"):
            return None
        return {
            "participant": query.get("PROLIFIC_PID", ""),
            "study": query.get("STUDY_ID", ""),
            "session": query["SESSION_ID"],
            "token": query.get("prolific_token", ""),
        }

    def arrival(self, entry: Any) -> Arrival:
        return Arrival(entry.session, entry.study, entry.participant)

    def confirm(self, channel: Channel, posting: PostingRef, entry: Any, page: str) -> None:
        """Check the signed token if there is one. Prolific's record is read in any case, because
        only it tells whether the submission is still active."""
        assert isinstance(channel, Prolific)
        try:
            if entry.token:
                claims = channel.token_claims(entry.token, page)
                claimed = (claims.session_id, claims.participant, claims.study)
                if claimed != (entry.session, entry.participant, entry.study):
                    raise ChannelRefused(
                        "the signed token belongs to someone else", "another_person"
                    )
            channel.confirm_person(entry.session, entry.participant, entry.study)
        except ChannelRefused as error:
            raise NotAtWork(f"Prolific says: {error}", error.code or "not_at_work") from error

    def ways_back(self, place: Place) -> dict[str, HandIn]:
        """People go back with one of the study's completion codes."""
        codes = place.posting["codes"]
        return {
            way: HandIn(kind="address", address=completion_address(place.environment, codes[code]))
            for way, code in WAYS.items()
            if code in codes
        }

    def verified(
        self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime
    ) -> PlatformEvent:
        """Raises BadHook."""
        event = verified(headers, body, secret, now)
        return PlatformEvent(event.study, event.submission, event.seen_keys)
