"""Collections: API and pages."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts.routes import SignedIn
from app.collections import service
from app.collections.schemas import (
    CollectionOut,
    ImageOut,
    ImagePage,
    NewCollection,
    UploadOut,
)
from app.core.web import DatabaseSession, templates

api = APIRouter(prefix="/api/collections", tags=["collections"])
pages = APIRouter(include_in_schema=False)
SHOWN = 600


@api.post("", status_code=201)
def create_collection(
    body: NewCollection, session: DatabaseSession, account: SignedIn, response: Response
) -> CollectionOut:
    collection = service.create_collection(session, account, body.name)
    response.headers["Location"] = f"/api/collections/{collection.id}"
    return CollectionOut.of(collection)


@api.get("")
def list_collections(session: DatabaseSession, account: SignedIn) -> list[CollectionOut]:
    return [CollectionOut.of(found) for found in service.list_collections(session, account)]


@api.get("/{collection_id}")
def get_collection(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> CollectionOut:
    return CollectionOut.of(service.get_collection(session, account, collection_id))


@api.post("/{collection_id}/files")
def add_files(
    collection_id: UUID, files: list[UploadFile], session: DatabaseSession, account: SignedIn
) -> UploadOut:
    collection = service.get_collection(session, account, collection_id)
    report = service.add_files(session, account, collection, _read(files))
    return UploadOut.of(report, collection.n_images)


@api.get("/{collection_id}/images")
def list_images(
    collection_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> ImagePage:
    collection = service.get_collection(session, account, collection_id)
    images = service.list_images(session, collection, offset, limit)
    return ImagePage(total=collection.n_images, images=[ImageOut.of(image) for image in images])


@pages.get("/collections/new", response_class=HTMLResponse)
def new_collection_page(request: Request, account: SignedIn) -> Response:
    return templates.TemplateResponse(request, "collections/new.html", {"account": account})


@pages.post("/collections")
def create_collection_from_form(
    session: DatabaseSession, account: SignedIn, name: Annotated[str, Form()]
) -> Response:
    collection = service.create_collection(session, account, name)
    return RedirectResponse(f"/collections/{collection.id}", status_code=303)


@pages.get("/collections/{collection_id}", response_class=HTMLResponse)
def collection_page(
    request: Request, collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    collection = service.get_collection(session, account, collection_id)
    context = {
        "account": account,
        "collection": collection,
        "attributes": service.attribute_names(session, collection),
        "images": [
            ImageOut.of(image) for image in service.list_images(session, collection, 0, SHOWN)
        ],
    }
    return templates.TemplateResponse(request, "collections/show.html", context)


@pages.post("/collections/{collection_id}/files", response_class=HTMLResponse)
def add_files_from_form(
    request: Request,
    collection_id: UUID,
    files: list[UploadFile],
    session: DatabaseSession,
    account: SignedIn,
) -> Response:
    """The upload form without JavaScript: the same service, the report as a page."""
    collection = service.get_collection(session, account, collection_id)
    report = service.add_files(session, account, collection, _read(files))
    context = {
        "account": account,
        "collection": collection,
        "report": UploadOut.of(report, collection.n_images),
    }
    return templates.TemplateResponse(request, "collections/report.html", context)


def _read(files: list[UploadFile]) -> list[tuple[str, bytes]]:
    return [(file.filename or "unnamed", file.file.read()) for file in files]
