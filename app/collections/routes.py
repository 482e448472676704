"""API of collections: create, rename and delete them, and add files."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from fastapi import Form, Query, UploadFile
from fastapi.responses import Response
from pydantic import Json

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.collections import deletion, service
from app.collections.hooks import dependents
from app.collections.models import Collection
from app.collections.schemas import (
    CollectionName,
    CollectionOut,
    DependentsOut,
    FileHashes,
    KnownFile,
    KnownFiles,
    NewCollection,
    UploadOut,
)
from app.core.bodies import takes, uploads
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.web import DatabaseSession

api = api_router("/collections", "collections")


@api.post("", status_code=201)
def create_collection(
    body: NewCollection, session: DatabaseSession, account: SignedIn, response: Response
) -> CollectionOut:
    """Create an empty collection."""
    collection = service.create_collection(session, account, body.name)
    response.headers["Location"] = f"/api/v1/collections/{collection.id}"
    return CollectionOut.of(collection)


@api.get("")
def list_collections(
    session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[CollectionOut]:
    """List your collections, newest first."""
    query = service.collections_of(account)
    rows = paging.rows(session, query, Collection.id, newest_first=True)
    return paging.page([CollectionOut.of(collection) for (collection,) in rows])


@api.get("/{collection_id}")
def get_collection(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> CollectionOut:
    """Return one collection."""
    return CollectionOut.of(service.get_collection(session, account, collection_id))


@api.patch("/{collection_id}")
def rename_collection(
    collection_id: UUID, body: CollectionName, session: DatabaseSession, account: SignedIn
) -> CollectionOut:
    """Rename a collection."""
    collection = service.get_collection(session, account, collection_id)
    service.rename_collection(session, account, collection, body.name)
    return CollectionOut.of(collection)


@api.get("/{collection_id}/dependents")
def get_dependents(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> DependentsOut:
    """Describe what would be deleted with the collection. This changes nothing."""
    collection = service.get_collection(session, account, collection_id)
    return DependentsOut.of(dependents(session, collection))


@api.delete("/{collection_id}", status_code=204)
def delete_collection(
    collection_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    name: Annotated[str, Query(description="The collection's name, as a confirmation.")],
) -> None:
    """Delete a collection with all its campaigns, their answers and models."""
    collection = service.get_collection(session, account, collection_id)
    deletion.delete_collection(session, account, collection, name)


@api.post("/{collection_id}/files")
@heavy
@takes(uploads)
def add_files(
    collection_id: UUID,
    files: list[UploadFile],
    session: DatabaseSession,
    account: SignedIn,
    aliases: Annotated[
        Json[dict[str, str]] | None,
        Form(
            description=(
                "Other names that a table uses for images: a JSON object that maps each to the "
                "image's file name, as in the `duplicates` of earlier responses."
            )
        ),
    ] = None,
) -> UploadOut:
    """Add images, ZIP files of images, and CSV tables of attributes and features.

    Files that cannot be used are listed with the reason, and all others are added. Images that are
    already in the collection are listed as duplicates, so sending a file again does no harm.
    """
    collection = service.get_collection(session, account, collection_id)
    report = service.add_files(session, account, collection, read_files(files), aliases)
    return UploadOut.of(report, collection.n_images)


@api.post("/{collection_id}/files/known")
def known_files(
    collection_id: UUID, body: FileHashes, session: DatabaseSession, account: SignedIn
) -> KnownFiles:
    """Tell which files the collection already has, by the SHA-256 of their bytes, so that a client
    need not upload them."""
    collection = service.get_collection(session, account, collection_id)
    known = service.known_files(session, collection, body.sha256)
    return KnownFiles(
        known=[KnownFile(sha256=sha256, filename=name) for sha256, name in known.items()]
    )


def read_files(files: list[UploadFile]) -> Iterator[service.File]:
    """Yield names and bytes, with one file in memory at a time."""
    for file in files:
        yield file.filename or "unnamed", file.file.read()
