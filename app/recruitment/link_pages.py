"""The annotators' page behind a link."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.annotation.pages import page_context
from app.core.security import pseudonym
from app.core.web import AnnotatorsSession, templates
from app.recruitment.link_entry import arrival_of
from app.recruitment.models import Recruitment
from app.recruitment.parameters import BadParameter, read_parameters
from app.recruitment.settings import LinkSettings, link_settings

pages = APIRouter(include_in_schema=False)


@pages.get("/a/{link}", response_class=HTMLResponse)
def annotator_page(
    request: Request, link: str, session: AnnotatorsSession, lang: str = ""
) -> HTMLResponse:
    arrival = arrival_of(session, link)
    settings = link_settings(arrival.link.settings)
    # The middleware reads it when it writes the policy of this page.
    request.state.framed_by = " ".join(settings.framed_by)
    context = {
        **page_context(request, arrival.campaign, lang),
        "link": link,
        "place": _place(arrival.link, settings, request.url.query),
    }
    headers = {"Vary": "Accept-Language"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)


def _place(link: Recruitment, settings: LinkSettings, query: str) -> str:
    """Return the key under which a browser stores data of the person with an id, so that people who
    share a browser don't see each other's work. "" if only the browser is known."""
    try:
        person = read_parameters(settings, query).person
    except BadParameter:
        # The page then asks for a session, and shows why it gets none.
        return ""
    return pseudonym(f"place:link:{link.id}", person)[:32] if person else ""
