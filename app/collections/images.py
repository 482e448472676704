"""Uploaded files become safe images: decoded, checked, re-encoded as WebP in three sizes."""

import hashlib
import io
import warnings
from dataclasses import dataclass

import PIL.Image
from PIL import ImageOps

from app.core.errors import LikewiseError
from app.core.settings import get_settings

# Longest edge in pixels, the largest first. `small` is for small screens and slow lines.
SIZES = {"large": 1024, "thumb": 256, "small": 128}
QUALITY = {"small": 70, "thumb": 85, "large": 85}
# WebP's effort: 2 takes 60 % of the time of the default 4, for files 2 % larger (docs/benchmarks).
EFFORT = 2
ORIENTATION = 0x0112
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


class RejectedImage(LikewiseError):
    """The file cannot go into a collection; the message says why."""

    code = "rejected_image"
    status = 422


@dataclass(frozen=True)
class PreparedImage:
    """A checked image: its content hash, original size in pixels, and WebP bytes by size.

    width, height: as the image is looked at, turned upright.
    """

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
    size = picture.size
    pixels = _decode(picture)
    width, height = reversed(size) if _lies_on_its_side(picture) else size
    return PreparedImage(
        sha256=hashlib.sha256(data).hexdigest(),
        width=width,
        height=height,
        encoded=_encoded(pixels),
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
        # JPEG alone: decodes at 1/2, 1/4 or 1/8 of the size, no smaller than what is kept.
        picture.draft("RGB", (SIZES["large"], SIZES["large"]))
        picture.load()
        upright = ImageOps.exif_transpose(picture) or picture
        has_alpha = "A" in upright.getbands() or "transparency" in upright.info
        return upright.convert("RGBA" if has_alpha else "RGB")
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise RejectedImage(
            f"The image is damaged and cannot be decoded ({error}).", code="damaged_image"
        ) from error


def _lies_on_its_side(picture: PIL.Image.Image) -> bool:
    return picture.getexif().get(ORIENTATION, 1) in (5, 6, 7, 8)


def _encoded(pixels: PIL.Image.Image) -> dict[str, bytes]:
    """WebP bytes by size, each made from the next larger one."""
    encoded = {}
    for size, edge in SIZES.items():
        pixels.thumbnail((edge, edge))
        encoded[size] = _webp(pixels, size)
    return encoded


def smaller_copy(encoded: bytes, size: str) -> bytes:
    """A prepared image as WebP in a smaller size."""
    with PIL.Image.open(io.BytesIO(encoded), formats=("WEBP",)) as picture:
        picture.thumbnail((SIZES[size], SIZES[size]))
        return _webp(picture, size)


def _webp(pixels: PIL.Image.Image, size: str) -> bytes:
    buffer = io.BytesIO()
    pixels.save(buffer, "WEBP", quality=QUALITY[size], method=EFFORT)
    return buffer.getvalue()
