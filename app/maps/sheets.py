"""Sheets: the new pictures of one tile of a map, 8 × 8 of them combined into one image.

A sheet is made on the first request, from at most 64 thumbnails, and kept in storage under a hash
of its content: the same pictures in the same cells are never drawn twice, whatever the model.
"""

import hashlib
import io
import logging
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import PIL.Image
from PIL import ImageOps

from app.collections.media import image_bytes
from app.collections.models import Image
from app.core.storage import get_object, put_object
from app.maps.layout import Layout
from app.maps.levels import CELLS, locate

CELL = 64
SIDE = CELLS * CELL
QUALITY = 80

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tile:
    """One of the 2^level × 2^level tiles of a map."""

    level: int
    column: int
    row: int


def cells_of(layout: Layout, tile: Tile) -> dict[int, int]:
    """Return the position of the image in each cell (row by row) of a tile's sheet; empty cells are
    absent."""
    new = np.flatnonzero(layout.levels == tile.level)
    tiles, cells = locate(layout.places[new], tile.level)
    here = (tiles[:, 0] == tile.column) & (tiles[:, 1] == tile.row)
    side = CELLS << tile.level
    column, row = cells[here] % side % CELLS, cells[here] // side % CELLS
    numbers = (row * CELLS + column).tolist()
    return dict(zip(numbers, new[here].tolist(), strict=True))


def sheet_bytes(collection_id: UUID, pictures: dict[int, Image]) -> bytes:
    """Draw a WebP of SIDE × SIDE pixels with each image in its cell."""
    contents = ",".join(f"{cell}:{image.sha256}" for cell, image in sorted(pictures.items()))
    digest = hashlib.sha256(f"{CELL}/{QUALITY}/{contents}".encode()).hexdigest()
    key = f"sheets/{collection_id}/{digest}.webp"
    try:
        return get_object(key)
    except FileNotFoundError:
        data = _drawn(pictures)
        put_object(key, data)
        return data


def _drawn(pictures: dict[int, Image]) -> bytes:
    sheet = PIL.Image.new("RGBA", (SIDE, SIDE))
    for cell, image in pictures.items():
        picture = _picture(image)
        if picture is not None:
            # Put it in the middle of the cell, with its aspect ratio kept.
            left = cell % CELLS * CELL + (CELL - picture.width) // 2
            top = cell // CELLS * CELL + (CELL - picture.height) // 2
            sheet.paste(picture, (left, top))
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=QUALITY, method=2)
    return buffer.getvalue()


def _picture(image: Image) -> PIL.Image.Image | None:
    try:
        data = image_bytes(image.collection_id, image.sha256, "small")
    except FileNotFoundError:
        logger.error("image %s of collection %s is missing", image.sha256, image.collection_id)
        return None
    with PIL.Image.open(io.BytesIO(data), formats=("WEBP",)) as picture:
        return ImageOps.contain(picture.convert("RGBA"), (CELL, CELL))
