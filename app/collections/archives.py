"""Reads uploaded ZIP files without trusting them: names, count and unpacked size are checked
first."""

import io
import stat
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath

from app.collections.decoding import RejectedImage
from app.core.settings import get_settings
from app.core.zips import UNREADABLE, opened, unreadable_reason

MAX_RATIO = 200


class RejectedArchive(RejectedImage):
    """The archive as a whole cannot be used."""

    code = "rejected_archive"


def is_archive(filename: str, data: bytes) -> bool:
    return filename.lower().endswith(".zip") or data[:4] == b"PK\x03\x04"


def members(data: bytes) -> Iterator[tuple[str, bytes | RejectedImage]]:
    """Yield name and bytes of every file in the archive; a refused entry comes with its reason.

    Folders and hidden files of macOS are skipped. Nothing is written to disk, so a name such as
    `../../x.png` could do no harm. It is refused anyway, because an archive with such a name is
    broken or hostile. Raises RejectedArchive.
    """
    try:
        # There may be as many folders and hidden files again.
        archive = opened(io.BytesIO(data), 2 * get_settings().max_collection_images)
        entries = [entry for entry in archive.infolist() if not _is_noise(entry)]
    except UNREADABLE as error:
        raise RejectedArchive(
            f"The ZIP file cannot be read ({unreadable_reason(error)})."
        ) from error
    _check_size(entries)
    for entry in entries:
        yield entry.filename, _read(archive, entry)


def _is_noise(entry: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(entry.filename).parts
    return entry.is_dir() or "__MACOSX" in parts or bool(parts and parts[-1].startswith("._"))


def _check_size(entries: list[zipfile.ZipInfo]) -> None:
    settings = get_settings()
    if not entries:
        raise RejectedArchive("The ZIP file is empty.", code="empty_archive")
    if len(entries) > settings.max_collection_images:
        raise RejectedArchive(
            f"The ZIP file contains {len(entries)} files. A collection can have at most "
            f"{settings.max_collection_images} images."
        )
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > 4 * settings.max_upload_bytes:
        limit = 4 * settings.max_upload_bytes // 2**20
        raise RejectedArchive(f"The ZIP file unpacks to more than {limit} MB.")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes | RejectedImage:
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(entry.filename).drive:
        return RejectedArchive("The file name points outside the archive.", code="unsafe_name")
    if stat.S_ISLNK(entry.external_attr >> 16):
        return RejectedArchive("This entry is a symbolic link.", code="symbolic_link")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return RejectedArchive("This entry is not a file.", code="not_a_file")
    if entry.flag_bits & 0x1:
        return RejectedArchive(
            "This entry is encrypted. Upload it without a password.", code="encrypted_entry"
        )
    limit = get_settings().max_image_bytes
    if entry.file_size > limit or entry.file_size > MAX_RATIO * max(entry.compress_size, 512):
        return RejectedArchive("This file is too large when unpacked.", code="too_large")
    try:
        with archive.open(entry) as file:
            # The size in the header is only a claim, so read no more than is allowed.
            data = file.read(limit + 1)
    except UNREADABLE as error:
        return RejectedArchive(f"This file cannot be unpacked ({unreadable_reason(error)}).")
    if len(data) > limit:
        return RejectedArchive("This file is too large when unpacked.", code="too_large")
    return data
