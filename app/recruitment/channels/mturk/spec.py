"""What the rest of the code needs to know about Mechanical Turk."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from app.annotation.schemas import HandIn
from app.core.settings import get_settings
from app.recruitment.channel import Channel, NotAtWork, PostingRef
from app.recruitment.channels.money import share
from app.recruitment.channels.mturk.client import open_mturk
from app.recruitment.channels.mturk.queue import MTurkQueue, TurkEvent
from app.recruitment.channels.mturk.settings import MTurkSettings
from app.recruitment.channels.mturk.sites import frame_ancestors, submit_address
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

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# MTurk takes 20 % of reward and bonus, at least one cent for each, and another 20 % of the reward
# for HITs with ten or more assignments (reliability.md §1a).
PERCENT = 20
MANY = 10
LOW_FEE_PLACES = 9
GIVEN_BACK = ("AssignmentReturned", "AssignmentAbandoned")


class OpenMTurkSession(Entry):
    """The parameters that MTurk adds to the address of the annotators' page."""

    assignment_id: str = Field(max_length=100)
    hit_id: str = Field(max_length=100)
    worker_id: str = Field(max_length=100)
    turk_submit_to: str = Field(max_length=300)


class MTurkSpec(ChannelSpec):
    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk"
    short_title: ClassVar[str] = "MTurk"
    messages: ClassVar[bool] = True
    about: ClassVar[str] = (
        "Closed. Amazon accepted no new customers from 30 July 2026 and closed Mechanical Turk on "
        "30 September 2026. You can use it with a service that is compatible with its API and "
        "still answers, if your server's operator has set its address."
    )
    credentials_help: ClassVar[str] = (
        "The keys of an AWS user with access to Mechanical Turk (policy "
        "AmazonMechanicalTurkFullAccess). The AWS account must be linked to your requester account."
    )
    secrets: ClassVar[dict[str, SecretField]] = {
        "access_key_id": SecretField("Access key ID", is_hidden=False),
        "secret_access_key": SecretField("Secret access key"),
    }
    uses_server_credentials: ClassVar[bool] = True
    settings: ClassVar[type[Paid]] = MTurkSettings
    currency: ClassVar[str | None] = "USD"
    rejections: ClassVar[RejectionRules] = RejectionRules({}, 1)
    posting: ClassVar[str] = "task"
    posting_note: ClassVar[str] = (
        "A HIT, “human intelligence task”, is Mechanical Turk's name for a task."
    )
    one_posting: ClassVar[str] = "1 task (HIT)"
    many_postings: ClassVar[str] = "{n} tasks (HITs)"
    # More than nine places in one HIT would cost the higher fee.
    grows: ClassVar[bool] = False
    compensates: ClassVar[bool] = True
    entry: ClassVar[type[Entry]] = OpenMTurkSession
    tells_person: ClassVar[tuple[str, ...]] = ("assignment_id", "worker_id")
    # Only MTurk's record decides whether people are paid.
    must_confirm: ClassVar[bool] = False
    look: ClassVar[str] = "look_mturk"

    def environments(self) -> list[str]:
        custom = ["custom"] if get_settings().mturk_endpoint else []
        return ["sandbox", "production", *custom]

    def open(self, credentials: Credentials) -> Channel:
        return open_mturk(credentials)

    def reward_fee(self, cents: int, places: int) -> int:
        percent = PERCENT * (2 if places >= MANY else 1)
        return max(1, share(cents, percent)) if cents else 0

    def bonus_fee(self, cents: int) -> int:
        return max(1, share(cents, PERCENT)) if cents else 0

    def split(self, places: int, settings: Paid) -> list[int]:
        """HITs have at most nine places if the lower fee should be kept."""
        keeps_low_fee = isinstance(settings, MTurkSettings) and settings.keep_low_fee
        if not keeps_low_fee or places <= LOW_FEE_PLACES:
            return [places]
        full, rest = divmod(places, LOW_FEE_PLACES)
        return [LOW_FEE_PLACES] * full + ([rest] if rest else [])

    def claims(self, query: Mapping[str, str], environment: str) -> dict[str, str] | None:
        """Raises BadSubmitAddress."""
        submit_to = query.get("turkSubmitTo", "")
        if submit_to:
            submit_address(submit_to, environment)
        assignment = query.get("assignmentId", PREVIEW)
        if assignment == PREVIEW:
            return None
        return {
            "assignment_id": assignment,
            "hit_id": query.get("hitId", ""),
            "worker_id": query.get("workerId", ""),
            "turk_submit_to": submit_to,
        }

    def arrival(self, entry: Any) -> Arrival:
        return Arrival(entry.assignment_id, entry.hit_id, entry.worker_id)

    def confirm(self, channel: Channel, posting: PostingRef, entry: Any, page: str) -> None:
        """MTurk reports how many people are working on a HIT, but not who."""
        if channel.status(posting).at_work == 0:
            raise NotAtWork("according to MTurk, nobody has accepted it", "not_accepted")

    def ways_back(self, place: Place) -> dict[str, HandIn]:
        """The browser posts a form to MTurk. Raises BadSubmitAddress."""
        address = submit_address(place.entry.turk_submit_to, place.environment)
        fields = {"assignmentId": place.entry.assignment_id, "likewise": place.assignment}
        return {"hand_in": HandIn(kind="form", address=address, fields=fields)}

    def thanks(self, query: Mapping[str, str], environment: str) -> tuple[str, str] | None:
        assignment = query.get("assignmentId", PREVIEW)
        if assignment == PREVIEW:
            return None
        return assignment, submit_address(query.get("turkSubmitTo", ""), environment)

    def framed_by(self) -> str:
        return frame_ancestors()

    def listen(self, take: Callable[[list[PlatformEvent]], None]) -> bool:
        """Take in the operator's queue of MTurk's events, if there is one."""
        address = get_settings().mturk_queue_url

        def take_in(events: list[TurkEvent]) -> None:
            take([_as_event(event) for event in events])

        return bool(address) and bool(MTurkQueue(address).take(take_in))


def _as_event(event: TurkEvent) -> PlatformEvent:
    given_back = event.event_type in GIVEN_BACK
    return PlatformEvent(
        posting=event.hit_id,
        submission=event.assignment_id,
        given_back_at=event.at if given_back else None,
    )
