"""Setting up row-level security: by migrations, and in servers of one's own."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import select, text

from app.campaigns.models import Campaign
from app.core import database
from app.core.database import transaction
from app.core.wall import ROLE, breaches
from app.tables import metadata
from tests.app.test_row_security import as_requester
from tests.conftest import forget_settings
from tests.setup.test_migrations import alembic, migrate, query
from tests.support.builders import a_campaign, an_account
from tests.support.servers import Servers


def test_it_goes_with_a_downgrade_and_comes_back_with_data(environment: dict[str, str]) -> None:
    url = environment["DATABASE_URL"]
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    assert all(n > 0 for n in parts_of_the_wall(url))
    migrate(url, "downgrade", "0011")
    assert parts_of_the_wall(url) == [0, 0, 0, 0]
    migrate(url, "upgrade", "head")
    with transaction() as session:
        assert breaches(session, metadata) == []
    with as_requester(ada) as session:
        assert [one.id for one in session.scalars(select(Campaign))] == [campaign.id]
        assert session.get(Campaign, foreign.id) is None


def parts_of_the_wall(url: str) -> list[int]:
    """Policies, tables behind them, functions that they call, and what the role may do."""
    parts = (
        "pg_policy",
        "pg_class WHERE relrowsecurity",
        "pg_proc WHERE proname ^@ 'likewise_'",
        f"information_schema.role_table_grants WHERE grantee = '{ROLE}'",
    )
    return [query(url, f"SELECT count(*) FROM {one}")[0][0] for one in parts]  # noqa: S608


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


def test_an_owner_who_may_make_no_role_is_told_what_to_do(
    environment: dict[str, str],
    servers: Servers,
    plain_owner: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, url = plain_owner
    with pytest.raises(AssertionError) as refused:
        alembic(url, "upgrade", "head")
    said = str(refused.value)
    assert "NoWall" in said
    assert "An administrator of PostgreSQL runs this once" in said
    assert f"GRANT {ROLE} TO {user};" in said
    with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
        statement = sql.SQL("GRANT {} TO {}").format(sql.Identifier(ROLE), sql.Identifier(user))
        connection.execute(statement)
    alembic(url, "upgrade", "head")
    database.get_engine().dispose()
    monkeypatch.setenv("DATABASE_URL", url)
    forget_settings()
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    with transaction() as session:
        assert session.scalar(text("SELECT current_user")) == user
        assert breaches(session, metadata) == []
    with as_requester(ada) as session:
        assert session.get(Campaign, campaign.id) is not None
        assert session.get(Campaign, foreign.id) is None
