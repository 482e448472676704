"""All images of a grid in one response.

For each image in the grid's order, it contains the length as four little-endian bytes and then the
WebP bytes. The length is 0 if an image is missing from storage, so that the others can still be
shown.
"""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import ARRAY, Integer, any_, bindparam, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.media import image_bytes
from app.collections.models import Image
from app.core.prepared import Prepared
from app.core.storage import is_local

BUNDLE_TYPE = "application/vnd.likewise.images"

logger = logging.getLogger(__name__)


class Stored(Protocol):
    """Where the files of an image are."""

    @property
    def collection_id(self) -> UUID: ...

    @property
    def sha256(self) -> str: ...


class Picture(NamedTuple):
    """What a page needs of an image. The whole row may hold thousands of features."""

    position: int
    collection_id: UUID
    sha256: str


# Made once, because every request for a grid runs it.
_PICTURES = Prepared(
    select(Image.position, Image.sha256).where(
        Image.collection_id == bindparam("collection_id"),
        Image.position == any_(bindparam("positions", type_=ARRAY(Integer))),
    )
)


# By campaign and position. Images that a campaign uses cannot be deleted, so that they keep their
# positions for as long as it exists; those of its collection may move when it is gone.
_pictures: dict[tuple[UUID, int], Picture] = {}
_MOST_PICTURES = 50_000
_remembering = threading.Lock()


def pictures_at(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Picture]:
    """Return the pictures at these positions, in this order."""
    known = {place: _pictures.get((campaign.id, place)) for place in positions}
    missing = [place for place, picture in known.items() if picture is None]
    if missing:
        rows = _PICTURES.rows(session, collection_id=campaign.collection_id, positions=missing)
        for row in rows:
            known[row[0]] = _remember(campaign, Picture(row[0], campaign.collection_id, row[1]))
    return [known[place] or _is_missing(place) for place in positions]


def _is_missing(position: int) -> Picture:
    raise LookupError(f"The collection has no image at position {position}.")


def _remember(campaign: Campaign, picture: Picture) -> Picture:
    # Those of a draft may still move.
    if picture.position < campaign.n_images:
        with _remembering:
            while len(_pictures) >= _MOST_PICTURES:
                del _pictures[next(iter(_pictures))]
            _pictures[campaign.id, picture.position] = picture
    return picture


def images_at(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Image]:
    """Return the images at these positions, in this order."""
    rows = session.scalars(
        select(Image).where(
            Image.collection_id == campaign.collection_id, Image.position.in_(positions)
        )
    )
    by_position = {image.position: image for image in rows}
    return [by_position[position] for position in positions]


def bundle_of(images: Sequence[Stored], size: str) -> bytes:
    """Return the images in one body. From storage in the network they are read side by side."""
    names = [(image.collection_id, image.sha256, size) for image in images]
    read = map if is_local() else _readers().map
    parts: list[bytes] = []
    for data in read(_bytes_of, names):
        parts += [len(data).to_bytes(4, "little"), data]
    return b"".join(parts)


def _bytes_of(name: tuple[UUID, str, str]) -> bytes:
    collection_id, sha256, size = name
    try:
        return image_bytes(*name) if size == "large" else _kept(*name)
    except FileNotFoundError:
        logger.error("image %s of collection %s is missing", sha256, collection_id)
        return b""


# The images of a campaign are shown again and again: these are some tens of megabytes. What a name
# stands for never changes, and who asks for it has a lease of a grid with the image.
@lru_cache(maxsize=2_000)
def _kept(collection_id: UUID, sha256: str, size: str) -> bytes:
    return image_bytes(collection_id, sha256, size)


@lru_cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(16, "images")
