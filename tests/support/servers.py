"""Real servers for tests: one PostgreSQL and one Valkey a session, a database a test."""

import subprocess
import sys
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
