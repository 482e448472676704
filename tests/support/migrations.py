"""Running migrations on the database that a test works with, and looking at what it holds then."""

import os
import subprocess
import sys
from typing import Any, LiteralString

import psycopg

from app.core import database
from testbed.servers import ROOT


def alembic(url: str, *arguments: str) -> str:
    """Run alembic on a database; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def migrate(url: str, direction: str, revision: str) -> None:
    """Run alembic on the database that this process works with."""
    database.get_engine().dispose()
    alembic(url, direction, revision)


def query(url: str, statement: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://")) as connection:
        return connection.execute(statement).fetchall()


def tables(url: str) -> set[str]:
    rows = query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {str(row[0]) for row in rows}


def settings(url: str) -> dict[str, object]:
    """Those of the only campaign."""
    [(stored,)] = query(url, "SELECT settings FROM campaign")
    return dict(stored)


def rounds(url: str) -> list[tuple[Any, ...]]:
    """Number, state, answers and answers wanted of each."""
    return query(url, "SELECT number, state, n_answers, n_wanted FROM round ORDER BY number")


def answers(url: str) -> list[tuple[Any, ...]]:
    return query(url, "SELECT id, grid_id, state, groups FROM answer ORDER BY id")
