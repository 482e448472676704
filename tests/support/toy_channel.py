"""A platform that the product does not have: a notice board in memory, in one file."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar

from pydantic import Field

from app.annotation.schemas import HandIn
from app.core.errors import InvalidInput
from app.recruitment.channel import (
    BonusOrder,
    BonusOutcome,
    Channel,
    ChannelRefused,
    Checked,
    NotAtWork,
    PlannedRequest,
    PlatformSubmission,
    PostingOrder,
    PostingRef,
    PostingStatus,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels.money import share
from app.recruitment.channels.paid import Paid
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

SECRET = "a secret of the board"


@dataclass
class Notice:
    order: PostingOrder
    places: int
    state: str = "open"
    work: dict[str, PlatformSubmission] = field(default_factory=dict)


@dataclass
class Board:
    """The platform itself: what stands on it, and what was paid."""

    notices: dict[str, Notice] = field(default_factory=dict)
    bonuses: dict[str, tuple[str, int]] = field(default_factory=dict)

    def take(self, notice: str, person: str) -> str:
        """Somebody takes a place. Return the id of their work."""
        work = f"{notice}-{person}"
        self.notices[notice].work[work] = PlatformSubmission(work, person, "accepted")
        return work

    def move(self, notice: str, work: str, state: Any) -> None:
        known = self.notices[notice].work
        known[work] = replace(known[work], state=state)


class BoardChannel:
    """See app.recruitment.channel.Channel."""

    bonuses_repeatable = True
    bonus_batch = 10

    def __init__(self, board: Board) -> None:
        self.board = board

    def check(self) -> Checked:
        return Checked(10_000, "EUR", "The board")

    def publish(self, order: PostingOrder) -> tuple[str, dict[str, Any]]:
        self.board.notices.setdefault(order.token, Notice(order, order.places))
        return order.token, {}

    def planned(self, order: PostingOrder) -> list[PlannedRequest]:
        return [PlannedRequest("pin up", {"title": order.title, "places": order.places})]

    def extend(
        self, posting: PostingRef, places: int, token: str, total: int | None = None
    ) -> None:
        self._notice(posting).places = total or places

    def pause(self, posting: PostingRef) -> None:
        self._notice(posting).state = "paused"

    def resume(self, posting: PostingRef) -> None:
        self._notice(posting).state = "open"

    def stop(self, posting: PostingRef) -> None:
        self._notice(posting).state = "closed"

    def status(self, posting: PostingRef) -> PostingStatus:
        notice = self._notice(posting)
        state: Any = notice.state
        return PostingStatus(state, notice.places, len(notice.work))

    def submissions(self, posting: PostingRef) -> Iterator[PlatformSubmission]:
        yield from self._notice(posting).work.values()

    def submission(self, ref: SubmissionRef) -> PlatformSubmission | None:
        return self._notice(ref.posting).work.get(ref.external_id)

    def approve(self, ref: SubmissionRef, message: str) -> None:
        self.board.move(ref.posting.external_id, ref.external_id, "approved")

    def reject(self, ref: SubmissionRef, rejection: Rejection) -> None:
        self.board.move(ref.posting.external_id, ref.external_id, "rejected")

    def reverse(self, ref: SubmissionRef, message: str) -> None:
        self.approve(ref, message)

    def screen_out(self, ref: SubmissionRef) -> None:
        raise ChannelRefused("The board screens nobody out.")

    def pay_bonuses(self, orders: Sequence[BonusOrder]) -> list[BonusOutcome]:
        for order in orders:
            paid = (order.submission.external_id, order.amount_cents)
            self.board.bonuses.setdefault(order.token, paid)
        return [BonusOutcome(order.token, order.token) for order in orders]

    def find_bonus(self, order: BonusOrder) -> str | None:
        return order.token if order.token in self.board.bonuses else None

    def bonuses(self, posting: PostingRef, submissions: Sequence[str]) -> dict[str, int]:
        paid = self.board.bonuses.values()
        return {work: sum(cents for whose, cents in paid if whose == work) for work in submissions}

    def exclude(self, posting: PostingRef, people: Sequence[str]) -> None:
        self._notice(posting)

    def ensure_hooks(self, url: str) -> str:
        return SECRET

    def _notice(self, posting: PostingRef) -> Notice:
        if posting.external_id not in self.board.notices:
            raise ChannelRefused("There is no such notice.", "not_found")
        return self.board.notices[posting.external_id]


class BoardSettings(Paid):
    colour: str = Field(default="yellow", max_length=20, title="Colour of the notice")


class BoardEntry(Entry):
    work: str = Field(max_length=200)
    notice: str = Field(max_length=100)
    person: str = Field(max_length=100)


class BoardSpec(ChannelSpec):
    name: ClassVar[str] = "board"
    title: ClassVar[str] = "Notice Board"
    short_title: ClassVar[str] = "the board"
    about: ClassVar[str] = "Available in this test."
    credentials_help: ClassVar[str] = "The word that the board gave you."
    secrets: ClassVar[dict[str, SecretField]] = {"word": SecretField("Word")}
    settings: ClassVar[type[Paid]] = BoardSettings
    currency: ClassVar[str | None] = "EUR"
    rejections: ClassVar[RejectionRules] = RejectionRules({"careless": "Careless work"}, 20)
    posting: ClassVar[str] = "notice"
    one_posting: ClassVar[str] = "1 notice"
    many_postings: ClassVar[str] = "{n} notices"
    entry: ClassVar[type[Entry]] = BoardEntry
    tells_person: ClassVar[tuple[str, ...]] = ("work", "person")
    notifies: ClassVar[bool] = True

    def __init__(self, board: Board) -> None:
        self.board = board

    def environments(self) -> list[str]:
        return ["custom"]

    def open(self, credentials: Credentials) -> Channel:
        if credentials.secret != {"word": "open"}:
            raise ChannelRefused("The board does not know this word.")
        return BoardChannel(self.board)

    def reward_fee(self, cents: int, places: int) -> int:
        return share(cents, 10)

    def bonus_fee(self, cents: int) -> int:
        return share(cents, 5)

    def claims(self, query: Mapping[str, str], environment: str) -> dict[str, str] | None:
        if "work" not in query:
            return None
        return {name: query.get(name, "") for name in ("work", "notice", "person")}

    def arrival(self, entry: Any) -> Arrival:
        return Arrival(entry.work, entry.notice, entry.person)

    def confirm(self, channel: Channel, posting: PostingRef, entry: Any, page: str) -> None:
        known = channel.submission(SubmissionRef(posting, entry.work, entry.person))
        if known is None or known.person != entry.person:
            raise NotAtWork("the board knows nobody like that", "another_person")

    def ways_back(self, place: Place) -> dict[str, HandIn]:
        return {"hand_in": HandIn(kind="address", address="https://board.example/done")}

    def verified(
        self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime
    ) -> PlatformEvent:
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature, headers.get("x-board", "")):
            raise InvalidInput("The notification's signature is wrong.", code="hook_signature")
        return PlatformEvent(posting=body.decode(), seen_keys=(signature,))
