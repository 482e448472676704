"""API of a campaign's recruitments: planning them, running them, and their people's identities."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fastapi.responses import Response
from pydantic import BaseModel, Field, model_validator
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.routes import Paying, SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.errors import NotFound
from app.core.fields import StrictInt
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.recruitment import people, report, service
from app.recruitment.account_routes import Platform
from app.recruitment.channels.registry import all_channels
from app.recruitment.channels.spec import ChannelSpec
from app.recruitment.costs import estimate_of, sizes_of, wanted_of
from app.recruitment.models import Recruitment
from app.recruitment.schemas import (
    EstimateOut,
    MorePlaces,
    NewLimit,
    NewRecruitment,
    ReconciliationOut,
    RecruitmentDryRunOut,
    RecruitmentOut,
    dry_run_out,
    recruitment_out,
)
from app.recruitment.service import MOST_PLACES, RecruitmentPlan, currency_of
from app.recruitment.settings import checked_settings

planning_api = api_router("/campaigns/{campaign_id}/recruiting", "recruitment")
api = api_router("/campaigns/{campaign_id}/recruitments", "recruitment")
people_api = api_router("/campaigns/{campaign_id}", "recruitment")


class EstimateIn(BaseModel, extra="forbid"):
    """A plan without a platform account. `reward_cents` is the campaign's reward by default."""

    channel: Platform
    places: StrictInt = Field(ge=1, le=MOST_PLACES)
    reward_cents: StrictInt | None = Field(default=None, ge=0, le=1_000_000)
    settings: dict[str, Any] = Field(default_factory=dict)


class ChannelOptionsOut(BaseModel):
    """What you can choose on a channel.

    settings: a JSON schema from which a form can be made.
    rejection_categories: the platform's rejection categories with descriptions; empty if it has
        none.
    least_reason: the minimum length of a rejection's reason, in characters.
    posting, one_posting, many_postings: what the platform calls what people find there; `{n}` is
        their number. posting_note: explains the word, if it needs that.
    compensates: whether somebody without a submission there can be paid.
    """

    channel: Platform
    title: str
    currency: str
    settings: dict[str, Any]
    rejection_categories: dict[str, str]
    least_reason: int
    posting: str
    posting_note: str
    one_posting: str
    many_postings: str
    compensates: bool


class RecruitingOptionsOut(BaseModel):
    """What you can choose, and what the campaign's plan suggests.

    places: assignments that give the remaining answers, without places that are already open.
    minutes: how long an assignment takes.
    """

    channels: list[ChannelOptionsOut]
    answers_wanted: int
    places: int
    minutes: int
    reward_cents: int
    grids_per_assignment: int


