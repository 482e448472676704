"""The lifecycle of an import (app/core/leased.py): requested on the page, and done by a worker, row
by row. A queued or running one can also be cancelled.

Progress is written together with the images, so the next worker continues after them.
"""

import logging
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from uuid_utils.compat import uuid7

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.collections.addresses import allowed_sources, checked_location
from app.collections.manifest import Row, as_lines, of_lines, read_manifest
from app.collections.models import Collection, CollectionImport, ImportProblem
from app.core import leased
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.outbox import send_after_commit
from app.core.storage import get_object, put_object

logger = logging.getLogger(__name__)
IMPORT_TASK = "likewise.import"
ACTIVE = ("queued", "running")


def start_import(
    session: Session,
    owner: Account,
    collection: Collection,
    *,
    manifest: tuple[str, bytes] | None = None,
    prefix: str = "",
) -> CollectionImport:
    """Start an import of a list (with its keys below `prefix`, if given), or of everything below
    `prefix`.

    Raises InvalidInput that says what is wrong with the list or the prefix; then no import is
    started.
    """
    base = checked_location(prefix.strip()) if prefix.strip() else None
    if manifest is None and base is None:
        raise InvalidInput("Enter a list of addresses, or an object storage address.")
    if manifest is None:
        return begin_import(session, owner, collection, "prefix", str(base), None)
    filename, data = manifest
    rows = read_manifest(filename, data, base)
    return begin_import(session, owner, collection, "manifest", filename[:500] or "list", rows)


def begin_import(
    session: Session,
    owner: Account,
    collection: Collection,
    kind: str,
    source: str,
    rows: list[Row] | None,
) -> CollectionImport:
    """Store an import with its rows, and dispatch it to a worker. rows: None for a worker to list
    them."""
    begun = CollectionImport(
        id=uuid7(),
        collection_id=collection.id,
        kind=kind,
        source=source,
        n_rows=None if rows is None else len(rows),
    )
    if rows is not None:
        put_object(rows_key(begun.id), as_lines(rows))
    session.add(begun)
    session.flush()
    _dispatch(session, begun)
    record_audit(session, owner.id, "collection.import", "collection", collection.id, source=source)
    return begun


def rows_key(import_id: UUID) -> str:
    return f"imports/{import_id}/rows.jsonl"


def _dispatch(session: Session, collection_import: CollectionImport) -> None:
    send_after_commit(
        session, IMPORT_TASK, {"import_id": str(collection_import.id)}, job_id=collection_import.id
    )


def list_imports(session: Session, collection: Collection) -> list[CollectionImport]:
    """List the imports, newest first."""
    query = select(CollectionImport).where(CollectionImport.collection_id == collection.id)
    return list(session.scalars(query.order_by(CollectionImport.id.desc()).limit(20)))


def get_import(session: Session, collection: Collection, import_id: UUID) -> CollectionImport:
    """Return an import of the collection; raises NotFound."""
    collection_import = session.get(CollectionImport, import_id)
    if collection_import is None or collection_import.collection_id != collection.id:
        raise NotFound("This import does not exist.")
    return collection_import


def problems_of(
    session: Session, collection_import: CollectionImport, offset: int = 0, limit: int | None = None
) -> list[ImportProblem]:
    """List the rows that could not be used, in the order of the list."""
    query = select(ImportProblem).where(ImportProblem.import_id == collection_import.id)
    return list(session.scalars(query.order_by(ImportProblem.row).offset(offset).limit(limit)))


def cancel_import(session: Session, owner: Account, collection_import: CollectionImport) -> None:
    """Cancel an import; images added so far stay. Raises Conflict if it has already ended."""
    cancelled = session.execute(
        update(CollectionImport)
        .where(CollectionImport.id == collection_import.id, CollectionImport.state.in_(ACTIVE))
        .values(state="cancelled", lease_until=None, finished_at=func.now())
        .returning(CollectionImport.id)
    ).scalar()
    if cancelled is None:
        raise Conflict("This import has already ended.", code="import_ended")
    session.refresh(collection_import)
    record_audit(
        session,
        owner.id,
        "collection.import_cancelled",
        "collection",
        collection_import.collection_id,
    )


