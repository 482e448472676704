"""API of a campaign's recruitments."""

from typing import Literal
from uuid import UUID

from fastapi.responses import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.routes import Paying, SignedIn
from app.campaigns.service import get_campaign
from app.core.errors import NotFound
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession
from app.recruitment import report, service
from app.recruitment.models import Recruitment
from app.recruitment.payment_schemas import ReconciliationOut
from app.recruitment.presenters import dry_run_out, recruitment_out
from app.recruitment.schemas import (
    MorePlaces,
    NewLimit,
    NewRecruitment,
    RecruitmentDryRunOut,
    RecruitmentOut,
)
from app.recruitment.service import RecruitmentPlan

api = api_router("/campaigns/{campaign_id}/recruitments", "recruitment")


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
