"""Read-only links: the owner's form and API, and the address at which a visitor comes in."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn, address_of
from app.campaigns import read_only, service
from app.campaigns.models import ReadOnlyLink
from app.campaigns.pages import section_response
from app.campaigns.schemas import NewReadOnlyLinkOut, ReadOnlyLinkIn, ReadOnlyLinkOut
from app.campaigns.sharing import require_owner
from app.core.errors import InvalidInput
from app.core.paging import Page, Paged
from app.core.settings import get_settings
from app.core.visits import ENTRANCE, root_of, visit_cookie_name
from app.core.web import DatabaseSession

api = api_router("/campaigns", "campaigns")
pages = APIRouter(include_in_schema=False)


def address_of_link(token: str) -> str:
    """Return the address that the owner copies."""
    return f"{get_settings().base_url.rstrip('/')}{ENTRANCE}{token}"


@api.get("/{campaign_id}/read-only-links")
def list_read_only_links(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[ReadOnlyLinkOut]:
    """List the campaign's read-only links that were not withdrawn, the newest first. Only the owner
    sees them, and nobody sees their addresses again."""
    campaign = service.get_campaign(session, account, campaign_id)
    require_owner(account, campaign)
    query = read_only.links_of(campaign)
    rows = paging.rows(session, query, ReadOnlyLink.id, newest_first=True)
    return paging.page([ReadOnlyLinkOut.of(link) for (link,) in rows])


@api.post("/{campaign_id}/read-only-links", status_code=201)
def create_read_only_link(
    campaign_id: UUID, body: ReadOnlyLinkIn, session: DatabaseSession, account: SignedIn
) -> NewReadOnlyLinkOut:
    """Create a link that shows the campaign's results to people without an account. The address is
    in this reply only."""
    campaign = service.get_campaign(session, account, campaign_id)
    link, token = read_only.create_link(session, account, campaign, body.note, body.days)
    listed = ReadOnlyLinkOut.of(link)
    return NewReadOnlyLinkOut(**listed.model_dump(), address=address_of_link(token))


@api.delete("/{campaign_id}/read-only-links/{read_only_link_id}", status_code=204)
def withdraw_read_only_link(
    campaign_id: UUID, read_only_link_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Withdraw a read-only link. It ends at once, also for those who have opened it."""
    campaign = service.get_campaign(session, account, campaign_id)
    read_only.withdraw_link(session, account, campaign, read_only_link_id)
    return Response(status_code=204)


@pages.post("/campaigns/{campaign_id}/read-only-links", response_class=HTMLResponse)
def create_from_form(
    request: Request,
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    note: Annotated[str, Form(max_length=1000)] = "",
    days: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """The page then shows the address, once."""
    campaign = service.get_campaign(session, account, campaign_id)
    try:
        if days not in ("", *map(str, read_only.DAYS)):
            raise InvalidInput("Choose one of the end dates of the list.")
        with session.begin_nested():
            _, token = read_only.create_link(
                session, account, campaign, note, int(days) if days else None
            )
    except InvalidInput as error:
        context = {"read_only_error": str(error), "read_only_note": note}
        status = error.status
    else:
        context, status = {"read_only_address": address_of_link(token)}, 201
    return section_response(request, session, account, campaign, "settings", status, **context)


@pages.post("/campaigns/{campaign_id}/read-only-links/{read_only_link_id}/withdraw")
def withdraw_from_form(
    campaign_id: UUID, read_only_link_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    campaign = service.get_campaign(session, account, campaign_id)
    read_only.withdraw_link(session, account, campaign, read_only_link_id)
    return RedirectResponse(f"/campaigns/{campaign_id}/settings", status_code=303)


@pages.get("/r/{token}")
def open_read_only_link(request: Request, token: str, session: DatabaseSession) -> Response:
    """Exchange the link for a cookie of this campaign's view. A session of the same browser is left
    as it is."""
    link = read_only.open_link(session, token, address_of(request))
    return _entered(link)


def _entered(link: ReadOnlyLink) -> Response:
    root = root_of(link.id)
    response = RedirectResponse(f"{root}/campaigns/{link.campaign_id}", status_code=303)
    response.set_cookie(
        visit_cookie_name(),
        read_only.cookie_of_visit(link),
        max_age=read_only.VISIT_HOURS * 3600,
        httponly=True,
        # A link in a message leads here from another site.
        samesite="lax",
        secure=get_settings().secure_cookies,
        path=root,
    )
    return response
