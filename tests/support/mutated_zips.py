"""ZIP files damaged as files: bytes, records and members, without a look at what they hold."""

import io
import random
import struct
import warnings
import zipfile
from collections.abc import Callable

LOCAL, ENTRY, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
# Offsets and widths of what the records tell: version, flags, method, time, checksum, sizes,
# lengths, places.
LOCAL_FIELDS = ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))
ENTRY_FIELDS = (
    (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (38, 4),
    (42, 4),
)  # fmt: skip
END_FIELDS = ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))
Damage = Callable[[random.Random, bytes], bytes]


def damaged_zip(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """What was done, and the file."""
    damage = rng.choice(DAMAGES)
    return damage.__name__.strip("_"), damage(rng, data)


def _flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 10, 1000))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _flipped_in_the_list(rng: random.Random, data: bytes) -> bytes:
    start = data.find(ENTRY)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3))):
        changed[rng.randrange(start, len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes) -> bytes:
    at = rng.choice((rng.randrange(len(data)), len(data) - rng.randrange(1, 60)))
    return data[:at]


def _without_a_piece(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice((1, 7, 1000)) :]


def _with_more(rng: random.Random, data: bytes) -> bytes:
    more = rng.choice((b"\0", b"PK\x05\x06" + bytes(18), rng.randbytes(500), data[-500:], data))
    at = rng.choice((0, len(data), rng.randrange(len(data))))
    return data[:at] + more + data[at:]


def _wrong_record(rng: random.Random, data: bytes) -> bytes:
    """One number of one record is another."""
    mark, fields = rng.choice(((LOCAL, LOCAL_FIELDS), (ENTRY, ENTRY_FIELDS), (END, END_FIELDS)))
    places = _places(data, mark)
    place, width = rng.choice(fields)
    at = rng.choice(places) + place
    code = "<H" if width == 2 else "<I"
    [old] = struct.unpack_from(code, data, at)
    most = 2 ** (8 * width) - 1
    new = rng.choice((0, 1, old ^ 1, old + 1, old - 1, most, most // 2, 8, 12, 14, 99)) & most
    return data[:at] + struct.pack(code, new) + data[at + width :]


def _renamed_once(rng: random.Random, data: bytes) -> bytes:
    """Before the member alone, or in the list alone."""
    mark, head = rng.choice(((LOCAL, 30), (ENTRY, 46)))
    at = rng.choice(_places(data, mark)) + head
    letter = rng.choice((b"x", b"\xff", b"/", b"\0", b"."))
    at += rng.randrange(10)
    return data[:at] + letter + data[at + 1 :]


def _places(data: bytes, mark: bytes) -> list[int]:
    places, at = [], data.find(mark)
    while at >= 0:
        places.append(at)
        at = data.find(mark, at + 4)
    return places


def _with_a_member_twice(rng: random.Random, data: bytes) -> bytes:
    def again(archive: zipfile.ZipFile) -> None:
        name = rng.choice(archive.namelist())
        archive.writestr(rng.choice((name, name.upper(), f"./{name}", name + "/")), b"{}")

    return _appended(data, again)


def _with_another_member(rng: random.Random, data: bytes) -> bytes:
    names = (
        "x", "tables/x.jsonl", "models/0001/x.json", "models/0009/x.json",
        "images/thumb/000099.webp", "images/thumb/1.webp", "../x", "/etc/x", "a\\b", "tables/",
        "models/0001/a.pkl", "\u202e", "manifest.json ", "images.sha256 ",
    )  # fmt: skip

    def add(archive: zipfile.ZipFile) -> None:
        archive.writestr(rng.choice(names), rng.randbytes(rng.choice((0, 9, 5000))))

    return _appended(data, add)


def _with_a_comment(rng: random.Random, data: bytes) -> bytes:
    def say(archive: zipfile.ZipFile) -> None:
        archive.comment = rng.choice((b"x", b"PK\x05\x06" + bytes(18), rng.randbytes(60_000)))

    return _appended(data, say)


def _appended(data: bytes, change: Callable[[zipfile.ZipFile], None]) -> bytes:
    buffer = io.BytesIO(data)
    with warnings.catch_warnings():
        # zipfile tells of a name that is there already.
        warnings.simplefilter("ignore", UserWarning)
        with zipfile.ZipFile(buffer, "a") as archive:
            change(archive)
    return buffer.getvalue()


def _packed_otherwise(rng: random.Random, data: bytes) -> bytes:
    """In another order, by other methods, with odd attributes: some of it is as good."""
    buffer = io.BytesIO()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        names = old.namelist()
        strange = rng.choice(names)
        for name in rng.sample(names, len(names)):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = rng.choice(methods[:2])
            if name == strange:
                entry.compress_type = rng.choice(methods)
                entry.external_attr = rng.choice((0, 0o120777 << 16, 0o40755 << 16, 0o644 << 16))
                entry.extra = rng.choice((b"", b"\x01\x00\x00\x00", rng.randbytes(7)))
            new.writestr(entry, old.read(name))
    return buffer.getvalue()


DAMAGES: tuple[Damage, ...] = (
    _flipped, _flipped_in_the_list, _cut, _without_a_piece, _with_more, _wrong_record,
    _wrong_record, _renamed_once, _with_a_member_twice, _with_another_member, _with_a_comment,
    _packed_otherwise,
)  # fmt: skip
