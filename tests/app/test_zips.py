"""ZIP files of strangers are looked through before `zipfile` makes objects of their members."""

import contextlib
import io
import random
import struct
import tracemalloc
import zipfile

import pytest

from app.archive.container import Container
from app.archive.errors import DamagedArchive
from app.collections.archives import RejectedArchive, members
from app.collections.attributes import BadAttributeTable, read_attribute_table
from app.collections.manifest import BadManifest, read_manifest
from app.core.zips import UnusableList, opened
from testbed.settings import used_here

END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR = struct.Struct("<4sIQI")


def a_zip(n: int, comment: bytes = b"", before: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(n):
            archive.writestr(f"{number}.txt", b"x")
        archive.comment = comment
    return before + buffer.getvalue()


def a_list(n: int) -> bytes:
    """A list of n members without names, which a compressed upload sends for next to nothing."""
    return (b"PK\x01\x02" + bytes(42)) * n


def ended(listed: bytes, n_listed: int = 1) -> bytes:
    return listed + END.pack(b"PK\x05\x06", 0, 0, n_listed, n_listed, len(listed), 0, 0)


def ended_twice(first: bytes, second: bytes) -> bytes:
    """With one list for readers of the old format and another for those of large files."""
    start = len(first)
    large = END64.pack(b"PK\x06\x06", 44, 45, 45, 0, 0, 9, 9, len(second), start)
    locator = LOCATOR.pack(b"PK\x06\x07", 0, start + len(second), 1)
    end = END.pack(b"PK\x05\x06", 0, 0, 1, 1, len(first), 0, 0)
    return first + second + large + locator + end


def test_the_list_is_found_wherever_zipfile_finds_it() -> None:
    rng = random.Random(0)
    for _ in range(100):
        data = a_zip(rng.randrange(30), rng.randbytes(rng.randrange(3_000)), rng.randbytes(20))
        try:
            expected = zipfile.ZipFile(io.BytesIO(data)).namelist()
        except zipfile.BadZipFile:
            with pytest.raises(zipfile.BadZipFile):
                opened(io.BytesIO(data), 30)
            continue
        assert opened(io.BytesIO(data), 30).namelist() == expected


def test_what_is_in_it_can_be_read() -> None:
    with opened(io.BytesIO(a_zip(3)), 3) as archive:
        assert archive.read("2.txt") == b"x"
        assert archive.testzip() is None


@pytest.mark.parametrize(
    "data",
    [a_zip(11), ended(a_list(300_000)), ended_twice(a_list(1), a_list(300_000))],
    ids=["eleven", "a lie about the number", "two lists"],
)
def test_too_many_members_are_refused_before_they_take_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnusableList, match="more than 10 files"):
            opened(io.BytesIO(data), 10)
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x05\x06",
        END.pack(b"PK\x05\x06", 0, 0, 1, 1, 10_000, 0, 0),
        ended_twice(a_list(300_000), a_list(1))[:-22],
        b"x" * 80 + LOCATOR.pack(b"PK\x06\x07", 0, 0, 1) + END.pack(b"PK\x05\x06", *[0] * 7),
    ],
)
def test_what_has_no_list_is_no_zip(data: bytes) -> None:
    with pytest.raises(zipfile.BadZipFile):
        opened(io.BytesIO(data), 10)


@pytest.mark.parametrize(
    "data",
    [ended(a_list(1)), a_zip(3).replace(b"1.txt", b"\0.txt")],
    ids=["no name", "a name that ends before it begins"],
)
def test_a_member_without_a_name_is_refused(environment: dict[str, str], data: bytes) -> None:
    with pytest.raises(DamagedArchive, match="file without a name"):
        Container(io.BytesIO(data))
    with pytest.raises(RejectedArchive, match="file without a name"):
        list(members(data))


def test_a_list_that_was_not_looked_through_is_not_read() -> None:
    """Whichever of two lists a version of `zipfile` prefers, no other is used than the checked."""
    data = ended_twice(a_list(300_000), a_list(2))
    with contextlib.suppress(zipfile.BadZipFile):
        assert len(opened(io.BytesIO(data), 10).infolist()) <= 2


def test_uploads_say_so(environment: dict[str, str]) -> None:
    with used_here({**environment, "LIKEWISE_MAX_COLLECTION_IMAGES": "5"}):
        with pytest.raises(RejectedArchive, match="more than 10 files"):
            list(members(ended(a_list(11))))
        rows = "\n".join(["filename,colour", *(f"{n}.png,red" for n in range(6))])
        with pytest.raises(BadAttributeTable, match="more than 5 rows"):
            read_attribute_table(rows.encode())
        assert len(read_attribute_table(rows.rpartition("\n")[0].encode())) == 5
        lines = "\n".join(["url", *(f"https://a.example/{n}.png" for n in range(6))])
        with pytest.raises(BadManifest, match="more than 5 lines"):
            read_manifest("list.csv", lines.encode(), None)