@planning_api.get("/options")
def recruiting_options(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> RecruitingOptionsOut:
    """Return what you can choose for recruiting, and how many people the campaign still needs."""
    campaign = get_campaign(session, account, campaign_id)
    wanted = wanted_of(session, campaign)
    return RecruitingOptionsOut(
        channels=[_options(campaign, channel) for channel in all_channels()],
        answers_wanted=wanted.answers,
        places=wanted.places,
        minutes=wanted.minutes,
        reward_cents=campaign.reward_cents,
        grids_per_assignment=campaign.grids_per_assignment,
    )


def _options(campaign: Campaign, channel: ChannelSpec) -> ChannelOptionsOut:
    return ChannelOptionsOut(
        channel=channel.name,
        title=channel.title,
        currency=currency_of(campaign, channel.name),
        settings=channel.settings.model_json_schema(),
        rejection_categories=dict(channel.rejections.categories),
        least_reason=channel.rejections.least,
        posting=channel.posting,
        posting_note=channel.posting_note,
        one_posting=channel.one_posting,
        many_postings=channel.many_postings,
        compensates=channel.compensates,
    )


@planning_api.post("/estimate")
def estimate_recruitment(
    campaign_id: UUID, body: EstimateIn, session: DatabaseSession, account: SignedIn
) -> EstimateOut:
    """Estimate what a recruitment would cost, with fees and bonuses (at most). Nothing is
    stored."""
    campaign = get_campaign(session, account, campaign_id)
    imagined = Recruitment(
        channel=body.channel,
        places=body.places,
        reward_cents=campaign.reward_cents if body.reward_cents is None else body.reward_cents,
        settings=checked_settings(body.channel, body.settings),
    )
    currency = currency_of(campaign, body.channel)
    return EstimateOut.of(estimate_of(imagined), len(sizes_of(imagined)), currency)


def _of_campaign(
    session: Session, account: SignedIn, campaign_id: UUID, recruitment_id: UUID
) -> Recruitment:
    recruitment = service.get_recruitment(session, account, recruitment_id)
    if recruitment.campaign_id != campaign_id:
        raise NotFound("This campaign has no such recruitment.")
    return recruitment


@api.post("", status_code=201)
def plan_recruitment(
    campaign_id: UUID,
    body: NewRecruitment,
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
) -> RecruitmentOut:
    """Plan a recruitment on a platform, as a draft. The platform is not contacted until you open
    it."""
    plan = RecruitmentPlan(**body.model_dump())
    planned = service.plan_recruitment(session, account, campaign_id, plan)
    response.headers["Location"] = f"/api/v1/campaigns/{campaign_id}/recruitments/{planned.id}"
    return recruitment_out(session, planned)


@api.get("")
def list_recruitments(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[RecruitmentOut]:
    """List a campaign's recruitments on platforms, the newest first."""
    campaign = get_campaign(session, account, campaign_id)
    query = select(Recruitment).where(
        Recruitment.campaign_id == campaign.id, Recruitment.channel != "link"
    )
    rows = paging.rows(session, query, Recruitment.id, newest_first=True)
    return paging.page([recruitment_out(session, recruitment) for (recruitment,) in rows])


@api.get("/{recruitment_id}")
def get_recruitment(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: SignedIn
) -> RecruitmentOut:
    """Return one recruitment with its postings and its money."""
    recruitment = _of_campaign(session, account, campaign_id, recruitment_id)
    return recruitment_out(session, recruitment)


@api.put("/{recruitment_id}")
def change_recruitment(
    campaign_id: UUID,
    recruitment_id: UUID,
    body: NewRecruitment,
    session: DatabaseSession,
    account: SignedIn,
) -> RecruitmentOut:
    """Replace the plan of a draft."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    plan = RecruitmentPlan(**body.model_dump())
    return recruitment_out(session, service.change_draft(session, account, recruitment_id, plan))


@api.delete("/{recruitment_id}", status_code=204)
def forget_recruitment(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Delete a draft that was never opened."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    service.delete_draft(session, account, recruitment_id)
    return Response(status_code=204)


@api.get("/{recruitment_id}/dry-run")
def dry_run_recruitment(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: SignedIn
) -> RecruitmentDryRunOut:
    """Show what opening a draft would publish on the platform, what it would cost, and what
    prevents it."""
    recruitment = _of_campaign(session, account, campaign_id, recruitment_id)
    return dry_run_out(session, recruitment)


@api.post("/{recruitment_id}/open")
def open_recruitment(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: Paying
) -> RecruitmentOut:
    """Reserve the money and publish the postings on the platform."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    return recruitment_out(session, service.open_recruitment(session, account, recruitment_id))


@api.post("/{recruitment_id}/more")
def ask_for_more(
    campaign_id: UUID,
    recruitment_id: UUID,
    body: MorePlaces,
    session: DatabaseSession,
    account: Paying,
) -> RecruitmentOut:
    """Add places to an open recruitment."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    more = service.ask_for_more(session, account, recruitment_id, body.places)
    return recruitment_out(session, more)


@api.put("/{recruitment_id}/limit")
def set_limit(
    campaign_id: UUID,
    recruitment_id: UUID,
    body: NewLimit,
    session: DatabaseSession,
    account: Paying,
) -> RecruitmentOut:
    """Change the spending limit. Payments that were waiting for a higher limit continue."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    limited = service.set_limit(session, account, recruitment_id, body.spend_limit_cents)
    return recruitment_out(session, limited)


@api.get("/{recruitment_id}/reconciliation")
def reconciliation(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: SignedIn
) -> ReconciliationOut:
    """Compare the ledger with the platform."""
    recruitment = _of_campaign(session, account, campaign_id, recruitment_id)
    return ReconciliationOut.of(report.reconcile(session, recruitment), recruitment)


@api.post("/{recruitment_id}/poll", status_code=204)
def poll_now(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Check the platform now instead of at the next regular check."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    service.poll_now(session, account, recruitment_id)
    return Response(status_code=204)


@api.post("/{recruitment_id}/resume")
def resume_recruitment(
    campaign_id: UUID, recruitment_id: UUID, session: DatabaseSession, account: Paying
) -> RecruitmentOut:
    """Resume a paused recruitment: the platform sends people again, and they are paid."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    return recruitment_out(session, service.act(session, account, recruitment_id, "resume"))


@api.post("/{recruitment_id}/{action}")
def act_on_recruitment(
    campaign_id: UUID,
    recruitment_id: UUID,
    action: Literal["pause", "stop"],
    session: DatabaseSession,
    account: SignedIn,
) -> RecruitmentOut:
    """Pause or stop a recruitment. No new people can join. People at work can still submit and are
    paid."""
    _of_campaign(session, account, campaign_id, recruitment_id)
    return recruitment_out(session, service.act(session, account, recruitment_id, action))


class KnownOut(BaseModel):
    people: int = Field(
        description="People whose ID on a platform or panel, name on a link's list, or answers to "
        "questions are stored, or what a link's address said of them."
    )
    unsettled: int = Field(
        description="How many of these people have payments or work that are not settled."
    )
    until: datetime | None = Field(description="When the stored identities are deleted.")


class ForgetIn(BaseModel):
    platform_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="One person's ID on the platform or panel. Null: everyone.",
    )
    annotator: StrictInt | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="One person's number, for people who came through a link.",
    )

    @model_validator(mode="after")
    def _names_one_person(self) -> "ForgetIn":
        if self.platform_id is not None and self.annotator is not None:
            raise ValueError("name a person by platform_id or by annotator, not by both")
        return self


class ForgottenOut(BaseModel):
    forgotten: int
    kept: int = Field(description="People who were kept because payments or work are not settled.")


@people_api.get("/people")
def get_known_people(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> KnownOut:
    """Count the people whose platform ID, name or answers to questions are stored."""
    known = people.known_people(session, account, campaign_id)
    return KnownOut(people=known.people, unsettled=known.unsettled, until=known.until)


@people_api.post("/people/forget")
def forget_people(
    campaign_id: UUID, body: ForgetIn, session: DatabaseSession, account: SignedIn
) -> ForgottenOut:
    """Delete the identity of one person or of everyone, with their answers to questions. Answers to
    grids and models stay as they are."""
    person = body.platform_id if body.annotator is None else body.annotator
    if person is None:
        forgotten = people.forget_people(session, account, campaign_id)
    else:
        forgotten = people.forget_person(session, account, campaign_id, person)
    return ForgottenOut(forgotten=forgotten.people, kept=forgotten.kept)
