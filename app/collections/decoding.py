"""Decodes untrusted image files into pixels, within limits of memory and time.

The file's header is checked before anything is decoded. The decoded picture is then reduced in
strips, because each further copy of a large picture would take as much memory again.
"""

import io
import struct
import warnings
import zlib
from collections.abc import Callable

import PIL.Image
from PIL.Image import Transpose

from app.collections.grey_levels import STRIP_PIXELS, NoRange, grey_levels_of
from app.collections.image_headers import TooMuch, check_head, format_of, orientation_of
from app.core.errors import LikewiseError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
# The share of the pixel limit for these formats, whose decoders hold that many copies of a picture.
SHARES = {"WEBP": 0.35, "TIFF": 0.6}
# Only PNG and TIFF allow longer images, and Pillow keeps lists of rows and columns.
LONGEST_EDGE = 65_535
UPRIGHT = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
# Errors that Pillow raises for damaged files, found by feeding it a hundred thousand of them.
DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    struct.error,
    zlib.error,
)


class RejectedImage(LikewiseError):
    """The file cannot be added to a collection; the message says why."""

    code = "rejected_image"
    status = 422


def decode(
    data: bytes, max_pixels: int, longest_edge: Callable[[int, int], int]
) -> tuple[PIL.Image.Image, tuple[int, int]]:
    """Decode a file, and return its upright pixels (RGB or RGBA) and the size of the upright
    picture in pixels.

    There are fewer pixels than in the file if its longest edge has more than twice as many as are
    kept of it, `longest_edge(width, height)`. Only the first frame of an animation is used. Raises
    RejectedImage.
    """
    picture = opened(data, max_pixels)
    size = picture.size
    edge = longest_edge(*size)
    try:
        # For JPEG only, this decodes at 1/2, 1/4 or 1/8 of the size, no smaller than what is kept.
        picture.draft("RGB", (edge, edge))
        picture.load()
        # Pillow already rotates TIFF.
        exif = b"" if picture.format == "TIFF" else picture.info.get("exif", b"")
        pixels = _reduced(picture, 2 * edge)
    except PIL.Image.DecompressionBombError as error:
        raise _too_many_pixels(max_pixels) from error
    except NoRange as error:
        raise RejectedImage(str(error), code="no_range") from error
    except DAMAGE as error:
        raise RejectedImage(
            f"The image is damaged and cannot be decoded ({error}).", code="damaged_image"
        ) from error
    orientation = orientation_of(exif)
    if orientation == 1:
        return pixels, size
    turned = pixels.transpose(UPRIGHT[orientation])
    return turned, size if orientation < 5 else (size[1], size[0])


def opened(data: bytes, max_pixels: int) -> PIL.Image.Image:
    """Open the picture of a file without decoding it, if it is not too large. Raises
    RejectedImage."""
    try:
        check_head(format_of(data), data)
    except TooMuch as error:
        raise RejectedImage(
            f"{error} Open it in an image editor and save it again.", code="overloaded"
        ) from error
    # Pillow's own limit is twice this number, and applies before it allocates memory for a picture.
    PIL.Image.MAX_IMAGE_PIXELS = max_pixels // 2
    try:
        with warnings.catch_warnings():
            # Pillow only warns above half its limit.
            warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
            picture = PIL.Image.open(io.BytesIO(data), formats=FORMATS)
    except PIL.Image.DecompressionBombError as error:
        raise _too_many_pixels(max_pixels) from error
    except DAMAGE as error:
        raise RejectedImage(
            "This is not an image that Likewise can read. Use PNG, JPEG, WebP, GIF, BMP or TIFF.",
            code="not_an_image",
        ) from error
    limit = int(max_pixels * SHARES.get(picture.format or "", 1))
    if picture.width * picture.height > limit:
        raise _too_many_pixels(limit, picture.format or "")
    if max(picture.size) > LONGEST_EDGE:
        raise RejectedImage(
            f"The image is more than {LONGEST_EDGE} pixels wide or high. Cut it into smaller "
            "images.",
            code="too_many_pixels",
        )
    return picture


def _too_many_pixels(limit: int, format_name: str = "") -> RejectedImage:
    return RejectedImage(
        f"The image has more than {limit / 1e6:.0f} million "
        f"pixels{f', the limit for {format_name}' if format_name in SHARES else ''}. Scale "
        "it down. Annotators see at most 1024 pixels.",
        code="too_many_pixels",
    )


def _reduced(picture: PIL.Image.Image, edge: int) -> PIL.Image.Image:
    """Return the picture in RGB or RGBA with 8 bits, reduced by a whole number if it is longer than
    `edge`."""
    has_alpha = "A" in picture.getbands() or "transparency" in picture.info
    mode = "RGBA" if has_alpha else "RGB"
    levels = grey_levels_of(picture)
    factor = max(1, max(picture.size) // edge)
    if factor == 1 and levels is None:
        return picture.convert(mode)
    width, height = (-(-length // factor) for length in picture.size)
    small = PIL.Image.new(mode, (width, height))
    step = factor * max(STRIP_PIXELS // (picture.width * factor), 1)
    for top in range(0, picture.height, step):
        strip = picture.crop((0, top, picture.width, min(top + step, picture.height)))
        # Numbers of 64 bits stand for grey levels in between, so this is done a strip at a time.
        coloured = (strip if levels is None else levels.reduced(strip)).convert(mode)
        small.paste(coloured.reduce(factor) if factor > 1 else coloured, (0, top // factor))
    return small
