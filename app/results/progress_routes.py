"""The monitor of a campaign: its page, and the actions that it offers."""

from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns import service
from app.campaigns.changes import ACTIONS, Action
from app.campaigns.links import annotator_link
from app.campaigns.pages import frame_context
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates
from app.results.schemas import ProgressOut
from app.results.service import read_progress
from app.results.visitors import shown_progress

api = api_router("/campaigns", "campaigns")
pages = APIRouter(include_in_schema=False)
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


@api.post("/{campaign_id}/actions/{action}", name="act_on_campaign")
def act(
    campaign_id: UUID, action: Action, session: DatabaseSession, account: SignedIn
) -> ProgressOut:
    """Start, pause, resume, finish, reopen, archive or unarchive a campaign, retry a failed
    training, or admit new images."""
    campaign = ACTIONS[action](session, account, campaign_id)
    return ProgressOut.of(read_progress(session, campaign))


@pages.get("/campaigns/{campaign_id}", response_class=HTMLResponse)
def campaign_page(
    request: Request, campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = service.get_campaign(session, account, campaign_id)
    context = {
        **frame_context(session, account, campaign, "monitor"),
        "link": annotator_link(campaign, get_settings().base_url),
        "link_is_local": urlsplit(get_settings().base_url).hostname in LOCAL_HOSTS,
        "progress": shown_progress(account, ProgressOut.of(read_progress(session, campaign))),
    }
    return templates.TemplateResponse(request, "campaigns/show.html", context)
