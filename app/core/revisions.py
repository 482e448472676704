"""Compares the migrations of this code with those that the database has."""

from functools import lru_cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import text
from sqlalchemy.orm import Session

CONFIGURATION = Path(__file__).parents[2] / "alembic.ini"


@lru_cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(Config(CONFIGURATION))


@lru_cache
def newest_revision() -> str:
    """Return the revision that this code works with."""
    return str(_scripts().get_current_head())


def knows_revision(revision: str) -> bool:
    """Tell whether this code can migrate from that revision."""
    try:
        return _scripts().get_revision(revision) is not None
    except CommandError:
        return False


def database_revision(session: Session) -> str:
    """Return the database's revision; raises `sqlalchemy.exc.ProgrammingError` when it is empty."""
    return str(session.execute(text("SELECT version_num FROM alembic_version")).scalar())
