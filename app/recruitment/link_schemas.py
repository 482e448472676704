"""Request and response bodies of the links API. Amounts of money are in cents."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from app.campaigns.links import link_address
from app.campaigns.models import Campaign
from app.core.fields import StrictBool, StrictInt
from app.core.settings import get_settings
from app.recruitment.invitations import BadLine, Invited, NewAddress
from app.recruitment.links import LinkWork, panel_address
from app.recruitment.models import Recruitment
from app.recruitment.payables import PayableRow
from app.recruitment.settings import (
    MOST_FRAMES,
    MOST_PARAMETERS,
    KeptParameter,
    LinkSettings,
    Panel,
    PersonForm,
    Returns,
    link_settings,
)

Access = Literal["open", "password", "listed", "single_use"]
Password = Field(
    default=None, max_length=1000, description="Stored as a hash and never shown again."
)


class ParameterIn(BaseModel, extra="forbid"):
    """A parameter of the link's address that is kept. `placeholder` is what the panel replaces with
    the value, such as `%SURVEY_CODE%`; empty if the panel adds the parameter by itself."""

    name: str = Field(max_length=60)
    placeholder: str = Field(default="", max_length=100)


class ReturnsIn(BaseModel, extra="forbid"):
    """Where people are sent back to, by how their visit ended. Empty: nowhere. `{id}`, `{code}` and
    `{NAME}` of a kept parameter are replaced after the “?”."""

    completed: str = Field(default="", max_length=2000)
    screened_out: str = Field(default="", max_length=2000)
    no_consent: str = Field(default="", max_length=2000)
    over_quota: str = Field(default="", max_length=2000)


# Checked with the other settings of the link (app.recruitment.settings.LinkSettings).
Parameters = list[ParameterIn]


class NewLink(BaseModel, extra="forbid"):
    """A link to make.

    access: `open` lets in everyone who has the link, and `password` those who also know the
        password. `listed` makes an address for each person on a list, and `single_use` makes
        addresses that each allow one assignment.
    places, per_device: 0 means no limit. If addresses say who people are, each of them can do one
        assignment by default.
    reward_cents: the campaign's reward by default.
    parameters: parameters of the address that are kept; others are ignored.
    person: the kept parameter that identifies the person in every browser.
    person_required: whether people without it are turned away.
    person_form: what an id may look like.
    framed_by: origins of the sites that may show the page in a frame.
    """

    name: str = Field(default="", max_length=100)
    access: Access = "open"
    password: str | None = Password
    per_device: StrictInt | None = None
    places: StrictInt = 0
    reward_cents: StrictInt | None = None
    parameters: Parameters = Field(default_factory=list, max_length=MOST_PARAMETERS)
    person: str = Field(default="", max_length=60)
    person_required: StrictBool = True
    person_form: PersonForm = "any"
    returns: ReturnsIn = Field(default_factory=ReturnsIn)
    framed_by: list[str] = Field(default_factory=list, max_length=MOST_FRAMES)

    def settings(self) -> dict[str, Any]:
        chosen = self.model_dump(include=set(LinkSettings.model_fields))
        if self.per_device is None:
            chosen["per_device"] = int(bool(self.person))
        return chosen


class ChangedLink(BaseModel, extra="forbid"):
    """Fields that you leave out don't change. A link with personal addresses keeps its access."""

    name: str | None = Field(default=None, max_length=100)
    access: Access | None = None
    password: str | None = Password
    per_device: StrictInt | None = None
    places: StrictInt | None = None
    reward_cents: StrictInt | None = None
    parameters: Parameters | None = Field(default=None, max_length=MOST_PARAMETERS)
    person: str | None = Field(default=None, max_length=60)
    person_required: StrictBool | None = None
    person_form: PersonForm | None = None
    returns: ReturnsIn | None = None
    framed_by: list[str] | None = Field(default=None, max_length=MOST_FRAMES)

    def named(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class LinkOut(BaseModel):
    """A link and its progress.

    address: what annotators open; null if each person has a personal address.
    panel_address: the same with the placeholders that a panel fills in, to paste there.
    is_first: whether the campaign got this link when it started.
    left: people who started and then left.
    addresses: personal addresses, without those that were withdrawn unused.
    used: personal addresses that someone has started with.
    campaign_finished: whether the campaign has finished, so that nobody new can start whatever the
        link's state is.
    """

    id: UUID
    name: str
    address: str | None
    panel_address: str | None
    is_first: bool
    access: Access
    per_device: int
    parameters: list[KeptParameter]
    person: str
    person_required: bool
    person_form: PersonForm
    returns: Returns
    framed_by: list[str]
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
    campaign_finished: bool

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
                "panel_address": panel_address(address, settings) if shared else None,
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
                "owed_cents": work.payable_cents,
                "paid_cents": work.paid_cents,
                "created_at": link.created_at,
                "campaign_finished": campaign.state == "finished",
            }
        )


class PanelOut(BaseModel):
    """A panel or survey tool, and how a link for it is set up. “…” stands for what you copy from
    it."""

    key: str
    title: str
    help: str
    parameters: list[ParameterIn]
    person: str
    person_form: PersonForm
    returns: ReturnsIn

    @classmethod
    def of(cls, panel: Panel) -> "PanelOut":
        return cls(
            key=panel.key,
            title=panel.title,
            help=panel.help,
            parameters=[ParameterIn(**kept.model_dump()) for kept in panel.parameters],
            person=panel.person,
            person_form=panel.person_form,
            returns=ReturnsIn(**panel.returns.model_dump()),
        )


class PanelsOut(BaseModel):
    panels: list[PanelOut]


class NewInvitations(BaseModel, extra="forbid"):
    """Addresses to make. Give one of the two, depending on the link's access.

    people: a list as CSV with a column `person`, or with one person per line.
    number: how many single-use addresses to make.
    """

    people: str | None = Field(default=None, max_length=4_000_000)
    number: StrictInt | None = None

    @model_validator(mode="after")
    def _people_or_number(self) -> "NewInvitations":
        if (self.people is None) == (self.number is None):
            raise ValueError("give either people or a number of addresses")
        return self


class NewAddressOut(BaseModel):
    number: int
    person: str
    address: str

    @classmethod
    def of(cls, address: NewAddress) -> "NewAddressOut":
        return cls(**vars(address))


class BadLineOut(BaseModel):
    line: int
    text: str
    why: str

    @classmethod
    def of(cls, line: BadLine) -> "BadLineOut":
        return cls(**vars(line))


class InvitationsMade(BaseModel):
    """Only this response contains the addresses, because only their hashes are stored.

    bad_lines: lines of the list without an address, and why.
    """

    addresses: list[NewAddressOut]
    bad_lines: list[BadLineOut]


class InvitationOut(BaseModel):
    """A personal address. `annotator` is the person's number in the campaign once they have
    started."""

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
    def of(cls, invited: Invited) -> "InvitationOut":
        invitation = invited.invitation
        return cls.model_validate(
            {
                "id": invitation.id,
                "number": invitation.number,
                "person": invitation.label,
                "state": invited.state,
                "annotator": invited.annotator,
                "n_answered": invited.n_answered,
                "n_finished": invited.n_finished,
                "used_at": invitation.used_at,
                "revoked_at": invitation.revoked_at,
                "created_at": invitation.created_at,
            }
        )


class OwedOut(BaseModel):
    """A payment that you make yourself.

    person: the name on the link's list.
    grids: how many grids the payment is for.
    note: what you wrote when you marked it as paid.
    """

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
    def of(cls, row: PayableRow) -> "OwedOut":
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
    """How many payments were marked as paid now. The others had been marked before."""

    marked: int
