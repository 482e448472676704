"""Reading a backup, which is checked completely before it changes anything."""

import hashlib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from app.core.revisions import knows_revision, newest_revision
from likewise.backups.contents import (
    DATABASE,
    FORMAT_VERSION,
    KEY,
    MANIFEST,
    PARTS,
    PIECE_BYTES,
    STORAGE,
    BadBackup,
    Manifest,
    Part,
)

LONGEST_MANIFEST = 2**20


class Backup:
    """A backup file that `opened` has opened."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> Manifest:
        try:
            with self._archive.open(MANIFEST) as member:
                manifest = Manifest.model_validate_json(member.read(LONGEST_MANIFEST))
        except (KeyError, ValidationError) as error:
            raise BadBackup("This is not a Likewise backup: it has no manifest.") from error
        if manifest.format_version > FORMAT_VERSION:
            raise BadBackup(
                f"A newer Likewise ({manifest.product_version}) made this backup. "
                "Update Likewise first."
            )
        return manifest

    def check_revision(self) -> None:
        """Raises BadBackup if the database comes from a newer Likewise than this one."""
        if not knows_revision(self.manifest.revision):
            raise BadBackup(
                f"The backup's database is at revision {self.manifest.revision}, which this "
                f"Likewise does not know (its newest is {newest_revision()}). Update Likewise to "
                f"the version that made the backup ({self.manifest.product_version}) or newer."
            )

    def check_parts(self) -> None:
        """Read everything; raises BadBackup if a part is missing or has changed."""
        if PARTS not in self._archive.NameToInfo:
            raise BadBackup("The backup is incomplete: its list of parts is missing.")
        if _digest(self.pieces(PARTS))[0] != self.manifest.parts_sha256:
            raise BadBackup("The backup is damaged: its list of parts has changed.")
        names = {MANIFEST, PARTS}
        for part in self.parts():
            try:
                checksum = _digest(self.pieces(part.name))
            except KeyError as error:
                raise BadBackup(f"The backup is incomplete: {part.name} is missing.") from error
            if checksum != (part.sha256, part.size):
                raise BadBackup(f"The backup is damaged: {part.name} has changed.")
            names.add(part.name)
        listed = self._archive.namelist()
        if len(listed) != len(names) or set(listed) != names or not {DATABASE, KEY} <= names:
            raise BadBackup("The backup is damaged: its content does not match its list of parts.")

    def parts(self) -> Iterator[Part]:
        with self._archive.open(PARTS) as member:
            for line in member:
                yield Part.model_validate_json(line)

    def objects(self) -> Iterator[Part]:
        """The parts that belong to storage."""
        return (part for part in self.parts() if part.name.startswith(STORAGE))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a part; raises KeyError if no part has this name."""
        with self._archive.open(name) as member:
            while piece := member.read(PIECE_BYTES):
                yield piece

    def secret_key(self) -> str:
        try:
            return b"".join(self.pieces(KEY)).decode()
        except (KeyError, UnicodeDecodeError) as error:
            raise BadBackup("The backup is damaged: its secret key is missing.") from error


@contextmanager
def opened(file: Path) -> Iterator[Backup]:
    """Raises BadBackup if the file is not a backup, or if the block finds it damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield Backup(archive)
    except FileNotFoundError as error:
        if error.filename != str(file):
            raise
        raise BadBackup(f"The file {file} does not exist.") from error
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise BadBackup(
            f"{file} is damaged, incomplete or not a Likewise backup: {error}"
        ) from error


def _digest(pieces: Iterator[bytes]) -> tuple[str, int]:
    """The SHA-256 in hexadecimal, and the length."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size
