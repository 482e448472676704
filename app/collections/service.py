"""Creates, finds and renames collections, and adds files to them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath
from uuid import UUID

from sqlalchemy import ARRAY, Select, String, any_, func, insert, literal, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.collections import hooks
from app.collections.archives import is_archive, members
from app.collections.decoding import RejectedImage
from app.collections.garbage import discard_images, keep_objects
from app.collections.images import SIZES, PreparedImage, prepare_image
from app.collections.models import Collection, Image
from app.collections.tables import apply_table, attribute_names
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.core.settings import get_settings
from app.core.storage import put_object

File = tuple[str, bytes]
# Number of files that are in memory at once while they are decoded.
AT_ONCE = 16


@dataclass
class UploadReport:
    """The result for every file of an upload.

    partly_used: tables, each with a message about the rows that were not used
    attributes: all names in use in the collection, if the upload contained a table
    """

    added: list[tuple[str, int]] = field(default_factory=list)
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[tuple[str, LikewiseError]] = field(default_factory=list)
    partly_used: list[tuple[str, str]] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)

    def note(self, filename: str, outcome: "Outcome") -> None:
        if isinstance(outcome, Added):
            self.added.append((filename, outcome.position))
        elif isinstance(outcome, Duplicate):
            self.duplicates.append((filename, outcome.same_as))
        else:
            self.rejected.append((filename, outcome))


@dataclass(frozen=True)
class Candidate:
    """A checked image whose objects are stored, and whose row is still to be written."""

    filename: str
    sha256: str
    width: int
    height: int


@dataclass(frozen=True)
class Added:
    position: int


@dataclass(frozen=True)
class Duplicate:
    same_as: str


Outcome = Added | Duplicate | LikewiseError


def create_collection(session: Session, owner: Account, name: str) -> Collection:
    collection = Collection(owner_id=owner.id, name=_checked_name(name))
    session.add(collection)
    session.flush()
    record_audit(session, owner.id, "collection.created", "collection", collection.id)
    return collection


def collections_of(owner: Account) -> Select[Collection]:
    return select(Collection).where(Collection.owner_id == owner.id)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise InvalidInput("A collection needs a name of 1 to 200 characters.", code="bad_name")
    return name


def rename_collection(session: Session, owner: Account, collection: Collection, name: str) -> None:
    before, collection.name = collection.name, _checked_name(name)
    record_audit(
        session, owner.id, "collection.renamed", "collection", collection.id, before=before
    )


def list_collections(session: Session, owner: Account) -> list[Collection]:
    return list(session.scalars(collections_of(owner).order_by(Collection.created_at.desc())))


def get_collection(session: Session, owner: Account, collection_id: UUID) -> Collection:
    """Return the owner's collection; raises NotFound, also for another account's."""
    collection = session.get(Collection, collection_id)
    if collection is None or collection.owner_id != owner.id:
        raise NotFound("This collection does not exist.")
    return collection


def images_of(collection: Collection) -> Select[Image]:
    return select(Image).where(Image.collection_id == collection.id)


def list_images(
    session: Session, collection: Collection, offset: int = 0, limit: int | None = None
) -> list[Image]:
    """List images in the order of their positions, which have no gaps."""
    query = images_of(collection).where(Image.position >= offset)
    return list(session.scalars(query.order_by(Image.position).limit(limit)))


def known_files(session: Session, collection: Collection, hashes: list[str]) -> dict[str, str]:
    """Return which of these files (SHA-256 in hex) the collection has, with their names in it."""
    query = select(Image.sha256, Image.filename)
    among = Image.sha256 == any_(literal(hashes, ARRAY(String)))
    return dict(session.execute(query.where(Image.collection_id == collection.id, among)).all())


def add_files(
    session: Session,
    owner: Account,
    collection: Collection,
    files: Iterable[File],
    aliases: Mapping[str, str] | None = None,
) -> UploadReport:
    """Add images, ZIP files of images, and attribute tables (CSV).

    A file that cannot be used is reported by name, and all others are added. A file whose content
    is already in the collection is a duplicate of that image. Tables are read last, so that they
    can be uploaded together with the images they describe.

    Images are decoded and stored before the collection is locked, so that several uploads can run
    at the same time. The lock is only held while rows are written.

    aliases: other names that tables may use for images, such as those of duplicates sent earlier
    """
    report = UploadReport()
    tables: list[File] = []
    keep_objects(session, collection.id)
    candidates: list[Candidate] = []
    images = _images_of(files, tables, report)
    while chunk := list(islice(images, AT_ONCE)):
        for (filename, _), stored in zip(
            chunk, store_files(session, collection, chunk), strict=True
        ):
            if isinstance(stored, Candidate):
                candidates.append(stored)
            else:
                report.rejected.append((filename, stored))
    for candidate, result in zip(
        candidates, add_images(session, collection, candidates), strict=True
    ):
        report.note(candidate.filename, result)
    for filename, data in tables:
        known_as = {**(aliases or {}), **dict(report.duplicates)}
        outcome = apply_table(session, collection, data, known_as)
        if outcome.refused is not None:
            report.rejected.append((filename, outcome.refused))
        elif outcome.unused:
            report.partly_used.append((filename, outcome.unused))
    if tables:
        report.attributes = attribute_names(session, collection)
    record_audit(
        session,
        owner.id,
        "collection.files_added",
        "collection",
        collection.id,
        added=len(report.added),
        rejected=len(report.rejected),
    )
    return report


def _images_of(files: Iterable[File], tables: list[File], report: UploadReport) -> Iterator[File]:
    """Yield possible images, including those in archives; tables are set aside."""
    for filename, data in files:
        if not is_archive(filename, data):
            yield from _unless_table(filename, data, tables)
            continue
        try:
            for name, content in members(data):
                if isinstance(content, RejectedImage):
                    report.rejected.append((name, content))
                else:
                    yield from _unless_table(name, content, tables)
        except RejectedImage as error:
            report.rejected.append((filename, error))


def _unless_table(path: str, data: bytes, tables: list[File]) -> Iterator[File]:
    filename = name_of(path)
    if filename.lower().endswith(".csv"):
        tables.append((filename, data))
    else:
        yield filename, data


def name_of(path: str) -> str:
    """Return the file name without folders, as it is stored."""
    return PurePosixPath(path.replace("\\", "/")).name[:500].replace("\0", "") or "unnamed"


@lru_cache
def _decoders() -> ThreadPoolExecutor:
    """Return the thread pool for decoding. All requests share it, so that memory and cores are
    limited: Pillow releases Python's lock while it works, and one decoded image may take 160 MB."""
    return ThreadPoolExecutor(os.cpu_count() or 2, thread_name_prefix="decode")


