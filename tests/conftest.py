"""Fixtures: real PostgreSQL and Valkey; every test has a fresh database."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.accounts import passwords
from app.core import database, events, settings, storage
from tests.support.servers import Servers, running_servers
from tests.support.system import System, running_system


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    # A short path of our own: PostgreSQL's socket lies in it, and as root the server runs as
    # another user, who must be able to walk there.
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with running_servers(Path(folder)) as running:
            yield running


@pytest.fixture
def environment(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """A fresh database and storage, and settings that point to them."""
    url = servers.new_database()
    values = {
        "DATABASE_URL": url,
        "REDIS_URL": servers.valkey.url,
        "LIKEWISE_SECRET_KEY": "test-secret",
        "LIKEWISE_DATA": str(tmp_path / "data"),
        "LIKEWISE_BASE_URL": "http://testserver",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    forget_settings()
    yield values
    database.get_engine().dispose()
    forget_settings()
    servers.drop_database(url)


def forget_settings() -> None:
    """Everything that was made from settings is made anew at its next use."""
    settings.get_settings.cache_clear()
    database.get_engine.cache_clear()
    database.session_factory.cache_clear()
    storage._store.cache_clear()
    events._redis.cache_clear()
    passwords._storage.cache_clear()
    passwords._memory.cache_clear()


@pytest.fixture
def client(environment: dict[str, str]) -> Iterator[TestClient]:
    """The application, called in-process."""
    from app.main import create_app

    with TestClient(create_app(), raise_server_exceptions=True) as test_client:
        yield test_client


@pytest.fixture
def system(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[System]:
    """All processes, started; this process has the same settings."""
    with running_system(environment, tmp_path) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        forget_settings()
        yield running
