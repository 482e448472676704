"""Setting up row-level security: by migrations, and in servers of one's own."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from fastapi.testclient import TestClient
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import select, text

from app.campaigns.models import Campaign
from app.core import database
from app.core.database import transaction
from app.core.row_security import ROLE, row_security_problems
from app.operations.readiness import check_readiness
from app.tables import metadata
from testbed.builders import a_campaign, an_account, sign_in
from testbed.servers import Servers
from tests.conftest import forget_settings
from tests.support.migrations import alembic, migrate, query
from tests.support.row_security import as_requester


def test_it_goes_with_a_downgrade_and_comes_back_with_data(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    assert all(n > 0 for n in parts_of_the_wall(url))
    migrate(url, "downgrade", "0011")
    assert parts_of_the_wall(url) == [0, 0, 0, 0]
    migrate(url, "upgrade", "head")
    with transaction() as session:
        assert row_security_problems(session, metadata) == []
    with as_requester(ada) as session:
        assert [visible.id for visible in session.scalars(select(Campaign))] == [campaign.id]
        assert session.get(Campaign, foreign.id) is None


def parts_of_the_wall(url: str) -> list[int]:
    """Policies, tables behind them, functions that they call, and what the role may do."""
    parts = (
        "pg_policy",
        "pg_class WHERE relrowsecurity",
        "pg_proc WHERE proname ^@ 'likewise_'",
        f"information_schema.role_table_grants WHERE grantee = '{ROLE}'",
    )
    return [query(url, f"SELECT count(*) FROM {part}")[0][0] for part in parts]  # noqa: S608


@pytest.fixture
def plain_owner(servers: Servers) -> Iterator[tuple[str, str]]:
    """A user who owns a database and may nothing else, and the database's address."""
    user = f"owner_{uuid.uuid4().hex[:12]}"
    url = servers.postgres.create_database(f"test_{uuid.uuid4().hex}")
    address = url.replace("postgresql+psycopg://", "postgresql://")
    name = sql.Identifier(str(conninfo_to_dict(address)["dbname"]))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)))
        for statement in ("ALTER DATABASE {} OWNER TO {}", "ALTER SCHEMA public OWNER TO {1}"):
            connection.execute(sql.SQL(statement).format(name, sql.Identifier(user)))
    yield user, url.replace("//postgres:", f"//{user}:")
    database.get_engine().dispose()
    servers.drop_database(url)
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(user)))


def by_an_administrator(servers: Servers, statement: str, *names: str) -> None:
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def moved_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrate this database, and use it from here on."""
    alembic(url, "upgrade", "head")
    database.get_engine().dispose()
    monkeypatch.setenv("DATABASE_URL", url)
    forget_settings()


def test_an_owner_who_may_make_no_role_is_told_what_to_do(
    environment: dict[str, str],
    servers: Servers,
    plain_owner: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, url = plain_owner
    with pytest.raises(AssertionError) as refused:
        alembic(url, "upgrade", "head")
    message = str(refused.value)
    assert "NoRowSecurity" in message
    assert "Ask a PostgreSQL administrator to run this once" in message
    assert f"GRANT {ROLE} TO {user};" in message
    by_an_administrator(servers, "GRANT {} TO {}", ROLE, user)
    moved_to(url, monkeypatch)
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    with transaction() as session:
        assert session.scalar(text("SELECT current_user")) == user
        assert row_security_problems(session, metadata) == []
    with as_requester(ada) as session:
        assert session.get(Campaign, campaign.id) is not None
        assert session.get(Campaign, foreign.id) is None


def test_a_role_that_got_lost_is_told_and_nobody_is_let_in(
    environment: dict[str, str],
    servers: Servers,
    plain_owner: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, url = plain_owner
    by_an_administrator(servers, "GRANT {} TO {}", ROLE, user)
    moved_to(url, monkeypatch)
    from app.main import app

    with TestClient(app) as client:
        sign_in(client, an_account())
        assert client.get("/api/v1/campaigns").status_code == 200
        assert check_readiness().checks["database"] == "ok"
        by_an_administrator(servers, "REVOKE {} FROM {}", ROLE, user)
        refused = client.get("/api/v1/campaigns")
        assert (refused.status_code, refused.json()["code"]) == (503, "no_wall")
        assert "likewise migrate" in refused.json()["detail"]
    assert "likewise migrate" in check_readiness().checks["database"]


def test_what_everybody_may_elsewhere_is_granted_where_it_was_taken_away(
    environment: dict[str, str],
    servers: Servers,
    plain_owner: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No temporary tables for everybody, and tables in a schema of the user's own name."""
    user, url = plain_owner
    name = url.partition("?")[0].rpartition("/")[2]
    by_an_administrator(servers, "GRANT {} TO {}", ROLE, user)
    by_an_administrator(servers, "REVOKE ALL ON DATABASE {} FROM PUBLIC", name)
    address = url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(user)))
    moved_to(url, monkeypatch)
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    with transaction() as session:
        assert session.scalar(text("SELECT current_schema()")) == user
        assert row_security_problems(session, metadata) == []
    with as_requester(ada) as session:
        session.execute(text("CREATE TEMPORARY TABLE scratch (a int) ON COMMIT DROP"))
        assert session.get(Campaign, campaign.id) is not None
        assert session.get(Campaign, foreign.id) is None


def test_what_is_missing_and_not_ours_to_give_is_told(
    environment: dict[str, str], servers: Servers, plain_owner: tuple[str, str]
) -> None:
    user, url = plain_owner
    name = url.partition("?")[0].rpartition("/")[2]
    by_an_administrator(servers, "GRANT {} TO {}", ROLE, user)
    by_an_administrator(servers, "ALTER DATABASE {} OWNER TO postgres", name)
    by_an_administrator(servers, "REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC", name)
    with pytest.raises(AssertionError) as refused:
        alembic(url, "upgrade", "head")
    assert f"GRANT TEMPORARY ON DATABASE {name} TO {ROLE};" in str(refused.value)
    by_an_administrator(servers, "GRANT TEMPORARY ON DATABASE {} TO {}", name, ROLE)
    alembic(url, "upgrade", "head")
