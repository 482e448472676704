"""Real servers: one PostgreSQL and one Valkey a session, an empty database a test."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from likewise.embedded import EmbeddedPostgres, EmbeddedValkey
from testbed.databases import EMPTY, connect, empty_once_nobody_is_busy, others, shape

TEMPLATE = "likewise_template"
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Servers:
    """Running servers; `new_database()` is a migrated, empty database."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    # Databases that were lent, and their shapes when they were made.
    kept: list[tuple[str, str]] = field(default_factory=list)

    def new_database(self, template: str = TEMPLATE) -> str:
        return self.postgres.create_database(f"test_{uuid.uuid4().hex}", template)

    def empty_database(self, url: str) -> None:
        """As a new one, for processes that stay connected to it."""
        with connect(url) as connection:
            empty_once_nobody_is_busy(connection)

    @contextmanager
    def lent_database(self) -> Iterator[str]:
        """The address of an empty database, mostly of one that other tests have had: to make one
        takes longer than many a test."""
        if not self.kept:
            url = self.new_database()
            with connect(url) as connection:
                self.kept.append((url, shape(connection)))
        url, original = self.kept.pop()
        try:
            yield url
        finally:
            if self._is_unchanged(url, original):
                self.kept.append((url, original))
            else:
                self.drop_database(url)

    def _is_unchanged(self, url: str, original: str) -> bool:
        """Once emptied; never where somebody is still connected, or nobody can be."""
        try:
            with connect(url) as connection:
                if others(connection)[0] or shape(connection) != original:
                    return False
                connection.execute(EMPTY)
                return True
        except psycopg.Error as error:
            print(f"a test's database is not used again: {error}")
            return False

    def drop_database(self, url: str) -> None:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(self.postgres.uri, autocommit=True) as connection:
            statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(statement.format(sql.Identifier(name)))


@contextmanager
def running_servers(folder: Path) -> Iterator[Servers]:
    """Both servers over `folder`, with a migrated template database."""
    postgres, valkey = EmbeddedPostgres(folder / "postgres"), EmbeddedValkey(folder / "redis")
    try:
        postgres.start()
        forget_after_a_power_cut(postgres)
        valkey.start()
        url = postgres.create_database(TEMPLATE)
        environment = {
            "DATABASE_URL": url,
            "REDIS_URL": valkey.url,
            "LIKEWISE_SECRET_KEY": "test",
            "LIKEWISE_DATA": str(folder / "data"),
        }
        subprocess.run(
            [sys.executable, "-m", "alembic", "upgrade", "head"],
            cwd=ROOT,
            env={**environment, "PATH": "/usr/bin:/bin"},
            check=True,
        )
        yield Servers(postgres, valkey)
    finally:
        valkey.stop()
        postgres.stop()


def forget_after_a_power_cut(postgres: EmbeddedPostgres) -> None:
    """Nothing waits for the disk: no test cuts power, and our own processes lose nothing when they
    are killed. PostgreSQL does: anything that ends it at once resets synchronous_commit before."""
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")
