"""Bodies of the API of links. Money is in hundredths of the currency."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from app.campaigns.models import Campaign
from app.core.fields import Whole
from app.core.settings import get_settings
from app.recruitment.first_link import link_address
from app.recruitment.invitations import Invited, NewAddress
from app.recruitment.links import LinkWork
from app.recruitment.models import Recruitment
from app.recruitment.owed import OwedRow
from app.recruitment.people_list import BadLine
from app.recruitment.settings import link_settings

Access = Literal["open", "password", "listed", "single_use"]
Password = Field(
    default=None, max_length=1000, description="Stored as a hash and never shown again."
)


class NewLink(BaseModel, extra="forbid"):
    """access: open to whoever has the link; with a password; listed: an address for each person of
    a list; single_use: addresses that are good for one assignment. places and per_device 0: any
    number. Reward left out: the campaign's."""

    name: str = Field(default="", max_length=100)
    access: Access = "open"
    password: str | None = Password
    per_device: Whole = 0
    places: Whole = 0
    reward_cents: Whole | None = None


class ChangedLink(BaseModel, extra="forbid"):
    """Only what is named changes. A link with addresses for single people keeps its access."""

    name: str | None = Field(default=None, max_length=100)
    access: Access | None = None
    password: str | None = Password
    per_device: Whole | None = None
    places: Whole | None = None
    reward_cents: Whole | None = None

    def named(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class LinkOut(BaseModel):
    """address: for annotators, of `open` and `password`; null where each person has their own.
    is_first: the one that the campaign has from its start. left: began and went away; addresses:
    made and not taken back unused; used: somebody has begun by them."""

    id: UUID
    name: str
    address: str | None
    is_first: bool
    access: Access
    per_device: int
    state: Literal["draft", "open", "paused", "stopped"]
    places: int
    finished: int
    at_work: int
    left: int
    addresses: int
    used: int
    reward_cents: int
    currency: str
    owed_cents: int
    paid_cents: int
    created_at: datetime

    @classmethod
    def of(cls, link: Recruitment, campaign: Campaign, work: LinkWork) -> "LinkOut":
        settings = link_settings(link.settings)
        shared = settings.access in ("open", "password")
        address = link_address(link.link_token, get_settings().base_url)
        return cls.model_validate(
            {
                "id": link.id,
                "name": link.name,
                "address": address if shared else None,
                "is_first": link.link_token == campaign.link_token,
                **settings.model_dump(),
                "state": link.state,
                "places": link.places,
                "finished": work.finished,
                "at_work": work.at_work,
                "left": work.left,
                "addresses": work.invited,
                "used": work.used,
                "reward_cents": link.reward_cents,
                "currency": link.currency,
                "owed_cents": work.owed_cents,
                "paid_cents": work.paid_cents,
                "created_at": link.created_at,
            }
        )


class NewInvitations(BaseModel, extra="forbid"):
    """people: of a list, as CSV with a column `person` or one person in each line; number: of
    addresses for nobody in particular. One of the two, by the link's access."""

    people: str | None = Field(default=None, max_length=4_000_000)
    number: Whole | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "NewInvitations":
        if (self.people is None) == (self.number is None):
            raise ValueError("give either people or a number of addresses")
        return self


class NewAddressOut(BaseModel):
    number: int
    person: str
    address: str

    @classmethod
    def of(cls, made: NewAddress) -> "NewAddressOut":
        return cls(**vars(made))


class BadLineOut(BaseModel):
    line: int
    text: str
    why: str

    @classmethod
    def of(cls, found: BadLine) -> "BadLineOut":
        return cls(**vars(found))


class InvitationsMade(BaseModel):
    """The addresses are told this once: only hashes of them are kept. bad_lines: of the list, for
    which none was made."""

    addresses: list[NewAddressOut]
    bad_lines: list[BadLineOut]


class InvitationOut(BaseModel):
    """An address that was made. annotator: their number in the campaign, once begun."""

    id: UUID
    number: int
    person: str
    state: Literal["unused", "begun", "finished", "revoked"]
    annotator: int | None
    n_answered: int
    n_finished: int
    used_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, found: Invited) -> "InvitationOut":
        one = found.invitation
        return cls.model_validate(
            {
                "id": one.id,
                "number": one.number,
                "person": one.label,
                "state": found.state,
                "annotator": found.annotator,
                "n_answered": found.n_answered,
                "n_finished": found.n_finished,
                "used_at": one.used_at,
                "revoked_at": one.revoked_at,
                "created_at": one.created_at,
            }
        )


class OwedOut(BaseModel):
    """A payment that the requester makes. person: of a list; grids: done for it; note: what was
    said when it was settled."""

    id: UUID
    link_id: UUID
    link: str
    annotator: int | None
    person: str
    completion_code: str
    grids: int
    amount_cents: int
    currency: str
    state: str
    note: str
    since: datetime
    paid_at: datetime | None

    @classmethod
    def of(cls, row: OwedRow) -> "OwedOut":
        payment = row.payment
        return cls(
            id=payment.id,
            link_id=payment.recruitment_id,
            link=row.link,
            annotator=row.annotator,
            person=row.person,
            completion_code=row.completion_code,
            grids=row.grids,
            amount_cents=payment.amount_cents,
            currency=payment.currency,
            state=payment.state,
            note=payment.why,
            since=payment.created_at,
            paid_at=payment.paid_at,
        )


class PaidOutside(BaseModel, extra="forbid"):
    payment_ids: list[UUID] = Field(min_length=1, max_length=10_000)
    note: str = Field(default="", max_length=1000)


class MarkedOut(BaseModel):
    """How many were marked as paid now; the others were before."""

    marked: int
