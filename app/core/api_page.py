"""`/docs/api` shows the OpenAPI document as a page for people, with scripts of our own build."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from app.core.openapi import ADDRESS
from app.core.web import templates

pages = APIRouter(include_in_schema=False)


@pages.get("/docs/api", response_class=HTMLResponse)
def api_page(request: Request) -> Response:
    return templates.TemplateResponse(request, "api.html", {"address": ADDRESS})


# FastAPI's own route completes the document in the event loop: for a second or more, the process
# would serve nobody else.
@pages.get(ADDRESS)
def api_document(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())