def store_files(
    session: Session, collection: Collection, files: list[File]
) -> list[Candidate | LikewiseError]:
    """Decode and store images, except those that the collection already has.

    Returns for each file the image to add, or why it cannot be added. The caller has called
    `keep_objects`.
    """
    hashes = [hashlib.sha256(data).hexdigest() for _, data in files]
    query = select(Image.sha256, Image.width, Image.height)
    rows = query.where(Image.collection_id == collection.id, Image.sha256.in_(hashes))
    sizes = {sha256: (width, height) for sha256, width, height in session.execute(rows)}
    new = {
        sha256: data for sha256, (_, data) in zip(hashes, files, strict=True) if sha256 not in sizes
    }
    prepared = _decoders().map(lambda data: _store(collection.id, data), new.values())
    refused: dict[str, LikewiseError] = {}
    for sha256, outcome in zip(new, prepared, strict=True):
        if isinstance(outcome, LikewiseError):
            refused[sha256] = outcome
        else:
            sizes[sha256] = (outcome.width, outcome.height)
    return [
        refused[sha256] if sha256 in refused else Candidate(filename, sha256, *sizes[sha256])
        for sha256, (filename, _) in zip(hashes, files, strict=True)
    ]


def _store(collection_id: UUID, data: bytes) -> PreparedImage | LikewiseError:
    try:
        prepared = prepare_image(data)
    except LikewiseError as error:
        return error
    # Objects are content-addressed, so after a rollback those written before leave no wrong data.
    for size, encoded in prepared.encoded.items():
        put_object(image_key(collection_id, prepared.sha256, size), encoded)
    return prepared


