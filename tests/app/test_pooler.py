"""Behind PgBouncer in transaction mode: nothing relies on a session of PostgreSQL."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.collections.garbage import all_objects_kept
from app.core.database import snapshot, transaction
from app.core.row_security import ROLE, scope_to_account
from likewise.backups.tools import libpq_address
from testbed.pooler import Pooler, needs_pooler, running_pooler
from testbed.settings import used_here

pytestmark = needs_pooler
NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
LIMITS = ["1min", "30s", "5min"]


@pytest.fixture
def pooler(environment: dict[str, str], tmp_path: Path) -> Iterator[Pooler]:
    """With a single session for everybody, so that whatever one leaves there the next one meets."""
    direct = environment["DATABASE_URL"]
    with running_pooler(direct, tmp_path / "pooler", sessions=1) as running:
        with used_here({**environment, **running.settings_over(direct)}):
            yield running


def shown(session: Session, *names: str) -> list[str]:
    return [str(session.scalar(text(f"SHOW {name}"))) for name in names]


def backend(session: Session) -> int:
    return int(session.scalar(text("SELECT pg_backend_pid()")) or 0)


def test_transactions_have_their_limits_and_leave_none_behind(pooler: Pooler) -> None:
    with transaction() as session:
        assert shown(session, *NAMES) == LIMITS
        first = backend(session)
        with session.begin_nested() as savepoint:
            session.execute(text("SET LOCAL lock_timeout = 0"))
            savepoint.rollback()
        assert shown(session, *NAMES) == LIMITS
    with snapshot() as session:
        assert shown(session, *NAMES) == ["0", "30s", "0"]
        assert backend(session) == first
    # Another client of the pooler gets the same session, as PostgreSQL has begun it.
    with psycopg.connect(libpq_address(os.environ["DATABASE_URL"]), autocommit=True) as other:
        left = [other.execute(f"SHOW {name}").fetchone() for name in NAMES]
    assert left == [("0",), ("0",), ("0",)]


def test_statements_are_not_prepared(pooler: Pooler) -> None:
    for _ in range(20):
        with transaction() as session:
            session.execute(text("SELECT :number"), {"number": 1})
    with transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM pg_prepared_statements")) == 0


def test_the_wall_stands_for_one_transaction(pooler: Pooler) -> None:
    who = text("SELECT current_user, current_setting('likewise.account_id', true)")
    account_id = uuid4()
    with transaction() as session:
        owner, before = session.execute(who).one()
        first = backend(session)
    with transaction() as session:
        scope_to_account(session, account_id)
        assert session.execute(who).one() == (ROLE, str(account_id))
        assert backend(session) == first
    with transaction() as session:
        assert backend(session) == first
        assert session.execute(who).one() == (owner, "")
    assert not before


def test_a_session_of_its_own_keeps_its_lock_and_others_go_on(pooler: Pooler) -> None:
    held = text("SELECT pid FROM pg_locks WHERE locktype = 'advisory'")
    with all_objects_kept(), transaction() as session:
        (holder,) = session.scalars(held)
        assert holder != backend(session)
    with transaction() as session:
        assert session.scalars(held).all() == []


def test_a_pooler_that_starts_again_is_noticed(pooler: Pooler) -> None:
    with transaction() as session:
        session.execute(text("SELECT 1"))
    pooler.kill()
    with pytest.raises(OperationalError), transaction() as session:
        session.execute(text("SELECT 1"))
    pooler.start()
    with transaction() as session:
        assert shown(session, *NAMES) == LIMITS
