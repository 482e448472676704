"""Reduces pictures with more than 256 grey levels to 8 bits, by the range of their values.

Pillow's own conversion clips: a 16-bit scan becomes white, and values between 0 and 1 become black.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import PIL.Image
import PIL.TiffImagePlugin
from numpy.typing import NDArray

# Pillow's modes of 16-bit, 32-bit and floating-point grey.
MODES = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
STRIP_PIXELS = 2_000_000
PHOTOMETRIC, SAMPLE_FORMAT = 262, 339
UNSIGNED = 1
WHITE_IS_ZERO = 0


class NoRange(ValueError):
    """The values of a picture cannot be reduced; the message says why."""


@dataclass(frozen=True)
class GreyLevels:
    """The range of a picture's values, which becomes 0 to 255.

    clear: the value that stands for a transparent pixel.
    """

    low: float
    high: float
    unsigned: bool = False
    inverted: bool = False
    clear: int | None = None

    def reduced(self, strip: PIL.Image.Image) -> PIL.Image.Image:
        """Return a part of the picture in mode L, or LA if it has transparent pixels."""
        values = _values(strip, self.unsigned)
        share = (values.astype(np.float64) - self.low) / (self.high - self.low)
        share = np.clip(1 - share if self.inverted else share, 0, 1)
        levels = np.rint(255 * share).astype(np.uint8)
        grey = PIL.Image.fromarray(levels)
        if self.clear is not None:
            alpha = np.where(values == self.clear, 0, 255).astype(np.uint8)
            grey.putalpha(PIL.Image.fromarray(alpha))
        return grey


def grey_levels_of(picture: PIL.Image.Image) -> GreyLevels | None:
    """Return the range of a decoded picture; None if it has 8 bits and needs no reduction. Raises
    NoRange."""
    if picture.mode not in MODES:
        return None
    tags = picture.tag_v2 if isinstance(picture, PIL.TiffImagePlugin.TiffImageFile) else {}
    # Pillow reads unsigned values of 32 bits as if they had a sign.
    unsigned = picture.mode == "I" and tags.get(SAMPLE_FORMAT, (UNSIGNED,)) == (UNSIGNED,)
    unsigned = unsigned and bool(tags)
    clear = picture.info.get("transparency")
    lows, highs = [], []
    for values in _strips(picture, unsigned):
        seen = values if clear is None else values[values != clear]
        if not np.isfinite(seen).all():
            raise NoRange(
                "The image has pixels that are not a number or infinite. Replace them by numbers."
            )
        if seen.size > 0:
            lows.append(float(seen.min()))
            highs.append(float(seen.max()))
    low, high = min(lows, default=0.0), max(highs, default=0.0)
    if low == high:
        raise NoRange(
            "All pixels of the image have the same value. An image with more than 256 grey levels "
            "is shown from its lowest value (black) to its highest (white). Save it with 8 bits."
        )
    return GreyLevels(
        low,
        high,
        unsigned=unsigned,
        inverted=tags.get(PHOTOMETRIC) == WHITE_IS_ZERO,
        clear=clear,
    )


def _strips(picture: PIL.Image.Image, unsigned: bool) -> Iterator[NDArray[np.generic]]:
    """Yield the values a few rows at a time: a copy of all of them would double the memory."""
    rows = max(STRIP_PIXELS // picture.width, 1)
    for top in range(0, picture.height, rows):
        box = (0, top, picture.width, min(top + rows, picture.height))
        yield _values(picture.crop(box), unsigned)


def _values(strip: PIL.Image.Image, unsigned: bool) -> NDArray[np.generic]:
    values = np.asarray(strip)
    return values.view(np.uint32) if unsigned else values
