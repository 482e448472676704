"""New collections from some images of another one, filled by a worker like an import.

The images keep names, attributes and the features of the collection's table. Feature sets are not
copied: computed ones are computed again when a campaign needs them.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.collections.deletion import Selection
from app.collections.garbage import keep_objects
from app.collections.images import SIZES
from app.collections.imports import begin_import
from app.collections.manifest import Row
from app.collections.models import Collection, CollectionImport, Image
from app.collections.service import (
    Candidate,
    create_collection,
    image_key,
    require_room_for,
)
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.core.storage import copy_object

COPY = "copy"
# Pages get this size from the larger one on the first request.
MADE_ON_DEMAND = "small"
COPIERS = 8


def start_copy(
    session: Session, owner: Account, source: Collection, chosen: Selection, name: str
) -> tuple[Collection, CollectionImport]:
    """Create a collection, and start to copy the selected images into it.

    Raises InvalidInput for a selection without images or an account without room for them, and
    Conflict if the filter finds another number of images than expected.
    """
    is_chosen = chosen.condition(source)
    n = session.scalar(select(func.count()).select_from(Image).where(is_chosen)) or 0
    if not n:
        raise InvalidInput("Select at least one image of this collection.", code="nothing_selected")
    if chosen.expected is not None and n != chosen.expected:
        raise Conflict(
            f"The collection has changed: the search now finds {n} images, not "
            f"{chosen.expected}. Check the images again.",
            code="collection_changed",
        )
    require_room_for(session, owner.id, n)
    query = select(Image.sha256, Image.filename).where(is_chosen).order_by(Image.position)
    # Attributes and features are read with each batch: those of all may not fit into memory.
    rows = [
        Row(number, f"{source.id}/{sha256}", filename)
        for number, (sha256, filename) in enumerate(session.execute(query), start=1)
    ]
    collection = create_collection(session, owner, name)
    return collection, begin_import(session, owner, collection, COPY, source.name, rows)


def copy_images(
    session: Session, collection: Collection, rows: list[Row]
) -> list[Candidate | LikewiseError]:
    """Copy the stored objects of some images, and return for each row the image to add, or why it
    cannot be added. Rows get the images' attributes and features. The caller has called
    `keep_objects`."""
    if not rows:
        return []
    source_id = UUID(rows[0].address.partition("/")[0])
    keep_objects(session, source_id)
    hashes = [row.address.partition("/")[2] for row in rows]
    query = (
        select(Image.sha256, Image.width, Image.height, Image.attributes, Image.features)
        .join(Collection, Collection.id == Image.collection_id)
        .where(
            Image.collection_id == source_id,
            Image.sha256.in_(hashes),
            Collection.owner_id == collection.owner_id,
        )
    )
    sizes: dict[str, tuple[int, int]] = {}
    known: dict[str, tuple[dict[str, str], list[float] | None]] = {}
    for sha256, width, height, attributes, features in session.execute(query):
        sizes[sha256], known[sha256] = (width, height), (attributes, features)
    for row, sha256 in zip(rows, hashes, strict=True):
        row.attributes, row.features = known.get(sha256, ({}, None))
    is_stored = _copiers().map(
        lambda sha256: sha256 in sizes and _copied(source_id, collection.id, sha256), hashes
    )
    return [
        Candidate(row.filename, sha256, *sizes[sha256])
        if stored
        else NotFound("This image is no longer in the collection that it was to be copied from.")
        for row, sha256, stored in zip(rows, hashes, is_stored, strict=True)
    ]


@lru_cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COPIERS, thread_name_prefix="copy")


def _copied(source_id: UUID, target_id: UUID, sha256: str) -> bool:
    """Copy an image in all sizes; False if it is missing from storage."""
    for size in SIZES:
        try:
            copy_object(image_key(source_id, sha256, size), image_key(target_id, sha256, size))
        except FileNotFoundError:
            if size != MADE_ON_DEMAND:
                return False
    return True
