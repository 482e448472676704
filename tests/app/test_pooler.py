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
from typer.testing import CliRunner

from app.accounts.models import Account
from app.collections.garbage import all_objects_kept
from app.core.database import snapshot, transaction
from app.core.row_security import ROLE, row_security_problems, scope_to_account
from app.tables import metadata
from likewise.backups.tools import libpq_address
from likewise.cli import cli
from testbed.builders import an_account
from testbed.pooler import Pooler, needs_pooler, running_pooler
from testbed.servers import Servers
from testbed.settings import used_here
from tests.setup.test_up import command

pytestmark = needs_pooler
NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
ADDRESSES = ("DATABASE_URL", "LIKEWISE_DIRECT_DATABASE_URL")
REQUIRED = ("REDIS_URL", "LIKEWISE_SECRET_KEY")
LIMITS = ["1min", "30s", "5min"]


@pytest.fixture
def pooler(environment: dict[str, str], tmp_path: Path) -> Iterator[Pooler]:
    """With a single session for everybody, so that whatever one leaves there the next one meets."""
    direct = environment["DATABASE_URL"]
    with (
        running_pooler(direct, tmp_path / "pooler", sessions=1) as running,
        used_here({**environment, **running.settings_over(direct)}),
    ):
        yield running


def shown(session: Session, *names: str) -> list[str]:
    return [str(session.scalar(text(f"SHOW {name}"))) for name in names]


def used(*names: str) -> dict[str, str]:
    """Settings of this process, for commands."""
    return {name: os.environ[name] for name in names}


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


def of_doctor(**settings: str) -> str:
    """What it says of PostgreSQL."""
    with used_here(settings):
        lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
    return next(line for line in lines if "PostgreSQL" in line)


def test_doctor_sees_where_the_addresses_lead(pooler: Pooler, servers: Servers) -> None:
    assert of_doctor().startswith("ok ")
    assert of_doctor().endswith("through a pooler")
    through, direct = (os.environ[name] for name in ADDRESSES)
    refused = of_doctor(LIKEWISE_DIRECT_DATABASE_URL="")
    assert "FAIL" in refused
    assert "Set DATABASE_URL to the pooler's address" in refused
    assert "Set DATABASE_URL to the pooler's" in of_doctor(LIKEWISE_DIRECT_DATABASE_URL=through)
    assert of_doctor(DATABASE_URL=direct, LIKEWISE_DIRECT_DATABASE_URL="").startswith("ok ")
    with servers.lent_database() as other:
        elsewhere = of_doctor(LIKEWISE_DIRECT_DATABASE_URL=other)
        assert "lead to different databases" in elsewhere


def test_doctor_sees_a_pooler_that_ignores_options(pooler: Pooler) -> None:
    """As many are set up for other programs: nothing is refused, and nothing has its limits."""
    with (pooler.folder / "pgbouncer.ini").open("a") as file:
        file.write("ignore_startup_parameters = options\n")
    pooler.kill()
    pooler.start()
    assert "so it is a pooler" in of_doctor(LIKEWISE_DIRECT_DATABASE_URL="")


def test_a_pooler_of_which_the_settings_say_nothing_is_an_error_in_a_line(
    pooler: Pooler, tmp_path: Path
) -> None:
    refused = command(tmp_path, "migrate", **used("DATABASE_URL", *REQUIRED))
    assert refused.returncode == 1
    assert refused.stderr.startswith("likewise: A pooler answers where PostgreSQL itself")
    assert len(refused.stderr.splitlines()) == 1


def test_a_pooler_that_starts_again_is_noticed(pooler: Pooler) -> None:
    with transaction() as session:
        session.execute(text("SELECT 1"))
    pooler.kill()
    with pytest.raises(OperationalError), transaction() as session:
        session.execute(text("SELECT 1"))
    pooler.start()
    with transaction() as session:
        assert shown(session, *NAMES) == LIMITS


def test_a_backup_and_a_restore_go_past_the_pooler(
    pooler: Pooler, servers: Servers, tmp_path: Path
) -> None:
    account = an_account()
    file = tmp_path / "backup.zip"
    backed_up = command(tmp_path, "backup", str(file), **used(*ADDRESSES, *REQUIRED))
    assert backed_up.returncode == 0, backed_up.stderr
    url = servers.new_database("template1")
    values = {**used(*REQUIRED), **pooler.settings_over(url)}
    restored = command(tmp_path, "restore", str(file), "--into", str(tmp_path / "new"), **values)
    assert restored.returncode == 0, restored.stderr
    with used_here(values), transaction() as session:
        assert session.get_one(Account, account.id).email == account.email
        assert row_security_problems(session, metadata) == []
    servers.drop_database(url)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("DATABASE_URL", "mysql://u:secret@db/x", "DATABASE_URL: an address of PostgreSQL begins"),
        (
            "LIKEWISE_DIRECT_DATABASE_URL",
            "db:5432",
            "LIKEWISE_DIRECT_DATABASE_URL: an address of PostgreSQL begins",
        ),
    ],
)
def test_an_address_that_cannot_be_is_an_error_in_a_line(
    environment: dict[str, str], tmp_path: Path, name: str, value: str, problem: str
) -> None:
    for arguments in (["serve"], ["migrate"]):
        refused = command(tmp_path, *arguments, **{**environment, name: value})
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"likewise: {problem}")
        assert "secret" not in refused.stderr


def test_platforms_name_no_driver(environment: dict[str, str]) -> None:
    direct = environment["DATABASE_URL"].replace("postgresql+psycopg://", "postgres://")
    with used_here({"DATABASE_URL": direct}), transaction() as session:
        assert session.scalar(text("SELECT 1")) == 1


def test_up_needs_the_pooler_s_address_too(tmp_path: Path) -> None:
    refused = command(tmp_path, "up", LIKEWISE_DIRECT_DATABASE_URL="postgresql://db/likewise")
    assert refused.returncode == 1
    assert "LIKEWISE_DIRECT_DATABASE_URL is set, but DATABASE_URL is not" in refused.stderr
