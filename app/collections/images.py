"""Turns uploaded files into safe images: decoded, checked, and re-encoded as WebP in three
sizes."""

import hashlib
import io
from dataclasses import dataclass
from functools import partial

import PIL.Image

from app.collections.decoding import RejectedImage, decode
from app.core.settings import get_settings

# Longest edge in pixels, the largest first. `small` is for small screens and slow connections.
SIZES = {"large": 1024, "thumb": 256, "small": 128}
# Very long images are magnified to be looked at: their large copies have so many pixels on the
# short side, if the originals have, and at most so many on the long one.
SHORT_EDGE, LONG_EDGE = 256, 4096
QUALITY = {"small": 70, "thumb": 85, "large": 85}
# WebP's effort: 2 takes 60 % of the time of the default 4, for files 2 % larger (docs/benchmarks).
EFFORT = 2


@dataclass(frozen=True)
class PreparedImage:
    """A checked image: the hash of its content, its original size in pixels, and its WebP bytes by
    size.

    width, height: of the upright image.
    """

    sha256: str
    width: int
    height: int
    encoded: dict[str, bytes]


def longest_edge(size: str, width: int, height: int) -> int:
    """Return how many pixels the copy in this size of an image of width × height pixels has at most
    on its longer side."""
    edge, short, long = SIZES[size], min(width, height), max(width, height)
    if size != "large" or short * edge >= long * SHORT_EDGE:
        return edge
    return min(LONG_EDGE, -(-SHORT_EDGE * long // short))


def prepare_image(data: bytes) -> PreparedImage:
    """Decode and re-encode one file.

    Only the pixels are kept; anything else in the file (metadata, scripts after the image data) is
    dropped. The size is checked from the header, before pixels are decoded. Raises RejectedImage
    with a sentence that says what is wrong.
    """
    settings = get_settings()
    if not data:
        raise RejectedImage("The file is empty.")
    if len(data) > settings.max_image_bytes:
        limit = settings.max_image_bytes // 2**20
        raise RejectedImage(f"The file is larger than {limit} MB.", code="too_large")
    pixels, (width, height) = decode(
        data, settings.max_image_pixels, partial(longest_edge, "large")
    )
    return PreparedImage(
        sha256=hashlib.sha256(data).hexdigest(),
        width=width,
        height=height,
        encoded=_encoded(pixels),
    )


def _encoded(pixels: PIL.Image.Image) -> dict[str, bytes]:
    """Return the WebP bytes by size, each made from the next larger one."""
    encoded = {}
    for size in SIZES:
        edge = longest_edge(size, *pixels.size)
        pixels.thumbnail((edge, edge))
        encoded[size] = _webp(pixels, size)
    return encoded


def smaller_copy(encoded: bytes, size: str) -> bytes:
    """Return a prepared image as WebP in a smaller size."""
    with PIL.Image.open(io.BytesIO(encoded), formats=("WEBP",)) as picture:
        picture.thumbnail((SIZES[size], SIZES[size]))
        return _webp(picture, size)


def _webp(pixels: PIL.Image.Image, size: str) -> bytes:
    buffer = io.BytesIO()
    pixels.save(buffer, "WEBP", quality=QUALITY[size], method=EFFORT)
    return buffer.getvalue()
