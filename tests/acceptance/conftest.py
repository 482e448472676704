"""Fixtures of the acceptance tests."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from testbed.servers import Servers, running_servers


@pytest.fixture
def own_servers() -> Iterator[Servers]:
    """A PostgreSQL that no other test needs, and that keeps what it has confirmed: others of these
    tests would lose by its sudden end what was not yet written."""
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        with running_servers(Path(folder)) as servers:
            with psycopg.connect(servers.postgres.uri, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM RESET synchronous_commit")
                connection.execute("SELECT pg_reload_conf()")
            yield servers
