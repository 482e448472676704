"""A worker's part of an import: it fetches rows in parallel, adds their images, and records
failures."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from app.collections import hooks
from app.collections.addresses import (
    WEB,
    NotReadable,
    checked_location,
    list_below,
    read_object,
)
from app.collections.attributes import AttributeRow
from app.collections.copies import COPY, copy_images
from app.collections.fetch import Unreachable, fetch
from app.collections.garbage import keep_objects
from app.collections.imports import (
    claim_import,
    end_import,
    give_back,
    held_import,
    list_rows,
    put_off,
    rows_key,
)
from app.collections.manifest import Row, name_in, of_lines
from app.collections.models import Collection, CollectionImport, Image, ImportProblem
from app.collections.service import Added, Candidate, Duplicate, add_images, name_of, store_files
from app.collections.tables import ImageUpdate, feature_lengths, update_images
from app.core.database import locked, transaction
from app.core.errors import InvalidInput, LikewiseError, LostLease, NoRoom
from app.core.settings import get_settings
from app.core.storage import get_object

logger = logging.getLogger(__name__)
Fetched = list[bytes | LikewiseError]
# The files of a batch are in memory until they are decoded: at most 16 of the largest allowed.
ROWS_AT_A_TIME = 16
FETCHERS = 8
TRIES = 3
PAUSE_SECONDS = 1.0
GLANCE_SECONDS = 0.5
NO_ROOM_YET = (
    "The server's disk is full. The import continues on its own once the administrator has freed "
    "some space."
)


def run_import(import_id: UUID, stopping: Callable[[], bool]) -> None:
    """Claim an import and work until it is done or cancelled, or the worker is stopped."""
    with transaction() as session:
        claimed = claim_import(session, import_id)
    if claimed is None:
        logger.info("import %s is not available, nothing to do", import_id)
        return
    epoch = claimed.epoch
    try:
        finished = _work(claimed, stopping)
        with transaction() as session:
            end_import(session, import_id, epoch) if finished else give_back(
                session, import_id, epoch
            )
    except (LostLease, NoResultFound) as error:
        # It was cancelled, taken over, or deleted with its collection, so nothing more is written.
        logger.info("import %s: %s", import_id, error)
    except NoRoom as error:
        # Do not wait here, because this worker also removes what is deleted to make room.
        logger.warning("import %s is postponed: %s", import_id, error)
        with transaction() as session:
            put_off(session, import_id, epoch, NO_ROOM_YET)
    except LikewiseError as error:
        with transaction() as session:
            end_import(session, import_id, epoch, str(error))
    except Exception as error:
        logger.exception("import %s failed", import_id)
        with transaction() as session:
            give_back(session, import_id, epoch, f"{type(error).__name__}: {error}")


def _work(collection_import: CollectionImport, stopping: Callable[[], bool]) -> bool:
    """Process the rows; False if the worker is stopped before all are done."""
    if collection_import.n_rows is None:
        rows = _listed(collection_import.source)
        with transaction() as session:
            list_rows(session, collection_import.id, collection_import.epoch, rows)
    else:
        rows = of_lines(get_object(rows_key(collection_import.id)))
    done = collection_import.n_done
    fetchers = ThreadPoolExecutor(FETCHERS, thread_name_prefix="fetch")
    try:
        while done < len(rows):
            batch = rows[done : done + ROWS_AT_A_TIME]
            if stopping():
                return False
            fetched: Fetched | None = None
            if collection_import.kind != COPY:
                fetched = _fetched(fetchers, batch, collection_import, stopping)
                if fetched is None:
                    return False
            with transaction() as session:
                _write(session, collection_import, batch, fetched)
            done += len(batch)
    finally:
        # Fetches in progress end on their own; the next worker need not wait for them.
        fetchers.shutdown(wait=False, cancel_futures=True)
    return True


def _listed(prefix: str) -> list[Row]:
    """Return one row for every object below the prefix."""
    limit, rows = get_settings().max_collection_images, []
    for number, (address, size) in enumerate(list_below(checked_location(prefix)), start=1):
        if number > limit:
            raise InvalidInput(
                f"There are more than {limit} objects below {prefix}. Choose a more specific "
                "prefix.",
                code="too_many_objects",
            )
        row = Row(number, address, name_in(address))
        if size > get_settings().max_image_bytes:
            megabytes = get_settings().max_image_bytes // 2**20
            row.problem = ("too_large", f"The file is larger than {megabytes} MB.")
        elif row.filename.lower().endswith((".csv", ".jsonl", ".zip")):
            row.problem = (
                "not_an_image",
                "Tables and ZIP files cannot be imported from here. Upload them on the "
                "collection's page.",
            )
        rows.append(row)
    if not rows:
        raise NotReadable(f"There are no objects below {prefix}.", code="nothing_found")
    return rows


def _fetched(
    fetchers: ThreadPoolExecutor,
    batch: list[Row],
    collection_import: CollectionImport,
    stopping: Callable[[], bool],
) -> Fetched | None:
    """Return the files of a batch, or the errors of those that cannot be fetched, and renew the
    lease in the meantime. None if the worker is stopped before all have arrived."""
    abandoned = Event()
    futures = [fetchers.submit(_fetch_row, row, abandoned) for row in batch]
    pause = get_settings().job_lease_seconds / 4
    renewal = time.monotonic() + pause
    try:
        while wait(futures, timeout=GLANCE_SECONDS).not_done:
            if stopping():
                return None
            if time.monotonic() >= renewal:
                with transaction() as session:
                    held_import(session, collection_import.id, collection_import.epoch)
                renewal = time.monotonic() + pause
    finally:
        abandoned.set()
    return [future.result() for future in futures]


def _fetch_row(row: Row, abandoned: Event) -> bytes | LikewiseError:
    if row.problem is not None:
        code, reason = row.problem
        return InvalidInput(reason, code=code)
    limit = get_settings().max_image_bytes
    is_web = row.address.partition("://")[0].lower() in WEB
    for attempt in range(TRIES):
        try:
            return fetch(row.address, limit) if is_web else read_object(row.address, limit)
        except Unreachable as error:
            if attempt == TRIES - 1 or abandoned.wait(PAUSE_SECONDS * 4**attempt):
                return error
        except LikewiseError as error:
            return error
    raise AssertionError("unreachable")


def _write(
    session: Session,
    collection_import: CollectionImport,
    batch: list[Row],
    fetched: Fetched | None,
) -> None:
    """Write images, attributes, problems and counts of one batch. fetched: None for images that are
    copied. Raises LostLease."""
    collection = session.get_one(Collection, collection_import.collection_id)
    keep_objects(session, collection.id)
    if fetched is None:
        stored = copy_images(session, collection, batch)
    else:
        stored = _stored(session, collection, batch, fetched)
    candidates: list[tuple[Row, Candidate]] = []
    problems: list[tuple[Row, LikewiseError]] = []
    for row, outcome in zip(batch, stored, strict=True):
        if isinstance(outcome, Candidate):
            candidates.append((row, outcome))
        else:
            problems.append((row, outcome))
    # Decoding is done; locks are held from here on, in the same order as in deletion.
    locked(session, Collection, collection.id)
    held = held_import(session, collection_import.id, collection_import.epoch)
    outcomes = add_images(session, collection, [candidate for _, candidate in candidates])
    used = []
    for (row, candidate), result in zip(candidates, outcomes, strict=True):
        if isinstance(result, Added | Duplicate):
            used.append((row, candidate))
        else:
            problems.append((row, result))
    problems += _set_attributes(session, collection, used)
    held.n_done += len(batch)
    held.n_added += sum(isinstance(result, Added) for result in outcomes)
    held.n_duplicates += sum(isinstance(result, Duplicate) for result in outcomes)
    held.n_rejected += len(problems)
    # The next claim begins after these rows, so earlier attempts say nothing about it.
    held.attempts = 1
    if problems:
        session.execute(
            insert(ImportProblem), [_noted(collection_import.id, *problem) for problem in problems]
        )


def _stored(
    session: Session, collection: Collection, batch: list[Row], fetched: Fetched
) -> list[Candidate | LikewiseError]:
    """Decode and store the files; for each row the image to add, or why it cannot be added."""
    files = [
        (name_of(row.filename), data)
        for row, data in zip(batch, fetched, strict=True)
        if isinstance(data, bytes)
    ]
    outcomes = iter(store_files(session, collection, files))
    return [next(outcomes) if isinstance(data, bytes) else data for data in fetched]


def _noted(import_id: UUID, row: Row, error: LikewiseError) -> dict[str, object]:
    return {
        "import_id": import_id,
        "row": row.number,
        "address": row.address.replace("\0", "")[:2000],
        "code": error.code,
        "reason": str(error).replace("\0", ""),
    }


def _set_attributes(
    session: Session, collection: Collection, used: list[tuple[Row, Candidate]]
) -> list[tuple[Row, LikewiseError]]:
    """Set attributes and features of images from their rows, and return the rows whose features do
    not fit the others."""
    has_features = any(row.features is not None for row, _ in used)
    lengths = feature_lengths(session, collection) if has_features else []
    hashes = [candidate.sha256 for _, candidate in used]
    query = select(Image.sha256, Image.id).where(Image.collection_id == collection.id)
    ids = dict(session.execute(query.where(Image.sha256.in_(hashes))).all())
    updates, problems = [], []
    for row, candidate in used:
        features = row.features
        if features is not None and lengths and len(features) != lengths[0]:
            reason = (
                f"The image was added without its {len(features)} features, because this "
                f"collection's images have {lengths[0]} features each."
            )
            problems.append((row, InvalidInput(reason, code="bad_features")))
            features = None
        elif features is not None:
            lengths = [len(features)]
        attribute_row = AttributeRow(row.filename, row.attributes, features)
        updates.append(ImageUpdate(ids[candidate.sha256], attribute_row))
    update_images(session, updates)
    if any(update.row.features for update in updates):
        hooks.features_changed(session, collection)
    return list(problems)
