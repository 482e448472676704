"""The annotators' page behind a link."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.annotation.pages import page_context
from app.core.web import AnnotatorsSession, templates
from app.recruitment.link_entry import arrival_of

pages = APIRouter(include_in_schema=False)


@pages.get("/a/{link}", response_class=HTMLResponse)
def annotator_page(
    request: Request, link: str, session: AnnotatorsSession, lang: str = ""
) -> HTMLResponse:
    campaign = arrival_of(session, link).campaign
    context = {**page_context(request, campaign, lang), "link": link}
    headers = {"Vary": "Accept-Language"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)
