"""All images of a grid in one response.

For each image in the grid's order, it contains the length as four little-endian bytes and then the
WebP bytes. The length is 0 if an image is missing from storage, so that the others can still be
shown.
"""

import logging
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.media import image_bytes
from app.collections.models import Image

BUNDLE_TYPE = "application/vnd.likewise.images"

logger = logging.getLogger(__name__)


def images_at(session: Session, campaign: Campaign, positions: Sequence[int]) -> list[Image]:
    """Return the images at these positions, in this order."""
    rows = session.scalars(
        select(Image).where(
            Image.collection_id == campaign.collection_id, Image.position.in_(positions)
        )
    )
    by_position = {image.position: image for image in rows}
    return [by_position[position] for position in positions]


def bundle_of(images: Sequence[Image], size: str) -> bytes:
    parts: list[bytes] = []
    for image in images:
        data = _bytes_of(image, size)
        parts += [len(data).to_bytes(4, "little"), data]
    return b"".join(parts)


def _bytes_of(image: Image, size: str) -> bytes:
    try:
        return image_bytes(image.collection_id, image.sha256, size)
    except FileNotFoundError:
        logger.error("image %s of collection %s is missing", image.sha256, image.collection_id)
        return b""
