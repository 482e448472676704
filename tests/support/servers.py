"""Real servers for tests: one PostgreSQL and one Valkey a session, a database a test."""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from likewise.embedded import EmbeddedPostgres, EmbeddedValkey

TEMPLATE = "likewise_template"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Servers:
    """Running servers; `new_database()` is a migrated, empty database."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey

    def new_database(self, template: str = TEMPLATE) -> str:
        return self.postgres.create_database(f"test_{uuid.uuid4().hex}", template)

    def empty_database(self, url: str) -> None:
        """As a new one, for processes that stay connected to it."""
        address = url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(address, autocommit=True) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables "
                "WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
            ).fetchall()
            names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in tables)
            statement = sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names)
            _once_nobody_is_busy(connection, statement)

    def drop_database(self, url: str) -> None:
        name = url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(self.postgres.uri, autocommit=True) as connection:
            statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(statement.format(sql.Identifier(name)))


def _once_nobody_is_busy(connection: psycopg.Connection, statement: sql.Composed) -> None:
    """A page that was closed may have sent its last words, which the server still writes down."""
    connection.execute("SET lock_timeout = '5s'")
    busy = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"
    )
    deadline = time.monotonic() + 30
    while True:
        row = connection.execute(busy).fetchone()
        try:
            if row == (0,):
                connection.execute(statement)
                return
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, "somebody keeps a transaction open"
        time.sleep(0.02)


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
    are killed. PostgreSQL does: whoever ends it at once resets synchronous_commit before."""
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")
