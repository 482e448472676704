"""Fixtures: real PostgreSQL and Valkey; every test has a fresh or an emptied database."""

import gc
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import Browser

from app import tables
from testbed.browser import chromium
from testbed.servers import Servers, running_servers
from testbed.settings import forget_settings, used_here
from testbed.system import System, running_system
from tests.support.scale import FULL

# Services are called here as in every process, with all tables and answers to hooks.
__all__ = ["forget_settings", "settings_over", "tables", "used_here"]

# How long an example takes says how busy the machine is.
hypothesis_settings.register_profile("likewise", deadline=None)
hypothesis_settings.load_profile("likewise")


# They take longest: begun first, what is left for the end is short, and no core waits for another.
LONGEST = {"acceptance", "system", "setup"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(tests).parts[0] not in LONGEST)


def pytest_collection_finish() -> None:
    """What was loaded stays: looking for cycles in it again and again takes a sixth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    # A short path of our own: PostgreSQL's socket lies in it, and as root the server runs as
    # another user, who must be able to walk there.
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with running_servers(Path(folder)) as running:
            yield running


def settings_over(servers: Servers, database_url: str, folder: Path) -> dict[str, str]:
    # Systems of several tests share the machine: what gives way too far waits for all of them.
    less = {"LIKEWISE_TRAINING_NICENESS": "10", "LIKEWISE_HEAVY_NICENESS": "3"}
    return {
        **({} if FULL else less),
        "DATABASE_URL": database_url,
        "REDIS_URL": servers.valkey.url,
        "LIKEWISE_SECRET_KEY": "test-secret-of-many-letters-0123456789",
        "LIKEWISE_DATA": str(folder / "data"),
        "LIKEWISE_BASE_URL": "http://testserver",
        # Of clients in this process, beside a web server that goes by another name.
        "LIKEWISE_ALLOWED_HOSTS": "testserver",
    }


@pytest.fixture
def environment(servers: Servers, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An empty database and storage, and settings that point to them."""
    with servers.lent_database() as url:
        values = settings_over(servers, url, tmp_path)
        with used_here(values):
            yield values


@pytest.fixture
def client(environment: dict[str, str]) -> Iterator[TestClient]:
    """The application, called in-process. One for all tests: its routes are built by its first
    request."""
    from app.main import app

    with TestClient(app, raise_server_exceptions=True) as test_client:
        yield test_client


@pytest.fixture
def own_system(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    """All processes of one test, with its settings; this process has the same ones."""
    with running_system(environment, tmp_path) as running, used_here(running.environment):
        yield running


@pytest.fixture(scope="session")
def whole_system(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    url, folder = servers.new_database(), tmp_path_factory.mktemp("system")
    with running_system(settings_over(servers, url, folder), folder) as running:
        yield running
    servers.drop_database(url)


@pytest.fixture
def system(servers: Servers, whole_system: System) -> Iterator[System]:
    """All processes, over an empty database: started once, as they take seconds to load."""
    for name in ("web", "worker", "dispatcher"):
        whole_system.start_missing(name)
    servers.empty_database(whole_system.environment["DATABASE_URL"])
    whole_system.empty_redis()
    with used_here(whole_system.environment):
        yield whole_system
    whole_system.learn_secrets()
    whole_system.assert_silence()
    whole_system.forget_logs()
    if whole_system.trainers():
        # What it learns is of a database that the next test empties.
        whole_system.kill("worker")


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    """Settings of the module's web server; a module may have its own."""
    return {}


@pytest.fixture(scope="session")
def webs(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[dict[str, str]], System]]:
    """Web servers by their settings, each started once: it takes seconds to load its libraries."""
    running: dict[tuple[tuple[str, str], ...], System] = {}
    with ExitStack() as stack:

        def with_settings(settings: dict[str, str]) -> System:
            key = tuple(sorted(settings.items()))
            if key not in running:
                url, folder = servers.new_database(), tmp_path_factory.mktemp("web")
                stack.callback(servers.drop_database, url)
                values = settings_over(servers, url, folder)
                running[key] = stack.enter_context(
                    running_system(values, folder, "web", **settings)
                )
            return running[key]

        yield with_settings


@pytest.fixture(scope="module")
def web_of_module(
    webs: Callable[[dict[str, str]], System], web_settings: dict[str, str]
) -> Iterator[System]:
    """Its log has what the module's tests made it write, and tells nothing it must not."""
    system = webs(web_settings)
    yield system
    system.assert_silence()
    system.forget_logs()


@pytest.fixture
def web(servers: Servers, web_of_module: System) -> Iterator[System]:
    """The web server alone, over an empty database, for tests that need no learning."""
    web_of_module.start_missing("web")
    servers.empty_database(web_of_module.environment["DATABASE_URL"])
    web_of_module.empty_redis()
    with used_here(web_of_module.environment):
        yield web_of_module
    # The next test empties the database.
    web_of_module.learn_secrets()


@pytest.fixture(scope="module")
def chromium_of_module() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def browser(chromium_of_module: Browser) -> Iterator[Browser]:
    """Chromium; what a test has opened in it is closed at its end, and asks no server any more."""
    yield chromium_of_module
    for context in chromium_of_module.contexts:
        context.close()
