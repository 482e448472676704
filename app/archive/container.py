"""Reads an archive without trusting it: names, sizes and hashes are checked before anything is
used."""

import hashlib
import stat
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from pydantic import ValidationError

from app.archive.errors import DamagedArchive, TooNewArchive
from app.archive.manifest import (
    ARTIFACT,
    CHECKSUMS,
    FEATURES,
    FORMAT_VERSION,
    IMAGE,
    MANIFEST,
    SIZES,
    Manifest,
)
from app.archive.tables import BY_NAME
from app.collections.archives import MAX_RATIO
from app.core.settings import get_settings
from app.core.zips import UNREADABLE, UnusableList, opened, unreadable_reason

PIECE_BYTES = 2**18
MOST_OTHERS = 20_000
MOST_MANIFEST_BYTES = 16 * 2**20
LONGEST_LINE = 1000
CUT_OFF = (
    "The file is not a complete archive: it is not a ZIP file, or it was cut off. Download it "
    "again."
)


class Container:
    """The archive's members. Reading one whose bytes were changed raises DamagedArchive.

    `most_bytes` limits its unpacked size. Raises DamagedArchive, TooNewArchive.
    """

    def __init__(self, file: BinaryIO, most_bytes: int | None = None) -> None:
        try:
            self._archive = opened(file, _most_members())
            self._entries = {entry.filename: entry for entry in self._archive.infolist()}
        except UnusableList as error:
            raise DamagedArchive(f"The archive cannot be used: {error}.") from error
        except UNREADABLE as error:
            raise DamagedArchive(CUT_OFF) from error
        if len(self._entries) != len(self._archive.infolist()):
            raise DamagedArchive("The archive contains two files with the same name.")
        if MANIFEST not in self._entries:
            raise DamagedArchive(
                "The ZIP file has no manifest.json, so it is not a campaign archive. To "
                "upload images in a ZIP file, add them to a collection."
            )
        _check_sizes(self._entries, most_bytes)
        self.manifest = self._manifest()
        self._check_names()

    def pieces(self, name: str, sha256: str = "") -> Iterator[bytes]:
        """Yield the bytes of a member; pass `sha256` if the manifest does not contain it."""
        expected = sha256 or self.manifest.members[name].sha256
        digest = hashlib.sha256()
        for piece in self._unpacked(name):
            digest.update(piece)
            yield piece
        if digest.hexdigest() != expected:
            raise DamagedArchive(f"{name} was changed after the archive was made.")

    def images(self) -> Iterator[tuple[str, str]]:
        """Yield name and hash of every image, in the order in which they were written."""
        listed = 0
        for line in _lines(self.pieces(CHECKSUMS)):
            sha256, _, name = line.partition("  ")
            if not (IMAGE.fullmatch(name) and name in self._entries and len(sha256) == 64):
                raise DamagedArchive(
                    f"{CHECKSUMS} lists {name[:60]!r}, which is not in the archive."
                )
            listed += 1
            yield name, sha256
        if listed != sum(map(_is_image, self._entries)):
            raise DamagedArchive(f"The archive contains images that {CHECKSUMS} does not list.")

    def artifacts(self) -> list[tuple[int, str, str]]:
        """Return version, file, and member name of every file of a model."""
        matches = [ARTIFACT.fullmatch(name) for name in sorted(self.manifest.members)]
        return [(int(match[1]), match[2], match[0]) for match in matches if match]

    def features(self) -> list[tuple[int, str, str]]:
        """Return the set's number, file, and member name of every file of features."""
        matches = [FEATURES.fullmatch(name) for name in sorted(self.manifest.members)]
        return [(int(match[1]), match[2], match[0]) for match in matches if match]

    def _unpacked(self, name: str) -> Iterator[bytes]:
        try:
            # zipfile returns no more than the size that was checked, and verifies the checksum.
            with self._archive.open(self._entries[name]) as file:
                while piece := file.read(PIECE_BYTES):
                    yield piece
        except UNREADABLE as error:
            raise DamagedArchive(
                f"{name} cannot be unpacked: {unreadable_reason(error)}."
            ) from error

    def _manifest(self) -> Manifest:
        if self._entries[MANIFEST].file_size > MOST_MANIFEST_BYTES:
            raise DamagedArchive("manifest.json is too large.")
        try:
            manifest = Manifest.model_validate_json(b"".join(self._unpacked(MANIFEST)))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise DamagedArchive(f"manifest.json cannot be used: {where} {first['msg']}") from error
        unknown = sorted(set(manifest.tables) - set(BY_NAME))
        if manifest.format_version > FORMAT_VERSION or unknown:
            raise TooNewArchive(
                f"The archive was made by Likewise {manifest.product_version} and contains "
                "data that this version does not know. Install that version or a newer one "
                "first."
            )
        return manifest

    def _check_names(self) -> None:
        listed = set(self.manifest.members)
        known = {CHECKSUMS, *(BY_NAME[name].file for name in self.manifest.tables)}
        if strange := sorted(name for name in listed - known if not _is_file(name)):
            raise DamagedArchive(
                f"The archive contains {strange[0][:60]!r}, which does not belong in an archive."
            )
        there = {name for name in self._entries if name != MANIFEST and not _is_image(name)}
        if different := sorted(listed.symmetric_difference(there) | (known - listed)):
            raise DamagedArchive(
                f"manifest.json does not match the files in the archive: {different[0][:60]!r}."
            )


def _is_file(name: str) -> bool:
    return bool(ARTIFACT.fullmatch(name) or FEATURES.fullmatch(name))


def _is_image(name: str) -> bool:
    return IMAGE.fullmatch(name) is not None


def _check_sizes(entries: dict[str, zipfile.ZipInfo], most_bytes: int | None) -> None:
    settings = get_settings()
    for name, entry in entries.items():
        if stat.S_ISLNK(entry.external_attr >> 16) or entry.flag_bits & 0x1 or entry.is_dir():
            raise DamagedArchive(f"{name[:60]!r} is a link, a folder or encrypted.")
        if entry.file_size > MAX_RATIO * max(entry.compress_size, 2**20):
            raise DamagedArchive(f"{name[:60]!r} is far too large when unpacked.")
        if _is_image(name) and entry.file_size > settings.max_image_bytes:
            raise DamagedArchive(f"{name[:60]!r} is too large for an image.")
    n_images = sum(map(_is_image, entries))
    if n_images > len(SIZES) * settings.max_collection_images:
        raise DamagedArchive(
            "The archive has too many images. A collection on this server can have at most "
            f"{settings.max_collection_images} images."
        )
    total = sum(entry.file_size for entry in entries.values())
    if most_bytes is not None and total > most_bytes:
        raise DamagedArchive(
            f"The archive unpacks to {total // 2**20} MB, which is too large to import over "
            "the web. Use `likewise import` on the server.",
            code="archive_too_large",
        )


def _most_members() -> int:
    """Return the maximum number of members: every image in each size, files of models, and
    tables."""
    return len(SIZES) * get_settings().max_collection_images + MOST_OTHERS


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode("ascii", "replace") for line in lines)
        if len(rest) > LONGEST_LINE:
            break
    if rest:
        raise DamagedArchive(f"{CHECKSUMS} is not a list of hashes.")
