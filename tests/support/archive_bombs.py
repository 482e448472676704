"""Archives made to hurt whoever unpacks them, each with what is to become of it."""

import io
import struct
import zipfile

from testbed.builders import a_png, a_zip
from tests.support.bombs import CASES, Case, case

# Those of pictures are among them.
__all__ = ["CASES"]


def packed_zip(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


@case
def an_entry_of_thirty_megabytes_of_nothing() -> Case:
    return "ratio.zip", packed_zip(("bomb.png", bytes(30_000_000))), "too_large"


@case
def entries_of_gigabytes_together() -> Case:
    """A ZIP whose directory names one small member a hundred times."""
    data = bytearray(packed_zip(("bomb.png", bytes(30_000_000))))
    (start,) = struct.unpack_from("<I", data, len(data) - 6)
    directory = bytes(data[start:-22])
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 100, 100, 100 * len(directory), start, 0)
    return "total.zip", bytes(data[:start]) + directory * 100 + end, "rejected_archive"


@case
def a_member_that_lies_about_its_size() -> Case:
    data = bytearray(packed_zip(("lie.png", bytes(60_000_000))))
    (start,) = struct.unpack_from("<I", data, len(data) - 6)
    struct.pack_into("<I", data, start + 24, 1_000)
    return "lie.zip", bytes(data), "rejected_archive"


@case
def more_members_than_a_collection_holds() -> Case:
    return "count.zip", a_zip([(f"{k}.png", b"") for k in range(2_001)]), "rejected_archive"


@case
def an_archive_in_an_archive_in_an_archive() -> Case:
    inner = packed_zip(("bomb.png", bytes(30_000_000)))
    return "nested.zip", packed_zip(("inner.zip", packed_zip(("inner.zip", inner)))), "not_an_image"


@case
def a_link_out_of_the_archive() -> Case:
    return "link.zip", packed_zip((with_mode("a.png", 0o120777), b"/etc/passwd")), "symbolic_link"


@case
def a_device_in_an_archive() -> Case:
    return "device.zip", packed_zip((with_mode("a.png", 0o020666), b"")), "not_a_file"


@case
def a_name_that_climbs_out() -> Case:
    return "climb.zip", packed_zip(("../../a.png", a_png(1))), "unsafe_name"


@case
def a_name_that_climbs_out_in_windows() -> Case:
    return "climb.zip", packed_zip(("..\\..\\a.png", a_png(1))), "unsafe_name"


@case
def an_absolute_name() -> Case:
    return "root.zip", packed_zip(("/etc/cron.d/a.png", a_png(1))), "unsafe_name"


@case
def a_name_on_another_drive() -> Case:
    return "drive.zip", packed_zip(("C:\\Windows\\a.png", a_png(1))), "unsafe_name"


@case
def members_of_many_methods() -> Case:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.png", bytes(30_000_000), zipfile.ZIP_BZIP2)
        archive.writestr("b.png", bytes(30_000_000), zipfile.ZIP_LZMA)
    return "methods.zip", buffer.getvalue(), "too_large"


@case
def an_archive_that_ends_in_its_midst() -> Case:
    data = packed_zip(("a.png", a_png(1)))
    return "cut.zip", data[: len(data) // 2], "rejected_archive"
