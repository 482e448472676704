"""Limits what image files contain besides pixels, before Pillow reads it.

A file of some megabytes can contain millions of tiny parts, or tags that all point to the same
megabytes. Reading them would take minutes or gigabytes, and none of it is kept.
"""

import re
import struct
from collections.abc import Callable, Iterator

# Encoders write a few thousand parts at most, in the largest files that are accepted.
MOST_PARTS = 20_000
MOST_PROFILES = 1
MOST_TEXTS = 1_000
MOST_TAGS = 1_000
# Encoders write about ten scans. Each is decoded over the whole picture, however few bytes it has.
MOST_SCANS = 25
ORIENTATION = 0x0112
# Bytes per value by type, in TIFF and Exif.
BYTES_OF = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
BYTES_OF_LARGE = {**BYTES_OF, 16: 8, 17: 8, 18: 8}
TEXTS = (b"tEXt", b"zTXt", b"iTXt")
# The marker of a JPEG segment that has a length. Within the picture, FF is followed by 00, or by
# one of D0 to D7, which have no length; neither has 01.
MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")


class TooMuch(ValueError):
    """A file contains more of something than pictures need; the message says of what."""


def check_head(format_name: str, data: bytes) -> None:
    """Raise TooMuch if a file exceeds the limits. Damaged files are left for Pillow to reject."""
    check = CHECKS.get(format_name)
    if check is not None:
        try:
            check(data)
        except struct.error:
            # The file ends in the middle of a number.
            return


def _check_png(data: bytes) -> None:
    place, parts, texts, profiles = 8, 0, 0, 0
    while place + 8 <= len(data):
        (length,), kind = struct.unpack_from(">I", data, place), data[place + 4 : place + 8]
        parts, place = parts + 1, place + 12 + length
        texts += kind in TEXTS
        profiles += kind == b"iCCP"
        _bound(parts, MOST_PARTS, "parts")
        _bound(texts, MOST_TEXTS, "texts")
        _bound(profiles, MOST_PROFILES, "colour profiles")


def _check_jpeg(data: bytes) -> None:
    """Check a JPEG up to the end of the picture: phones append videos, which are never decoded."""
    place, parts, exif, scans = 2, 0, 0, 0
    while (marker := MARKER.search(data, place)) and marker[1] != b"\xd9":
        place = marker.end()
        parts += 1
        scans += marker[1] == b"\xda"
        exif += marker[1] == b"\xe1" and data[place + 2 : place + 8] == b"Exif\0\0"
        _bound(parts, MOST_PARTS, "parts")
        _bound(scans, MOST_SCANS, "scans")
        _bound(exif, 1, "Exif blocks")
        place += struct.unpack_from(">H", data, place)[0]


def _check_gif(data: bytes) -> None:
    """Check a GIF up to the first frame, the only one that is used."""
    colours = 3 * 2 ** ((data[10] & 7) + 1) if data[10:11] and data[10] & 0x80 else 0
    place, parts = 13 + colours, 0
    while data[place : place + 1] == b"!":
        place += 2
        while data[place : place + 1] not in (b"\0", b""):
            place, parts = place + 1 + data[place], parts + 1
            _bound(parts, MOST_PARTS, "parts")
        place, parts = place + 1, parts + 1
        _bound(parts, MOST_PARTS, "parts")


def _check_tiff(data: bytes) -> None:
    """Check a TIFF. A regular file stores each value once, so together they are no larger than the
    file."""
    order = "<" if data[:2] == b"II" else ">"
    is_large = struct.unpack_from(order + "H", data, 2)[0] == 43
    at, entry_form, sizes = (8, "HHQ8x", BYTES_OF_LARGE) if is_large else (4, "HHI4x", BYTES_OF)
    (start,) = struct.unpack_from(order + ("Q" if is_large else "I"), data, at)
    (count,) = struct.unpack_from(order + ("Q" if is_large else "H"), data, start)
    _bound(count, MOST_TAGS, "tags")
    entries = _entries(data, order + entry_form, start + (8 if is_large else 2), count)
    values = sum(n * sizes.get(kind, 8) for _, kind, n in entries)
    _bound(values, len(data), "bytes in its tags")


def _entries(data: bytes, form: str, start: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield tag, type and number of values of each entry."""
    for index in range(count):
        yield struct.unpack_from(form, data, start + index * struct.calcsize(form))


def _bound(number: int, most: int, what: str) -> None:
    if number > most:
        raise TooMuch(f"The file has more than {most} {what}.")


def orientation_of(exif: bytes) -> int:
    """Return the Exif orientation, 1 to 8; 1 if Exif data has none that can be read."""
    exif = exif.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(order + "I", exif, 4)
        (count,) = struct.unpack_from(order + "H", exif, start)
        for index in range(min(count, MOST_TAGS)):
            tag, kind, _, value = struct.unpack_from(order + "HHIH", exif, start + 2 + 12 * index)
            if (tag, kind) == (ORIENTATION, 3):
                return int(value) if 1 <= value <= 8 else 1
    except struct.error:
        # The data is cut off, so the orientation is unknown.
        return 1
    return 1


CHECKS: dict[str, Callable[[bytes], None]] = {
    "PNG": _check_png,
    "JPEG": _check_jpeg,
    "GIF": _check_gif,
    "TIFF": _check_tiff,
}
SIGNATURES = {
    b"\x89PNG": "PNG",
    b"\xff\xd8": "JPEG",
    b"GIF8": "GIF",
    b"II": "TIFF",
    b"MM": "TIFF",
}


def format_of(data: bytes) -> str:
    """Return the format by the first bytes; empty if nothing is checked for the format."""
    return next((name for first, name in SIGNATURES.items() if data.startswith(first)), "")
