"""Pages of campaigns."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts.models import VISITOR, Account
from app.accounts.routes import SignedIn
from app.accounts.service import account_by_email
from app.campaigns import changes, service
from app.campaigns.models import Campaign
from app.campaigns.read_only import DAYS, list_links
from app.campaigns.sharing import access_of, end_share, list_shares, share_campaign
from app.collections.models import Collection
from app.collections.service import list_collections
from app.core.errors import InvalidInput, NotFound
from app.core.visits import SECTIONS as SECTIONS_OF_VISITORS
from app.core.web import DatabaseSession, templates
from app.kinds import AnswerForm, all_kinds, kind_of
from app.strategies import all_strategies, get_strategy

pages = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Section:
    """A campaign's page that consists of one island.

    island: its name in dashboard.ts.
    form: the only form of answers for which the page makes sense, if there is one.
    of_classes: the island's name if annotators choose from the requester's classes.
    """

    title: str
    island: str
    form: AnswerForm | None = None
    of_classes: str | None = None


# In the order of the navigation, after the monitor.
SECTIONS = {
    "recruit": Section("Recruit", "recruit"),
    "map": Section("Map", "map"),
    "labels": Section("Labels", "labels", "votes", of_classes="classes"),
    "attributes": Section("Attributes", "attributes", "groupings"),
    "clusters": Section("Clusters", "clusters", "groupings"),
    "compare": Section("Compare", "compare"),
    "alignment": Section("Alignment", "alignment", "groupings"),
    "quality": Section("Quality", "quality"),
    "annotators": Section("Annotators", "annotators"),
    "exports": Section("Exports", "exports"),
    "settings": Section("Settings", "settings"),
}


@pages.post("/campaigns/{campaign_id}/shares")
def share_from_form(
    request: Request,
    campaign_id: UUID,
    email: Annotated[str, Form(max_length=320)],
    access: Annotated[str, Form()],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """The access `none` ends sharing. What was wrong is shown on the same page."""
    campaign = service.get_campaign(session, account, campaign_id)
    try:
        with session.begin_nested():
            if access == "none":
                end_share(session, account, campaign, account_by_email(session, email).id)
            else:
                share_campaign(session, account, campaign, email, access)
    except (InvalidInput, NotFound) as error:
        context = {"share_error": str(error), "share_email": email}
        return section_response(
            request, session, account, campaign, "settings", error.status, **context
        )
    return RedirectResponse(f"/campaigns/{campaign_id}/settings", status_code=303)


@pages.get("/", response_class=HTMLResponse)
def home(
    request: Request, session: DatabaseSession, account: SignedIn, archived: bool = False
) -> Response:
    context = {
        "account": account,
        "archived": archived,
        "collections": list_collections(session, account),
        "campaigns": service.list_campaigns(session, account, archived=archived),
        "kinds": {kind.name: kind.title for kind in all_kinds()},
        "strategies": {strategy.name: strategy.title for strategy in all_strategies()},
    }
    return templates.TemplateResponse(request, "home.html", context)


@pages.get("/campaigns/new", response_class=HTMLResponse)
def new_campaign_page(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    collection: UUID | None = None,
) -> Response:
    """The wizard."""
    context = {
        "account": account,
        "collections": list_collections(session, account),
        "collection_id": collection or "",
    }
    return templates.TemplateResponse(request, "campaigns/new.html", context)


@pages.get("/campaigns")
def to_all_campaigns() -> Response:
    """Redirect to the home page, which has the list."""
    return RedirectResponse("/")


@pages.get("/campaigns/{campaign_id}/edit", response_class=HTMLResponse)
def edit_page(
    request: Request, campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Show the wizard for a draft. A started campaign is changed on its settings page."""
    campaign = service.get_campaign(session, account, campaign_id)
    if campaign.state != "draft":
        return RedirectResponse(f"/campaigns/{campaign_id}", status_code=303)
    context = {"account": account, "campaign": campaign}
    return templates.TemplateResponse(request, "campaigns/edit.html", context)


@pages.post("/campaigns/{campaign_id}/actions")
def act_from_form(
    campaign_id: UUID,
    action: Annotated[changes.Action, Form()],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    changes.ACTIONS[action](session, account, campaign_id)
    return RedirectResponse(f"/campaigns/{campaign_id}", status_code=303)


@pages.post("/campaigns/{campaign_id}/delete")
def delete_from_form(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> Response:
    """Delete a draft."""
    changes.delete_draft(session, account, campaign_id)
    return RedirectResponse("/", status_code=303)


@pages.get("/campaigns/{campaign_id}/{section}", response_class=HTMLResponse)
def section_page(
    request: Request,
    campaign_id: UUID,
    section: str,
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    campaign = service.get_campaign(session, account, campaign_id)
    if section not in sections_of(campaign):
        raise NotFound("This campaign has no such page.")
    return section_response(request, session, account, campaign, section)


def section_response(
    request: Request,
    session: Session,
    account: Account,
    campaign: Campaign,
    section: str,
    status: int = 200,
    **more: Any,
) -> Response:
    page, kind = SECTIONS[section], kind_of(campaign)
    context = {
        **more,
        **frame_context(session, account, campaign, section),
        "island": (kind.asks_for_classes and page.of_classes) or page.island,
        "form": kind.form,
        "shares": list_shares(session, campaign),
        "read_only_links": list_links(session, campaign),
        "read_only_days": DAYS,
        "now": datetime.now(UTC),
    }
    return templates.TemplateResponse(
        request, "campaigns/section.html", context, status_code=status
    )


def sections_of(campaign: Campaign) -> dict[str, Section]:
    """Return the pages that make sense for the campaign's answers, apart from the monitor."""
    form = kind_of(campaign).form
    return {name: page for name, page in SECTIONS.items() if page.form in (None, form)}


def _shown_sections(account: Account, campaign: Campaign) -> dict[str, Section]:
    """Return the pages of the navigation."""
    shown = SECTIONS_OF_VISITORS if account.role == VISITOR else SECTIONS
    return {name: page for name, page in sections_of(campaign).items() if name in shown}


def frame_context(
    session: Session, account: Account, campaign: Campaign, here: str
) -> dict[str, Any]:
    """Return what `campaigns/frame.html` needs around every page of a campaign. `here` is the
    page."""
    return {
        "account": account,
        "campaign": campaign,
        "collection": session.get_one(Collection, campaign.collection_id),
        "kind": kind_of(campaign),
        "strategy": get_strategy(campaign.strategy),
        "access": access_of(session, account, campaign),
        "sections": _shown_sections(account, campaign),
        "here": here,
    }
