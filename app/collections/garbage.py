"""Stored objects that nothing refers to any more: noted with the deletion, removed after its
commit.

A crash between the two leaves a note, but neither a lost nor a forgotten object. An image may be
uploaded again in the meantime. Uploads therefore hold a shared lock from before they write objects
until their rows are committed, and objects of single images are removed only under the exclusive
lock, if no row needs them.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy import func, insert, or_, select, text
from sqlalchemy.orm import Session

from app.collections.models import Discard, Image
from app.core.clock import latest_now
from app.core.database import get_direct_engine
from app.core.outbox import counts_as_lost, has_recent_message, send_after_commit
from app.core.storage import delete_below
from app.core.sweeps import reason_of

logger = logging.getLogger(__name__)
DISCARD_TASK = "likewise.remove_discarded"
AT_ONCE = 500


# Code that removes objects holds this lock shared; code that needs all objects kept holds it
# exclusively.
ALL_OBJECTS = func.hashtextextended("objects", 0)


def _lock_key(collection_id: UUID) -> object:
    return func.hashtextextended(f"images of {collection_id}", 0)


def keep_objects(session: Session, collection_id: UUID) -> None:
    """Keep all objects of the collection's images until this transaction ends."""
    session.execute(select(func.pg_advisory_xact_lock_shared(_lock_key(collection_id))))


@contextmanager
def all_objects_kept() -> Iterator[None]:
    """Keep all discarded objects within the block, in every process; their notes wait.

    Only one caller at a time can do this; a second one waits. If it is entered before a snapshot is
    taken, storage has everything that the snapshot refers to.
    """
    # A pooler would give this session, with its lock, to others.
    with get_direct_engine().connect() as connection:
        # There is no transaction, because PostgreSQL may be configured to end idle ones.
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("SET lock_timeout = 0"))
        connection.execute(select(func.pg_advisory_lock(ALL_OBJECTS)))
        try:
            yield
        finally:
            # The connection is closed for good, because otherwise its settings and lock would go
            # back into the pool.
            connection.detach()


def discard_images(session: Session, collection_id: UUID, hashes: list[str]) -> None:
    """Discard the objects of images, unless the collection has the images (again) by then."""
    rows = [
        {
            "prefix": f"images/{collection_id}/{sha256}",
            "collection_id": collection_id,
            "sha256": sha256,
        }
        for sha256 in hashes
    ]
    if rows:
        # Nothing is read back, because requesters' requests may not read this table.
        session.execute(insert(Discard).inline(), rows)
        send_after_commit(session, DISCARD_TASK, {})


def discard_below(session: Session, *prefixes: str) -> None:
    """Discard everything below these prefixes, unconditionally."""
    session.execute(insert(Discard).inline(), [{"prefix": prefix} for prefix in prefixes])
    send_after_commit(session, DISCARD_TASK, {})


def remove_discarded(session: Session) -> int:
    """Remove some of the discarded objects, and return how many notes were processed.

    This is safe to repeat and to run several times at once. Objects locked by an upload are left
    for later, and so is everything while someone keeps all objects (`all_objects_kept`).
    """
    if not session.scalar(select(func.pg_try_advisory_xact_lock_shared(ALL_OBJECTS))):
        return 0
    notes = session.scalars(
        select(Discard)
        .where(Discard.refused.is_(None))
        .order_by(Discard.id)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    ).all()
    of_images: dict[UUID, list[Discard]] = {}
    done = 0
    for note in notes:
        if note.collection_id is not None:
            of_images.setdefault(note.collection_id, []).append(note)
        else:
            _remove(session, note)
            done += 1
    for collection_id, some in of_images.items():
        if session.scalar(select(func.pg_try_advisory_xact_lock(_lock_key(collection_id)))):
            done += _remove_images(session, collection_id, some)
    return done


def _remove_images(session: Session, collection_id: UUID, notes: list[Discard]) -> int:
    hashes = [note.sha256 for note in notes]
    query = select(Image.sha256)
    used = query.where(Image.collection_id == collection_id, Image.sha256.in_(hashes))
    wanted = set(session.scalars(used))
    for note in notes:
        if note.sha256 in wanted:
            session.delete(note)
        else:
            _remove(session, note)
    return len(notes)


def _remove(session: Session, note: Discard) -> None:
    """Remove the objects of a note, and the note; raises if storage does not respond."""
    try:
        delete_below(note.prefix)
    except ValueError as error:
        # The prefix is invalid. All other failures of storage may be temporary.
        logger.exception("discard %d cannot be processed and is set aside", note.id)
        note.refused = reason_of(error)
    else:
        session.delete(note)


def request_removal(session: Session) -> None:
    """Request the task again if there are notes and no message for it is on its way."""
    old = or_(Discard.created_at < counts_as_lost(), Discard.created_at > latest_now())
    waiting = select(Discard.id).where(
        old, Discard.refused.is_(None), ~has_recent_message(task=DISCARD_TASK)
    )
    if session.scalar(waiting.limit(1)) is not None:
        send_after_commit(session, DISCARD_TASK, {})
