"""The annotators' page: a frame with texts and addresses that the script fills."""

from http import HTTPStatus
from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.accounts.routes import SignedIn
from app.annotation.catalogues import catalogues, choices_of, choose_language, page_language
from app.annotation.preview import preview_of
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.languages import direction_of
from app.core.problems import error_page
from app.core.web import AnnotatorsSession, templates
from app.kinds import kind_of

pages = APIRouter(include_in_schema=False)


@pages.get("/campaigns/{campaign_id}/preview", response_class=HTMLResponse)
def preview_page(
    request: Request,
    campaign_id: UUID,
    session: AnnotatorsSession,
    account: SignedIn,
    lang: str = "",
    at: Literal["start", "work"] = "start",
) -> HTMLResponse:
    """Show the annotators' page with a few random grids to try. Nothing is stored. `at=work` skips
    what comes before the grids."""
    campaign = get_campaign(session, account, campaign_id)
    page = page_context(request, campaign, lang)
    shown = preview_of(session, campaign, page["reading"], whole=at == "start")
    context = {
        **page,
        "link": f"preview-{campaign.id}",
        "preview": shown.model_dump(mode="json"),
    }
    return templates.TemplateResponse(request, "annotation/page.html", context)


@error_page("/a/")
def problem_page(request: Request, status: int, code: str, detail: str) -> Response:
    """Say to people at an annotators' address why there is nothing, in their language, and what
    they can do."""
    asked, accepted = (
        request.query_params.get("lang", ""),
        request.headers.get("accept-language", ""),
    )
    language = choose_language(asked, "", accepted)
    context = {
        "language": language,
        "direction": direction_of(language),
        "messages": catalogues()[language],
        "is_unknown": status == HTTPStatus.NOT_FOUND,
        "is_ours": status >= HTTPStatus.INTERNAL_SERVER_ERROR,
        "detail": detail,
    }
    return templates.TemplateResponse(
        request,
        "annotation/problem.html",
        context,
        status_code=status,
        headers={"Vary": "Accept-Language"},
    )


def page_context(request: Request, campaign: Campaign, lang: str) -> dict[str, Any]:
    """Return what the template of the annotators' page needs."""
    settings = annotation_of(campaign.annotation)
    chosen = page_language(lang, settings, request.headers.get("accept-language", ""))
    return {
        "campaign": campaign,
        "interface": kind_of(campaign).interface,
        "language": chosen.interface,
        "reading": chosen.reading,
        "direction": chosen.direction,
        "messages": catalogues()[chosen.interface],
        "languages": choices_of(settings),
    }
