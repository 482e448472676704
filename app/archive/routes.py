"""API and page that restore a campaign from its archive. The archive itself is an export."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.archive.reader import restore_archive
from app.campaigns.schemas import CampaignOut
from app.core.bodies import StrictRoute, takes, uploads
from app.core.errors import LikewiseError
from app.core.heavy import heavy
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates

api = api_router("/campaigns", "exports")
pages = APIRouter(include_in_schema=False, route_class=StrictRoute)
# As for images in ZIP files, an archive can unpack to so many times the upload limit.
MOST_UNPACKED = 4


def _most_bytes() -> int:
    return MOST_UNPACKED * get_settings().max_upload_bytes


@api.post("/import", status_code=201)
@heavy
@takes(uploads)
def import_archive(
    file: Annotated[UploadFile, File(description="The exported file `archive.zip` of a campaign.")],
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
    name: Annotated[
        str,
        Form(
            max_length=200,
            description="Name of the new campaign; if empty, the name in the archive.",
        ),
    ] = "",
) -> CampaignOut:
    """Restore a campaign and its collection from an archive, as new ones of your account.

    A running campaign is restored as paused, with a new link for annotators.
    """
    campaign = restore_archive(session, account, file.file, name=name, most_bytes=_most_bytes())
    response.headers["Location"] = f"/api/v1/campaigns/{campaign.id}"
    return CampaignOut.of(campaign)


@pages.get("/campaigns/import", response_class=HTMLResponse)
def import_page(request: Request, account: SignedIn) -> Response:
    return _page(request, {"account": account})


@pages.post("/campaigns/import", response_class=HTMLResponse)
@heavy
@takes(uploads)
def import_from_form(
    request: Request,
    file: UploadFile,
    session: DatabaseSession,
    account: SignedIn,
    name: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Restore an archive, or show the form again with the error."""
    try:
        with session.begin_nested():
            campaign = restore_archive(
                session, account, file.file, name=name, most_bytes=_most_bytes()
            )
    except LikewiseError as error:
        return _page(request, {"account": account, "error": error}, error.status)
    return RedirectResponse(f"/campaigns/{campaign.id}", status_code=303)


def _page(request: Request, context: dict[str, object], status: int = 200) -> Response:
    limit = get_settings().max_upload_bytes // 2**20
    context = {**context, "limit": limit}
    return templates.TemplateResponse(request, "archive/import.html", context, status_code=status)
