"""API of imports: from lists of addresses, and from object storage."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Form, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.collections import imports, service
from app.collections.models import Collection, CollectionImport, ImportProblem
from app.core.attachments import attachment
from app.core.bodies import takes, uploads
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.spreadsheets import csv_line
from app.core.web import DatabaseSession

api = api_router("/collections/{collection_id}/imports", "collections")


class ImportOut(BaseModel):
    """One import. `n_rows` is null until the objects below a prefix have been listed."""

    id: UUID
    kind: str
    source: str
    state: str
    n_rows: int | None
    n_done: int
    n_added: int
    n_duplicates: int
    n_rejected: int
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, collection_import: CollectionImport) -> "ImportOut":
        return cls.model_validate(collection_import, from_attributes=True)


class ProblemOut(BaseModel):
    """A row that could not be used. `row` is its line in the list."""

    row: int
    address: str
    code: str
    reason: str

    @classmethod
    def of(cls, problem: ImportProblem) -> "ProblemOut":
        return cls.model_validate(problem, from_attributes=True)


@api.post("", status_code=201)
@heavy
@takes(uploads)
def start_import(
    collection_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
    manifest: UploadFile | None = None,
    prefix: Annotated[str, Form(max_length=1000)] = "",
) -> ImportOut:
    """Import a list (CSV or JSON Lines), or all objects below a prefix of object storage.

    If you give both, keys in the list that are not full addresses are looked up below the prefix.
    """
    collection = service.get_collection(session, account, collection_id)
    given = (manifest.filename or "list", manifest.file.read()) if manifest is not None else None
    begun = imports.start_import(session, account, collection, manifest=given, prefix=prefix)
    session.refresh(begun)
    response.headers["Location"] = f"/api/v1/collections/{collection.id}/imports/{begun.id}"
    return ImportOut.of(begun)


@api.get("")
def list_imports(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> Page[ImportOut]:
    """List the last twenty imports, newest first."""
    collection = service.get_collection(session, account, collection_id)
    listed = imports.list_imports(session, collection)
    return Page(items=[ImportOut.of(collection_import) for collection_import in listed], next=None)


@api.get("/{import_id}")
def get_import(
    collection_id: UUID, import_id: UUID, session: DatabaseSession, account: SignedIn
) -> ImportOut:
    """Return the progress of an import."""
    return ImportOut.of(_collection_and_import(session, account, collection_id, import_id)[1])


@api.post("/{import_id}/cancel")
def cancel_import(
    collection_id: UUID, import_id: UUID, session: DatabaseSession, account: SignedIn
) -> ImportOut:
    """Stop an import. The images it has added so far stay."""
    _, collection_import = _collection_and_import(session, account, collection_id, import_id)
    imports.cancel_import(session, account, collection_import)
    return ImportOut.of(collection_import)


@api.post("/{import_id}/retry", status_code=201)
def retry_import(
    collection_id: UUID, import_id: UUID, session: DatabaseSession, account: SignedIn
) -> ImportOut:
    """Import again the rows that could not be used and those that were not reached."""
    collection, collection_import = _collection_and_import(
        session, account, collection_id, import_id
    )
    begun = imports.retry_import(session, account, collection, collection_import)
    session.refresh(begun)
    return ImportOut.of(begun)


@api.get("/{import_id}/problems")
def list_problems(
    collection_id: UUID,
    import_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
) -> Page[ProblemOut]:
    """List the rows that could not be used, with the reasons."""
    _, collection_import = _collection_and_import(session, account, collection_id, import_id)
    rows = paging.slice(
        0, lambda start, limit: imports.problems_of(session, collection_import, start, limit)
    )
    return paging.page([ProblemOut.of(row) for row in rows])


@api.get("/{import_id}/problems.csv", response_class=Response)
@heavy
def download_problems(
    collection_id: UUID, import_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Download all rows that could not be used as CSV."""
    collection, collection_import = _collection_and_import(
        session, account, collection_id, import_id
    )
    problems = imports.problems_of(session, collection_import)

    def lines() -> Iterator[str]:
        yield csv_line(["row", "address", "code", "reason"])
        for row in problems:
            yield csv_line([str(row.row), row.address, row.code, row.reason])

    headers = attachment(collection.name, "problems.csv")
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def _collection_and_import(
    session: DatabaseSession, account: SignedIn, collection_id: UUID, import_id: UUID
) -> tuple[Collection, CollectionImport]:
    collection = service.get_collection(session, account, collection_id)
    return collection, imports.get_import(session, collection, import_id)