def add_images(
    session: Session, collection: Collection, candidates: list[Candidate]
) -> list[Outcome]:
    """Write the rows of images under the collection's lock, which keeps positions without gaps."""
    if not candidates:
        return []
    collection = locked(session, Collection, collection.id)
    known = known_files(session, collection, [candidate.sha256 for candidate in candidates])
    rows: list[dict[str, object]] = []
    outcomes: list[Outcome] = []
    room, full = _room_of(session, collection)
    for candidate in candidates:
        position = collection.n_images + len(rows)
        if candidate.sha256 in known:
            outcomes.append(Duplicate(known[candidate.sha256]))
        elif len(rows) >= room:
            outcomes.append(full)
            discard_images(session, collection.id, [candidate.sha256])
        else:
            known[candidate.sha256] = candidate.filename
            outcomes.append(Added(position))
            rows.append({**vars(candidate), "collection_id": collection.id, "position": position})
    if rows:
        session.execute(insert(Image), rows)
        collection.n_images += len(rows)
        session.flush()
        hooks.images_added(session, collection)
    return outcomes


def _room_of(session: Session, collection: Collection) -> tuple[int, RejectedImage]:
    """Return how many images can still be added, and the error for the rest. Two simultaneous
    uploads to different collections of an account may exceed its limit by their own size."""
    settings = get_settings()
    own = settings.max_collection_images - collection.n_images
    of_account = settings.max_account_images - _images_kept(session, collection.owner_id)
    if of_account < own:
        return of_account, RejectedImage(_account_full(), code="account_full")
    return own, RejectedImage(
        f"The collection is full ({settings.max_collection_images} images). Add the "
        "remaining images to another collection.",
        code="collection_full",
    )


def require_room_for(session: Session, owner_id: UUID, n_images: int) -> None:
    """Raise InvalidInput if an account cannot have so many more images."""
    if _images_kept(session, owner_id) + n_images > get_settings().max_account_images:
        raise InvalidInput(_account_full(), code="account_full")


def require_room_of_account(session: Session, owner_id: UUID) -> None:
    """Raise InvalidInput if an account has more images than it may have, including those of the
    current transaction."""
    if _images_kept(session, owner_id) > get_settings().max_account_images:
        raise InvalidInput(_account_full(), code="account_full")


def _images_kept(session: Session, owner_id: UUID) -> int:
    query = select(func.coalesce(func.sum(Collection.n_images), 0))
    return session.scalars(query.where(Collection.owner_id == owner_id)).one()


def _account_full() -> str:
    return (
        f"Your account can have up to {get_settings().max_account_images:,} images in all "
        "its collections together. Delete images that you no longer need, or ask the "
        "administrator to raise LIKEWISE_MAX_ACCOUNT_IMAGES."
    )


def image_key(collection_id: UUID, sha256: str, size: str) -> str:
    """Return the storage key of an encoded image; `size` is a key of SIZES."""
    if size not in SIZES:
        raise NotFound(f"The image size must be one of {', '.join(SIZES)}, not {size!r}.")
    return f"images/{collection_id}/{sha256}/{size}.webp"


def require_images(collection: Collection, at_least: int) -> None:
    """Raise Conflict when the collection is too small for grids of `at_least` images."""
    if collection.n_images < at_least:
        raise Conflict(
            f"The collection has {collection.n_images} images, but one grid needs "
            f"{at_least}. Upload more images or choose a smaller grid.",
            code="collection_too_small",
            fields=["grid_size"],
        )
