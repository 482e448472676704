"""The annotators' page: a frame with texts and addresses, which the script fills."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.annotation.catalogues import RIGHT_TO_LEFT, catalogues, choose_language
from app.annotation.settings import annotation_of
from app.campaigns.service import campaign_of_link
from app.core.web import DatabaseSession, templates

pages = APIRouter(include_in_schema=False)


@pages.get("/a/{link}", response_class=HTMLResponse)
def annotator_page(
    request: Request, link: str, session: DatabaseSession, lang: str = ""
) -> HTMLResponse:
    campaign = campaign_of_link(session, link)
    wanted = annotation_of(campaign.annotation).language
    language = choose_language(lang, wanted, request.headers.get("accept-language", ""))
    context = {
        "link": link,
        "campaign": campaign,
        "language": language,
        "direction": "rtl" if language in RIGHT_TO_LEFT else "ltr",
        "messages": catalogues()[language],
        "languages": {code: texts["language"] for code, texts in catalogues().items()},
    }
    headers = {"Vary": "Accept-Language"}
    return templates.TemplateResponse(request, "annotation/page.html", context, headers=headers)
