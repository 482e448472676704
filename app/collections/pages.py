"""Pages of collections. Uploads also work without JavaScript."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.collections import deletion, imports, service
from app.collections.hooks import dependents
from app.collections.image_schemas import ImageOut
from app.collections.models import Collection
from app.collections.routes import read_files
from app.collections.schemas import UploadOut
from app.collections.shapes import shapes_of
from app.core.bodies import StrictRoute, takes, uploads
from app.core.heavy import heavy
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates

pages = APIRouter(include_in_schema=False, route_class=StrictRoute)
# The number of images shown without JavaScript; with it the page shows all.
SHOWN = 200


@pages.get("/collections/new", response_class=HTMLResponse)
def new_collection_page(request: Request, account: SignedIn) -> Response:
    today = date.today()
    context = {
        "account": account,
        "name": f"Images of {today.day} {today:%B %Y}",
        "sources": imports.sources(),
        "max_image_bytes": get_settings().max_image_bytes,
    }
    return templates.TemplateResponse(request, "collections/new.html", context)


@pages.post("/collections", response_class=HTMLResponse)
@heavy
@takes(uploads)
def create_collection_from_form(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    name: Annotated[str, Form()],
    files: list[UploadFile] = [],  # noqa: B006 -- FastAPI copies it
) -> Response:
    collection = service.create_collection(session, account, name)
    # A browser sends an empty part when no file was chosen.
    given = [file for file in files if file.filename]
    if given:
        return _report(request, session, account, collection, given)
    return RedirectResponse(f"/collections/{collection.id}", status_code=303)


@pages.get("/collections/{collection_id}", response_class=HTMLResponse)
def collection_page(
    request: Request, collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    collection = service.get_collection(session, account, collection_id)
    images = service.list_images(session, collection, 0, SHOWN)
    context = {
        "account": account,
        "collection": collection,
        "images": [ImageOut.of(image, 0) for image in images],
        "sources": imports.sources(),
        "max_image_bytes": get_settings().max_image_bytes,
    }
    return templates.TemplateResponse(request, "collections/show.html", context)


@pages.post("/collections/{collection_id}/files", response_class=HTMLResponse)
@heavy
@takes(uploads)
def add_files_from_form(
    request: Request,
    collection_id: UUID,
    files: list[UploadFile],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """Handle the upload form without JavaScript: the same service, with the report as a page."""
    collection = service.get_collection(session, account, collection_id)
    return _report(request, session, account, collection, files)


def _report(
    request: Request,
    session: DatabaseSession,
    account: Account,
    collection: Collection,
    files: list[UploadFile],
) -> Response:
    report = service.add_files(session, account, collection, read_files(files))
    context = {
        "account": account,
        "collection": collection,
        "report": UploadOut.of(report, collection.n_images),
        "shapes": shapes_of(session, collection),
        "reload_address": f"/collections/{collection.id}",
    }
    return templates.TemplateResponse(request, "collections/report.html", context)


@pages.get("/collections/{collection_id}/delete", response_class=HTMLResponse)
def delete_collection_page(
    request: Request, collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Show what would be deleted with the collection, and a field for its name."""
    collection = service.get_collection(session, account, collection_id)
    context = {
        "account": account,
        "collection": collection,
        "dependents": dependents(session, collection),
    }
    return templates.TemplateResponse(request, "collections/delete.html", context)


@pages.post("/collections/{collection_id}/delete")
def delete_collection_from_form(
    collection_id: UUID, session: DatabaseSession, account: SignedIn, name: Annotated[str, Form()]
) -> Response:
    collection = service.get_collection(session, account, collection_id)
    deletion.delete_collection(session, account, collection, name)
    return RedirectResponse("/", status_code=303)
