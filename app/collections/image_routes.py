"""API of a collection's images: find, show and delete them, and export their attributes."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query
from fastapi.responses import Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.collections import copies, deletion, search, service, tables
from app.collections.details import details_of
from app.collections.image_schemas import (
    AttributeValuesOut,
    CopyIn,
    DeletedOut,
    ImageDetails,
    ImageOut,
    ImagePage,
    SelectionIn,
    SelectionUseOut,
    ShapesOut,
)
from app.collections.schemas import CollectionOut
from app.collections.search import ImageFilter
from app.collections.shapes import shapes_of
from app.core.attachments import attachment
from app.core.bodies import long_lists, takes
from app.core.copying import in_pieces
from app.core.database import snapshot
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.row_security import scope_to_account
from app.core.spool import Download
from app.core.web import DatabaseSession

api = api_router("/collections/{collection_id}", "collections")


def _filter(
    search_text: Annotated[
        str,
        Query(
            alias="search",
            description=(
                "Words from the file name or from attribute values, or name:value. Put text "
                "with spaces in quotation marks; * matches anything."
            ),
        ),
    ] = "",
    attribute: Annotated[
        list[str],
        Query(description="name:value, matched exactly. Values of the same name are alternatives."),
    ] = [],  # noqa: B006 -- FastAPI copies it
    missing: Annotated[
        list[str], Query(description="Names of attributes for which the image has no value.")
    ] = [],  # noqa: B006
) -> ImageFilter:
    return search.filter_of(search_text, attribute, missing)


Filtered = Annotated[ImageFilter, Depends(_filter)]


@api.get("/images")
@heavy
def list_images(
    collection_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    wanted: Filtered,
    paging: Paged,
    sort: Annotated[
        str,
        Query(
            description="position, filename, size, shape (the longer side divided by the shorter "
            "one), features, or attribute:name"
        ),
    ] = "position",
    descending: bool = False,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> ImagePage:
    """List the images of the collection, or those that match a search. `total` counts all of
    them."""
    collection = service.get_collection(session, account, collection_id)
    rows = paging.slice(
        offset,
        lambda start, limit: search.find_images(
            session,
            collection,
            wanted,
            sort=sort,
            descending=descending,
            offset=start,
            limit=limit,
        ),
    )
    page = paging.page([ImageOut.of(image, n_features) for image, n_features in rows])
    total = search.count_images(session, collection, wanted)
    return ImagePage(items=page.items, next=page.next, total=total)


@api.get("/images/{sha256}")
def get_image(
    collection_id: UUID, sha256: str, session: DatabaseSession, account: SignedIn
) -> ImageDetails:
    """Return one image with its features, and the campaigns that use it."""
    collection = service.get_collection(session, account, collection_id)
    return ImageDetails.of_details(details_of(session, collection, sha256))


@api.post("/images/dependents")
def images_dependents(
    collection_id: UUID, body: SelectionIn, session: DatabaseSession, account: SignedIn
) -> SelectionUseOut:
    """Describe what deleting these images would do. This changes nothing."""
    collection = service.get_collection(session, account, collection_id)
    return SelectionUseOut.of(deletion.use_of(session, collection, body.selection()))


@api.post("/images/delete")
def delete_images(
    collection_id: UUID, body: SelectionIn, session: DatabaseSession, account: SignedIn
) -> DeletedOut:
    """Delete images that no campaign uses. The positions of the images after them move up."""
    collection = service.get_collection(session, account, collection_id)
    deleted = deletion.delete_images(
        session, account, collection, body.selection(), unused_only=body.unused_only
    )
    return DeletedOut(deleted=deleted, n_images=collection.n_images)


@api.post("/images/copy", status_code=201)
@takes(long_lists)
@heavy
def copy_images(
    collection_id: UUID,
    body: CopyIn,
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
) -> CollectionOut:
    """Create a collection with some of the images. A worker copies them, with names and attributes;
    its progress is that of the new collection's import."""
    source = service.get_collection(session, account, collection_id)
    collection, _ = copies.start_copy(session, account, source, body.selection(), body.name)
    response.headers["Location"] = f"/api/v1/collections/{collection.id}"
    return CollectionOut.of(collection)


@api.get("/shapes")
@heavy
def get_shapes(collection_id: UUID, session: DatabaseSession, account: SignedIn) -> ShapesOut:
    """Count the images whose sides are more than 4:1, which annotators see small."""
    collection = service.get_collection(session, account, collection_id)
    return ShapesOut.model_validate(shapes_of(session, collection))


@api.get("/attributes")
@heavy
def list_attributes(
    collection_id: UUID, session: DatabaseSession, account: SignedIn, wanted: Filtered
) -> Page[AttributeValuesOut]:
    """List the attributes of the images that match a search, with their most frequent values and
    counts."""
    collection = service.get_collection(session, account, collection_id)
    attributes = search.attribute_values(session, collection, wanted)
    return Page(items=[AttributeValuesOut.of(attribute) for attribute in attributes], next=None)


@api.get("/attributes.csv", response_class=Response)
@heavy
def download_attributes(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Download all attributes as a table that you can change and upload again."""
    collection = service.get_collection(session, account, collection_id)

    def lines() -> Iterator[bytes]:
        # The request's session ends before the body is sent.
        with snapshot() as own:
            scope_to_account(own, account.id)
            written = (line.encode() for line in tables.attributes_csv(own, collection))
            yield from in_pieces(written)

    headers = attachment(collection.name, "attributes.csv")
    return Download(account.id, lines, "text/csv; charset=utf-8", headers)
