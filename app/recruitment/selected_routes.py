"""API of actions on several selected people at once. Amounts of money are in cents."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import Uuid, cast, select

from app.accounts.api import api_router
from app.accounts.models import Account
from app.accounts.routes import Paying, SignedIn
from app.annotation.models import Annotator
from app.campaigns.service import get_campaign
from app.core.fields import StrictInt
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.recruitment import selected
from app.recruitment.models import ChannelCall, Recruitment
from app.recruitment.selected_checks import Action, Effect

api = api_router("/campaigns/{campaign_id}", "recruitment")
# A request locks the campaign while it acts, so it must not take long.
MOST_AT_ONCE = 200
MOST_CHECKED = 10_000
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class SelectedPeopleIn(BaseModel, extra="forbid"):
    """`annotators` are numbers of annotators in the campaign."""

    annotators: list[Number] = Field(min_length=1, max_length=MOST_AT_ONCE)


class SelectedCheckIn(BaseModel, extra="forbid"):
    """`amount_cents` is the bonus for each person, if the action is `bonus`."""

    annotators: list[Number] = Field(min_length=1, max_length=MOST_CHECKED)
    action: Action
    amount_cents: StrictInt = Field(default=0, ge=0, le=1_000_000)


class SelectedApprovalIn(SelectedPeopleIn):
    """`most_cents`: refuse everything if it costs more, with fees."""

    reason: str = Field(default="", max_length=1000)
    most_cents: StrictInt = Field(ge=0)


class SelectedBonusIn(SelectedPeopleIn):
    """`request`: a random id. Nobody is paid twice with the same id. `most_cents`: refuse
    everything if it costs more, with fees."""

    amount_cents: StrictInt = Field(ge=1, le=1_000_000)
    reason: str = Field(min_length=1, max_length=1000)
    request: UUID
    most_cents: StrictInt = Field(ge=0)


class SelectedMessageIn(SelectedPeopleIn):
    """`request`: a random id. Nobody gets two messages with the same id."""

    text: str = Field(min_length=1, max_length=4000)
    request: UUID


class SelectedPersonOut(BaseModel):
    """`why`: why the person is left out; empty if not."""

    annotator: int
    why: str
    amount_cents: int
    fee_cents: int
    currency: str

    @classmethod
    def of(cls, effect: Effect) -> "SelectedPersonOut":
        return cls(
            annotator=effect.annotator,
            why=effect.why,
            amount_cents=effect.amount_cents,
            fee_cents=effect.fee_cents,
            currency=effect.currency,
        )


class SelectedPeopleOut(BaseModel):
    """`problem`: why the action is not possible for these people together; empty if it is."""

    people: list[SelectedPersonOut]
    problem: str = ""


class SentMessageOut(BaseModel):
    """A message to one person. Messages with the same `request` were sent together.

    state: `due` or `running` until the platform has answered, then `done` or `failed`, with the
        platform's reason in `why`.
    sender: the email address of the account that sent it; empty if it was deleted.
    """

    id: UUID
    request: str
    annotator: int | None
    sender: str
    text: str
    state: str
    why: str
    created_at: datetime


@api.post("/selected/check")
def check_selected(
    campaign_id: UUID, body: SelectedCheckIn, session: DatabaseSession, account: SignedIn
) -> SelectedPeopleOut:
    """Return what an action would cost, and for whom it is not possible. Nothing is changed."""
    effects, problem = selected.check(
        session, account, campaign_id, body.action, body.annotators, body.amount_cents
    )
    return _people_out(effects, problem)


@api.post("/selected/approve")
def approve_selected(
    campaign_id: UUID, body: SelectedApprovalIn, session: DatabaseSession, account: Paying
) -> SelectedPeopleOut:
    """Approve the work of the selected people that waits for approval. The others are left out."""
    return _people_out(
        selected.approve(
            session, account, campaign_id, body.annotators, body.reason, body.most_cents
        )
    )


@api.post("/selected/bonus")
def pay_selected(
    campaign_id: UUID, body: SelectedBonusIn, session: DatabaseSession, account: Paying
) -> SelectedPeopleOut:
    """Pay a bonus to each selected person, once with the same `request`. People who cannot be paid
    are left out; if the spending limit does not cover all others, nobody is paid."""
    return _people_out(
        selected.pay_bonuses(
            session,
            account,
            campaign_id,
            body.annotators,
            body.amount_cents,
            body.reason,
            body.request,
            body.most_cents,
        )
    )


@api.post("/selected/message", status_code=202)
def message_selected(
    campaign_id: UUID, body: SelectedMessageIn, session: DatabaseSession, account: SignedIn
) -> SelectedPeopleOut:
    """Send a message to each selected person on their platform. People whom no message can reach
    are left out."""
    return _people_out(
        selected.send_message(
            session, account, campaign_id, body.annotators, body.text, body.request
        )
    )


@api.get("/messages")
def list_messages(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[SentMessageOut]:
    """List the messages that were sent to annotators, the newest first."""
    campaign = get_campaign(session, account, campaign_id)
    arguments = ChannelCall.arguments
    query = (
        select(ChannelCall, Annotator.position, Account.email)
        .join(Recruitment, ChannelCall.recruitment_id == Recruitment.id)
        .outerjoin(Annotator, Annotator.id == cast(arguments["annotator"].astext, Uuid))
        .outerjoin(Account, Account.id == cast(arguments["sender"].astext, Uuid))
        .where(Recruitment.campaign_id == campaign.id, ChannelCall.action == "message")
    )
    rows = paging.rows(session, query, ChannelCall.id, newest_first=True)
    return paging.page([_sent_message_out(*row) for row in rows])


def _sent_message_out(call: ChannelCall, annotator: int | None, sender: str) -> SentMessageOut:
    return SentMessageOut(
        id=call.id,
        request=call.arguments["request"],
        annotator=annotator,
        sender=sender or "",
        text=call.arguments["text"],
        state=call.state,
        why=call.why,
        created_at=call.created_at,
    )


def _people_out(effects: list[Effect], problem: str = "") -> SelectedPeopleOut:
    return SelectedPeopleOut(
        people=[SelectedPersonOut.of(effect) for effect in effects], problem=problem
    )
