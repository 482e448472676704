"""Campaigns: API and pages."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts.routes import SignedIn
from app.accounts.service import account_by_email
from app.campaigns import service
from app.campaigns.forms import CampaignForm
from app.campaigns.schemas import CampaignOut, NewCampaign, ShareIn, ShareOut
from app.campaigns.sharing import access_of, end_share, list_shares, share_campaign
from app.collections.models import Collection
from app.collections.service import list_collections
from app.core.errors import LikewiseError
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates
from app.results.schemas import ProgressOut
from app.results.service import read_progress
from app.strategies import all_strategies, get_strategy

api = APIRouter(prefix="/api/campaigns", tags=["campaigns"])
pages = APIRouter(include_in_schema=False)
Action = Literal["start", "pause", "resume", "finish", "retry", "admit"]


async def _sent_form(request: Request) -> CampaignForm:
    return CampaignForm({name: str(value) for name, value in (await request.form()).items()})


SentForm = Annotated[CampaignForm, Depends(_sent_form)]


@api.post("", status_code=201)
def create_campaign(
    body: NewCampaign, session: DatabaseSession, account: SignedIn, response: Response
) -> CampaignOut:
    campaign = service.create_campaign(session, account, body.plan())
    response.headers["Location"] = f"/api/campaigns/{campaign.id}"
    return CampaignOut.of(campaign)


@api.get("")
def list_campaigns(session: DatabaseSession, account: SignedIn) -> list[CampaignOut]:
    return [CampaignOut.of(found) for found in service.list_campaigns(session, account)]


@api.get("/{campaign_id}")
def get_campaign(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> CampaignOut:
    return CampaignOut.of(service.get_campaign(session, account, campaign_id))


@api.post("/{campaign_id}/actions/{action}")
def act(
    campaign_id: UUID, action: Action, session: DatabaseSession, account: SignedIn
) -> ProgressOut:
    campaign = service.ACTIONS[action](session, account, campaign_id)
    return ProgressOut.of(read_progress(session, campaign))


@api.get("/{campaign_id}/shares")
def get_shares(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> list[ShareOut]:
    campaign = service.get_campaign(session, account, campaign_id)
    return [ShareOut(**vars(share)) for share in list_shares(session, campaign)]


@api.put("/{campaign_id}/shares", status_code=204)
def share(
    campaign_id: UUID, body: ShareIn, session: DatabaseSession, account: SignedIn
) -> Response:
    """Let another requester look at the campaign, or work on it."""
    campaign = service.get_campaign(session, account, campaign_id)
    share_campaign(session, account, campaign, body.email, body.access)
    return Response(status_code=204)


@api.delete("/{campaign_id}/shares/{account_id}", status_code=204)
def unshare(
    campaign_id: UUID, account_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = service.get_campaign(session, account, campaign_id)
    end_share(session, account, campaign, account_id)
    return Response(status_code=204)


@pages.post("/campaigns/{campaign_id}/shares")
def share_from_form(
    campaign_id: UUID,
    email: Annotated[str, Form(max_length=320)],
    access: Annotated[str, Form()],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """`none` ends sharing."""
    campaign = service.get_campaign(session, account, campaign_id)
    if access == "none":
        end_share(session, account, campaign, account_by_email(session, email).id)
    else:
        share_campaign(session, account, campaign, email, access)
    return RedirectResponse(f"/campaigns/{campaign_id}", status_code=303)


@pages.get("/", response_class=HTMLResponse)
def home(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    context = {
        "account": account,
        "collections": list_collections(session, account),
        "campaigns": service.list_campaigns(session, account),
    }
    return templates.TemplateResponse(request, "home.html", context)


@pages.get("/campaigns/new", response_class=HTMLResponse)
def new_campaign_page(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    collection: UUID | None = None,
) -> Response:
    form = CampaignForm.blank(str(collection) if collection else "")
    return _form_page(request, session, account, form, None)


@pages.post("/campaigns", response_class=HTMLResponse)
def create_campaign_from_form(
    request: Request, session: DatabaseSession, account: SignedIn, form: SentForm
) -> Response:
    """A mistake shows the form again, filled in, with what is wrong."""
    try:
        with session.begin_nested():
            campaign = service.create_campaign(session, account, form.plan())
    except LikewiseError as error:
        return _form_page(request, session, account, form, error)
    return RedirectResponse(f"/campaigns/{campaign.id}", status_code=303)


def _form_page(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    form: CampaignForm,
    error: LikewiseError | None,
) -> Response:
    context = {
        "account": account,
        "form": form,
        "error": error,
        "collections": list_collections(session, account),
        "strategies": all_strategies(),
        "kinds": service.KINDS,
    }
    status = error.status if error else 200
    return templates.TemplateResponse(request, "campaigns/new.html", context, status_code=status)


@pages.get("/campaigns/{campaign_id}", response_class=HTMLResponse)
def campaign_page(
    request: Request, campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = service.get_campaign(session, account, campaign_id)
    context = {
        "account": account,
        "campaign": campaign,
        "collection": session.get_one(Collection, campaign.collection_id),
        "access": access_of(session, account, campaign),
        "shares": list_shares(session, campaign),
        "strategy": get_strategy(campaign.strategy),
        "link": service.annotator_link(campaign, get_settings().base_url),
        "progress": ProgressOut.of(read_progress(session, campaign)),
    }
    return templates.TemplateResponse(request, "campaigns/show.html", context)


@pages.post("/campaigns/{campaign_id}/actions")
def act_from_form(
    campaign_id: UUID,
    action: Annotated[Action, Form()],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    service.ACTIONS[action](session, account, campaign_id)
    return RedirectResponse(f"/campaigns/{campaign_id}", status_code=303)
