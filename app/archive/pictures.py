"""Checks images of an archive, which must be in our own encoding, byte for byte.

Encoding them again, like uploads, would reduce their quality each time. Instead they are checked: a
WebP of limited size that decodes, and contains picture data and nothing else.
"""

import io

import PIL.Image

from app.archive.errors import DamagedArchive
from app.collections.images import longest_edge

# Lossy and lossless pictures, the header of those with transparency, and transparency itself. No
# metadata, no colour profile, no animation.
CHUNKS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}
HEAD = 12


def check_webp(name: str, data: bytes, size: str) -> None:
    """Raise DamagedArchive unless `data` is a prepared image of that size."""
    if not _holds_a_picture_only(data):
        raise DamagedArchive(f"{name} is not an image in the format that Likewise stores.")
    try:
        with PIL.Image.open(io.BytesIO(data), formats=("WEBP",)) as picture:
            width, height = picture.size
            if max(width, height) > longest_edge(size, width, height):
                raise DamagedArchive(
                    f"{name} has {width} × {height} pixels, which is too large for {size}."
                )
            picture.load()
    except (OSError, ValueError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
        raise DamagedArchive(f"{name} is not an image that can be decoded.") from error


def _holds_a_picture_only(data: bytes) -> bool:
    """Tell whether the file is a WebP container of known parts from its first byte to its last."""
    if data[:4] != b"RIFF" or data[8:HEAD] != b"WEBP" or _number(data, 4) + 8 != len(data):
        return False
    place = HEAD
    while place < len(data):
        if data[place : place + 4] not in CHUNKS:
            return False
        length = _number(data, place + 4)
        place += 8 + length + length % 2
    return place == len(data)


def _number(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4], "little")
