"""Backing up a running system.

The order makes the backup consistent. First, nothing is removed from storage any more. Then the
database is read in one snapshot, and then storage, which has every object that the snapshot names.
Objects that were added to storage in the meantime are included and do no harm.
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

from app.collections.garbage import all_objects_kept
from app.core.database import get_direct_engine, snapshot
from app.core.openapi import release
from app.core.revisions import database_revision
from app.core.settings import get_settings
from app.core.storage import StorageError, all_keys, storage_reason, stream_object
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
    """Back up the installation that the settings name to `target`, which only its owner can read.

    Raises BackupFailed, NoTool, ToolFailed; then `target` does not exist.
    """
    if target.exists():
        raise BackupFailed(f"{target} already exists. Choose another name.")
    if not target.parent.is_dir():
        raise BackupFailed(f"The folder {target.parent} does not exist. Create it first.")
    try:
        with _finished_or_gone(target) as file:
            return _write(file)
    except (OSError, StorageError) as error:
        raise BackupFailed(f"No backup was made: {storage_reason(error)}.") from error
    except DBAPIError as error:
        reason = str(error.orig).partition("\n")[0]
        raise BackupFailed(f"No backup was made. The database reported: {reason}") from error


@contextmanager
def _finished_or_gone(target: Path) -> Iterator[IO[bytes]]:
    """Yield a private file that gets the name `target` at the end, and is deleted on errors."""
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
            with snapshot(get_direct_engine()) as session:
                database_facts = _add_database(session, parts)
            parts.add(KEY, [get_settings().secret_key.get_secret_value().encode()])
            objects, object_bytes = _add_storage(parts)
        manifest = Manifest(
            **database_facts,
            product_version=release(),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            objects=objects,
            object_bytes=object_bytes,
            parts_sha256=parts.end(),
        )
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=2))
        return manifest


class _Parts:
    """Adds members to the ZIP file and lists them for the member parts.jsonl."""

    def __init__(self, archive: zipfile.ZipFile, listed: IO[bytes]) -> None:
        self._archive, self._listed = archive, listed
        self._now = datetime.now(UTC).timetuple()[:6]

    def add(self, name: str, pieces: Iterable[bytes]) -> Part:
        part = self._store(name, pieces, zipfile.ZIP_STORED)
        self._listed.write(part.model_dump_json().encode() + b"\n")
        return part

    def end(self) -> str:
        """Write the list of parts; returns its SHA-256."""
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
    """Add the dump; returns what the manifest says about it, from the same snapshot."""
    # This transaction is idle while pg_dump reads.
    session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    moment = session.execute(text("SELECT pg_export_snapshot()")).scalar_one()
    postgres = int(session.execute(text("SHOW server_version_num")).scalar_one()) // 10_000
    tool, version = find_tool("pg_dump", postgres)
    options = ["--format=custom", f"--snapshot={moment}", "--no-owner", "--no-privileges"]
    parts.add(DATABASE, read_from(tool, get_settings().direct_url, *options))
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
    """Add all objects; returns their number and their total size in bytes."""
    n, size = 0, 0
    for key in all_keys():
        try:
            pieces = stream_object(key)
            first = next(pieces, b"")
        except FileNotFoundError:
            # The database does not name this object: those that it names are not removed now.
            continue
        part = parts.add(STORAGE + key, _with(first, pieces))
        n, size = n + 1, size + part.size
    return n, size


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
