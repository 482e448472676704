"""A backup of a running system.

The order makes it whole: first nothing is removed from storage any more, then the database is read
as of one moment, then storage, which by then has all that the database names. What was added to
storage in the meantime comes along, and does no harm.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.collections.discards import all_objects_kept
from app.core.database import snapshot
from app.core.openapi import release
from app.core.revisions import database_revision
from app.core.settings import get_settings
from app.core.storage import StorageError, all_keys, stream_object
from app.tables import metadata
from likewise.backups.contents import (
    DATABASE,
    KEY,
    MANIFEST,
    PARTS,
    STORAGE,
    BackupFailed,
    Manifest,
    Part,
)
from likewise.backups.tools import find_tool, read_from

COUNTED = ("account", "collection", "image", "campaign", "answer", "model", "recruitment")


def write_backup(target: Path) -> Manifest:
    """Back up the installation of the settings into `target`, readable by its owner alone.

    Raises BackupFailed, NoTool, ToolFailed; `target` is there only if it is whole.
    """
    if target.exists():
        raise BackupFailed(f"{target} is there already. Give another name.")
    if not target.parent.is_dir():
        raise BackupFailed(f"There is no folder {target.parent}. Make it first.")
    try:
        with _finished_or_gone(target) as file:
            return _write(file)
    except (OSError, StorageError) as error:
        raise BackupFailed(f"No backup was made: {error}.") from error
    except DBAPIError as error:
        reason = str(error.orig).partition("\n")[0]
        raise BackupFailed(f"No backup was made, by the database: {reason}") from error


@contextmanager
def _finished_or_gone(target: Path) -> Iterator[IO[bytes]]:
    """A file under another name, which only its owner may read, that gets its own in the end."""
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.rename(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def _write(file: IO[bytes]) -> Manifest:
    with zipfile.ZipFile(file, "w") as archive, tempfile.TemporaryFile() as listed:
        parts = _Parts(archive, listed)
        with all_objects_kept():
            with snapshot() as session:
                told = _add_database(session, parts)
            parts.add(KEY, [get_settings().secret_key.get_secret_value().encode()])
            objects, object_bytes = _add_storage(parts)
        manifest = Manifest(
            **told,
            product_version=release(),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            objects=objects,
            object_bytes=object_bytes,
            parts_sha256=parts.end(),
        )
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=2))
        return manifest


class _Parts:
    """Adds members, and notes them in a list that becomes the last but one."""

    def __init__(self, archive: zipfile.ZipFile, listed: IO[bytes]) -> None:
        self._archive, self._listed = archive, listed
        self._now = datetime.now(UTC).timetuple()[:6]

    def add(self, name: str, pieces: Iterable[bytes]) -> Part:
        part = self._store(name, pieces, zipfile.ZIP_STORED)
        self._listed.write(part.model_dump_json().encode() + b"\n")
        return part

    def end(self) -> str:
        """SHA-256 of the list."""
        self._listed.seek(0)
        return self._store(PARTS, self._listed, zipfile.ZIP_DEFLATED).sha256

    def _store(self, name: str, pieces: Iterable[bytes], compression: int) -> Part:
        entry = zipfile.ZipInfo(name, self._now)
        entry.compress_type = compression
        entry.external_attr = 0o600 << 16
        digest, size = hashlib.sha256(), 0
        with self._archive.open(entry, "w", force_zip64=True) as member:
            for piece in pieces:
                member.write(piece)
                digest.update(piece)
                size += len(piece)
        return Part(name=name, size=size, sha256=digest.hexdigest())


def _add_database(session: Session, parts: _Parts) -> dict[str, object]:
    """The dump and what the manifest tells of it, as of the same moment."""
    # Nothing happens in this transaction while pg_dump reads.
    session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    moment = session.execute(text("SELECT pg_export_snapshot()")).scalar_one()
    postgres = int(session.execute(text("SHOW server_version_num")).scalar_one()) // 10_000
    tool, version = find_tool("pg_dump", postgres)
    options = ["--format=custom", f"--snapshot={moment}", "--no-owner", "--no-privileges"]
    parts.add(DATABASE, read_from(tool, get_settings().database_url, *options))
    rows = {
        name: session.scalar(select(func.count()).select_from(metadata.tables[name]))
        for name in COUNTED
    }
    return {
        "revision": database_revision(session),
        "postgres": postgres,
        "pg_dump": version,
        "rows": rows,
    }


def _add_storage(parts: _Parts) -> tuple[int, int]:
    """How many objects, and bytes of them all."""
    n, size = 0, 0
    for key in all_keys():
        try:
            pieces = stream_object(key)
            first = next(pieces, b"")
        except FileNotFoundError:
            # Not one that the database names: nothing of those is removed now.
            continue
        part = parts.add(STORAGE + key, _with(first, pieces))
        n, size = n + 1, size + part.size
    return n, size


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
