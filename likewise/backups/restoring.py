"""Restoring a backup to an empty installation, completely or not at all."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.core.storage import (
    StorageError,
    all_keys,
    delete_everything,
    put_object,
    put_pieces,
    storage_reason,
)
from likewise import environment
from likewise.backups.contents import DATABASE, STORAGE, CannotRestore, Manifest, Part
from likewise.backups.reading import Backup, opened
from likewise.backups.tools import find_tool, libpq_address, write_to
from likewise.embedded import EmbeddedPostgres

# Counts what is not part of an extension.
IN_DATABASE = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
  AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
  AND NOT EXISTS (SELECT FROM pg_depend
                  WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
"""
# What an installation stores in its data folder. With an external database, other files may be
# there too, and are left alone.
OURS = ("postgres", "secret_key", "runtime.env", environment.RESTORING)
STORED_AT_ONCE = 8 * 2**20


@dataclass(frozen=True)
class Place:
    """Where a backup is restored.

    database_url: of PostgreSQL itself; empty for an embedded server in the folder
    stored_elsewhere: whether STORAGE_URL is set
    has_secret_key: whether LIKEWISE_SECRET_KEY is set
    """

    folder: Path
    database_url: str
    stored_elsewhere: bool
    has_secret_key: bool

    def check(self, backup: Backup) -> None:
        """Raises CannotRestore unless the place is empty and can take this backup."""
        self._check_folder()
        if self.stored_elsewhere and next(all_keys(), None) is not None:
            raise CannotRestore("The storage at STORAGE_URL is not empty. Choose an empty one.")
        if self.database_url:
            self._check_database(backup.manifest)

    def _check_folder(self) -> None:
        names = [entry.name for entry in self.folder.iterdir()] if self.folder.exists() else []
        if self.database_url:
            storage = self.folder / "storage"
            in_storage = not self.stored_elsewhere and storage.exists() and any(storage.iterdir())
            names = [name for name in names if name in OURS or (name == "storage" and in_storage)]
        if names:
            raise CannotRestore(
                f"{self.folder} is not empty: {', '.join(sorted(names)[:4])}. A restore never "
                "overwrites data. Choose a new folder with --into, or move this one away."
            )

    def _check_database(self, manifest: Manifest) -> None:
        with psycopg.connect(libpq_address(self.database_url), connect_timeout=10) as connection:
            version = _major(connection)
            [there] = connection.execute(IN_DATABASE).fetchone() or (0,)
        if there:
            raise CannotRestore("The database at DATABASE_URL is not empty. Choose an empty one.")
        if version < manifest.postgres:
            raise CannotRestore(
                f"The backup comes from PostgreSQL {manifest.postgres}, but the server at "
                f"DATABASE_URL has version {version}. Restore to {manifest.postgres} or newer."
            )

    def fill(self, backup: Backup) -> None:
        """Restore storage before the database, which then never names a missing object."""
        for part in backup.objects():
            _store(backup, part)
        if not self.has_secret_key:
            environment.write_private(self.folder / "secret_key", backup.secret_key())
        if self.database_url:
            _load(backup, self.database_url)
            return
        postgres = EmbeddedPostgres(self.folder / "postgres")
        try:
            postgres.start()
            url = postgres.create_database("likewise")
            _load(backup, url)
            _migrate(url)
        finally:
            postgres.stop()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Keep `likewise up` from using the folder during the block; undo all after an error."""
        created = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / environment.RESTORING).touch()
        try:
            yield
        except BaseException:
            self._empty()
            with suppress(OSError):
                for folder in created:
                    folder.rmdir()
            raise
        (self.folder / environment.RESTORING).unlink()

    def _empty(self) -> None:
        delete_everything()
        if not self.database_url:
            shutil.rmtree(self.folder / "postgres", ignore_errors=True)
        if not self.stored_elsewhere:
            shutil.rmtree(self.folder / "storage", ignore_errors=True)
        if not self.has_secret_key:
            (self.folder / "secret_key").unlink(missing_ok=True)
        (self.folder / environment.RESTORING).unlink()


def restore_backup(file: Path, folder: Path) -> Manifest:
    """Restore `file` to `folder`, and to what DATABASE_URL and STORAGE_URL name.

    Everything is checked before anything is changed. Raises BadBackup, CannotRestore, NoTool,
    ToolFailed.
    """
    with opened(file) as backup:
        backup.check_revision()
        place = _place(folder, backup.secret_key())
        try:
            place.check(backup)
            backup.check_parts()
            with place.begun():
                place.fill(backup)
        except StorageError as error:
            raise CannotRestore(f"Nothing was restored: {storage_reason(error)}") from error
        except (OSError, psycopg.Error) as error:
            raise CannotRestore(f"Nothing was restored: {str(error).strip()}") from error
        if place.database_url:
            _migrate(place.database_url)
        return backup.manifest


def check_backup(file: Path) -> Manifest:
    """Raises BadBackup unless this Likewise can restore the file."""
    with opened(file) as backup:
        backup.check_revision()
        backup.check_parts()
        return backup.manifest


def _place(folder: Path, key: str) -> Place:
    """The place that the environment names. Also sets the variables for this process's settings."""
    given, url, direct = (
        os.environ.get(name, "")
        for name in ("LIKEWISE_SECRET_KEY", "DATABASE_URL", "LIKEWISE_DIRECT_DATABASE_URL")
    )
    if given and given != key:
        raise CannotRestore(
            "LIKEWISE_SECRET_KEY differs from the backup's key. Unset it, or set it to what "
            "`unzip -p FILE secret_key` shows: without that key, links and credentials are lost."
        )
    os.environ.update(LIKEWISE_DATA=str(folder), LIKEWISE_SECRET_KEY=key)
    # Settings require these too, although a restore only uses them to reach storage.
    os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:6379/0")
    os.environ.setdefault("DATABASE_URL", "postgresql+psycopg://")
    # pg_restore cannot work through a pooler.
    return Place(folder, url and (direct or url), bool(os.environ.get("STORAGE_URL")), bool(given))


def _store(backup: Backup, part: Part) -> None:
    key, pieces = part.name.removeprefix(STORAGE), backup.pieces(part.name)
    if part.size <= STORED_AT_ONCE:
        put_object(key, b"".join(pieces))
    else:
        put_pieces(key, pieces)


def _load(backup: Backup, url: str) -> None:
    """Load the dump in one transaction, so that it is loaded completely or not at all."""
    with psycopg.connect(libpq_address(url)) as connection:
        at_least = max(_major(connection), backup.manifest.pg_dump)
    tool, _ = find_tool("pg_restore", at_least)
    # Only an extension's owner, who may be another user, can set its comment.
    options = ["--single-transaction", "--no-owner", "--no-privileges", "--no-comments"]
    write_to(tool, url, backup.pieces(DATABASE), *options)


def _major(connection: psycopg.Connection) -> int:
    return connection.info.server_version // 10_000


def _migrate(url: str) -> None:
    """Migrate, even if there are no new migrations.

    A backup has the row-security policies but not their role. The role belongs to the server, and
    gets its rights after migrations.
    """
    done = subprocess.run(
        [sys.executable, "-m", "likewise.cli", "migrate"],
        env={**os.environ, "DATABASE_URL": url, "LIKEWISE_DIRECT_DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = done.stderr.strip().splitlines()[-1:] or ["unknown reason."]
        raise CannotRestore(
            f"The database was restored but could not be migrated: {words[0]} If DATABASE_URL "
            "is set, run `likewise migrate` to try again."
        )
