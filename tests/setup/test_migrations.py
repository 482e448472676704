"""Migrations: they agree with the models, and run down and up on a database that holds data."""

import os
import subprocess
import sys
import uuid

import psycopg
import pytest

from app.core import database
from app.core.database import transaction
from app.tables import metadata
from tests.conftest import forget_settings
from tests.support.builders import a_campaign, reloaded
from tests.support.servers import ROOT, Servers


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


def tables(url: str) -> set[str]:
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://")) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        return {str(row[0]) for row in connection.execute(query)}


def test_models_and_migrations_agree(environment: dict[str, str]) -> None:
    assert "No new upgrade operations detected" in alembic(environment["DATABASE_URL"], "check")


def test_down_and_up_again_on_a_database_that_holds_data(
    servers: Servers, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers.postgres.create_database(f"test_{uuid.uuid4().hex}")
    database.get_engine().dispose()
    monkeypatch.setenv("DATABASE_URL", url)
    forget_settings()
    try:
        alembic(url, "upgrade", "head")
        campaign = a_campaign()
        assert reloaded(campaign.id).n_images == 30
        database.get_engine().dispose()

        alembic(url, "downgrade", "base")
        assert tables(url) == {"alembic_version"}
        alembic(url, "upgrade", "head")
        assert tables(url) == {*metadata.tables, "alembic_version"}
        assert "No new upgrade operations detected" in alembic(url, "check")
        with transaction() as session:
            assert [session.query(table).count() for table in metadata.sorted_tables] == [0] * len(
                metadata.tables
            )
    finally:
        database.get_engine().dispose()
        servers.drop_database(url)


def test_cen_settings_are_translated_both_ways(
    servers: Servers, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = servers.postgres.create_database(f"test_{uuid.uuid4().hex}")
    database.get_engine().dispose()
    monkeypatch.setenv("DATABASE_URL", url)
    forget_settings()

    def settings() -> dict[str, object]:
        plain = url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(plain) as connection:
            row = connection.execute("SELECT settings FROM campaign").fetchone()
        assert row is not None
        found: dict[str, object] = row[0]
        return found

    try:
        alembic(url, "upgrade", "head")
        chosen = {"n_dimensions": 3, "attribute_share": 0.25, "uncertain_share": 0.25}
        a_campaign(settings=chosen)
        database.get_engine().dispose()
        alembic(url, "downgrade", "0001")
        assert settings() == {"n_dimensions": 3, "variant": "mixture", "random_share": 0.5}
        alembic(url, "upgrade", "head")
        assert settings() == {
            "n_dimensions": 3,
            "variant": "mixture",
            "attribute_share": 0.5,
            "uncertain_share": 0.0,
            "focus": None,
        }
    finally:
        database.get_engine().dispose()
        servers.drop_database(url)
