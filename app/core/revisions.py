"""Which migrations this code has, and which of them the database has seen."""

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
    """The revision that this code works with."""
    return str(_scripts().get_current_head())


def knows_revision(revision: str) -> bool:
    """Whether this code can migrate from there."""
    try:
        return _scripts().get_revision(revision) is not None
    except CommandError:
        return False


def database_revision(session: Session) -> str:
    """Where the database is; raises `sqlalchemy.exc.ProgrammingError` when it is empty."""
    return str(session.execute(text("SELECT version_num FROM alembic_version")).scalar())
