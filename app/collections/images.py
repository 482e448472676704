"""Uploaded files become safe images: decoded, checked, re-encoded as WebP in three sizes."""

import hashlib
import io
import warnings
from dataclasses import dataclass

import PIL.Image
from PIL import ImageOps

from app.core.errors import LikewiseError
from app.core.settings import get_settings

# Longest edge in pixels. `small` is for small screens and slow lines.
SIZES = {"small": 128, "thumb": 256, "large": 1024}
QUALITY = {"small": 70, "thumb": 85, "large": 85}
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


class RejectedImage(LikewiseError):
    """The file cannot go into a collection; the message says why."""

    code = "rejected_image"
    status = 422


@dataclass(frozen=True)
class PreparedImage:
    """A checked image: its content hash, original size in pixels, and WebP bytes by size."""

    sha256: str
    width: int
    height: int
    encoded: dict[str, bytes]


def prepare_image(data: bytes) -> PreparedImage:
    """Decode and re-encode one file.

    Only the pixels survive: whatever else the file carried (metadata, scripts after the image
    data) is gone. Size is checked from the header, before pixels are decoded.
    Raises RejectedImage with a sentence that says what is wrong.
    """
    settings = get_settings()
    if not data:
        raise RejectedImage("The file is empty.")
    if len(data) > settings.max_image_bytes:
        limit = settings.max_image_bytes // 2**20
        raise RejectedImage(f"The file is larger than {limit} MB.", code="too_large")
    picture = _open(data, settings.max_image_pixels)
    width, height = picture.size
    pixels = _decode(picture)
    return PreparedImage(
        sha256=hashlib.sha256(data).hexdigest(),
        width=width,
        height=height,
        encoded={size: _webp(pixels, size) for size in SIZES},
    )


def _open(data: bytes, max_pixels: int) -> PIL.Image.Image:
    try:
        with warnings.catch_warnings():
            # Pillow only warns about moderately large images; our own limit below decides.
            warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
            picture = PIL.Image.open(io.BytesIO(data), formats=FORMATS)
    except PIL.Image.DecompressionBombError as error:
        raise RejectedImage(_too_many_pixels(max_pixels), code="too_many_pixels") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise RejectedImage(
            "Not an image this program can read. Use PNG, JPEG, WebP, GIF, BMP or TIFF.",
            code="not_an_image",
        ) from error
    if picture.width * picture.height > max_pixels:
        raise RejectedImage(_too_many_pixels(max_pixels), code="too_many_pixels")
    return picture


def _too_many_pixels(max_pixels: int) -> str:
    return (
        f"The image has more than {max_pixels / 1e6:.0f} million pixels. "
        "Scale it down; annotators see at most 1024 pixels."
    )


def _decode(picture: PIL.Image.Image) -> PIL.Image.Image:
    try:
        picture.load()
        upright = ImageOps.exif_transpose(picture) or picture
        has_alpha = "A" in upright.getbands() or "transparency" in upright.info
        return upright.convert("RGBA" if has_alpha else "RGB")
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise RejectedImage(
            f"The image is damaged and cannot be decoded ({error}).", code="damaged_image"
        ) from error


def smaller_copy(encoded: bytes, size: str) -> bytes:
    """A prepared image as WebP in a smaller size."""
    with PIL.Image.open(io.BytesIO(encoded), formats=("WEBP",)) as picture:
        return _webp(picture, size)


def _webp(pixels: PIL.Image.Image, size: str) -> bytes:
    smaller = pixels.copy()
    smaller.thumbnail((SIZES[size], SIZES[size]))
    buffer = io.BytesIO()
    smaller.save(buffer, "WEBP", quality=QUALITY[size])
    return buffer.getvalue()