def retry_import(
    session: Session, owner: Account, collection: Collection, collection_import: CollectionImport
) -> CollectionImport:
    """Start a new import of the rows that could not be used or were not reached. Raises
    Conflict."""
    if collection_import.state in ACTIVE:
        raise Conflict("This import is still in progress.", code="import_active")
    if collection_import.n_rows is None:
        return begin_import(
            session, owner, collection, collection_import.kind, collection_import.source, None
        )
    failed = {problem.row for problem in problems_of(session, collection_import)}
    rows = of_lines(get_object(rows_key(collection_import.id)))
    left = [row for row in rows[: collection_import.n_done] if row.number in failed] + rows[
        collection_import.n_done :
    ]
    if not left:
        raise Conflict("This import had no problems: every row was used.", code="nothing_to_retry")
    return begin_import(
        session, owner, collection, collection_import.kind, collection_import.source, left
    )


# --- the worker's side ---------------------------------------------------------------------------


def claim_import(session: Session, import_id: UUID) -> CollectionImport | None:
    """Claim a queued import; None if it is not available."""
    began = func.coalesce(CollectionImport.started_at, func.now())
    return leased.claim(session, CollectionImport, import_id, started_at=began)


def held_import(session: Session, import_id: UUID, epoch: int) -> CollectionImport:
    """Return the running import under its row lock, with its lease renewed; raises LostLease if it
    was cancelled or another worker has taken it over."""
    collection_import = leased.require_held(session, CollectionImport, import_id, epoch, lock=True)
    collection_import.lease_until = leased.lease_end()
    return collection_import


def list_rows(session: Session, import_id: UUID, epoch: int, rows: list[Row]) -> None:
    """Store the rows found below a prefix. Raises LostLease."""
    collection_import = held_import(session, import_id, epoch)
    put_object(rows_key(import_id), as_lines(rows))
    collection_import.n_rows = len(rows)


def end_import(session: Session, import_id: UUID, epoch: int, error: str | None = None) -> None:
    """Record that the import is done, or has failed for good. Raises LostLease."""
    collection_import = held_import(session, import_id, epoch)
    leased.end(collection_import, "failed" if error else "done")
    collection_import.error = error[-2000:] if error else None


def give_back(session: Session, import_id: UUID, epoch: int, error: str | None = None) -> None:
    """Queue a held import again, either without an error, or after one while attempts are left.

    Raises LostLease.
    """
    collection_import = held_import(session, import_id, epoch)
    if error is None:
        leased.give_back(collection_import)
        _dispatch(session, collection_import)
    else:
        _queue_again(session, collection_import, error)


def put_off(session: Session, import_id: UUID, epoch: int, reason: str) -> None:
    """Queue a held import for later, without counting an attempt. No message is sent, so it starts
    again when its last message counts as lost. Raises LostLease."""
    collection_import = held_import(session, import_id, epoch)
    leased.give_back(collection_import)
    collection_import.error = reason


def _queue_again(session: Session, collection_import: CollectionImport, error: str) -> None:
    if not leased.queue_again(session, collection_import, _dispatch):
        collection_import.error = error[-2000:]


def requeue_lost_imports(session: Session) -> int:
    """Queue imports again that have lost their worker or message, and return how many."""
    return leased.requeue_lost(session, CollectionImport, _lose_worker, _dispatch)


def _lose_worker(session: Session, collection_import: CollectionImport) -> None:
    _queue_again(
        session,
        collection_import,
        f"The worker stopped {collection_import.attempts} times at the same row.",
    )


def sources() -> list[str]:
    """Return the prefixes that can be imported from, as text; none if the setting is invalid."""
    try:
        return [str(prefix) for prefix in allowed_sources()]
    except InvalidInput as error:
        logger.warning("LIKEWISE_IMPORT_SOURCES: %s", error)
        return []
