"""The embedded servers: they start, keep their data, and leave no process behind."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from redis import Redis

from likewise.embedded import EmbeddedPostgres, EmbeddedValkey, ServerDidNotStart, port_is_taken


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that the system user of PostgreSQL may walk to."""
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Running processes that work in a folder below `folder`, or name one on the command line."""
    running = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        words = " ".join([process.info["cwd"] or "", *(process.info["cmdline"] or [])])
        if f"{folder}/" in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            running.append(process)
    return running


def test_postgres_keeps_its_data_and_ends_when_stopped(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder / "postgres")
    postgres.start()
    try:
        url = postgres.create_database("likewise")
        assert postgres.create_database("likewise") == url
        address = url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(address) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute("CREATE TABLE kept AS SELECT '[1,2]'::vector AS place")
        assert not postgres.ensure_running()
        assert processes_of(folder)
    finally:
        postgres.stop()
    assert processes_of(folder) == []

    again = EmbeddedPostgres(folder / "postgres")
    again.start()
    try:
        address = again.database_url("likewise").replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(address) as connection:
            row = connection.execute("SELECT place::text FROM kept").fetchone()
        assert row == ("[1,2]",)
    finally:
        again.stop()
    assert processes_of(folder) == []


def test_a_killed_postgres_is_started_again_with_its_data(folder: Path) -> None:
    postgres = EmbeddedPostgres(folder / "postgres")
    postgres.start()
    try:
        with psycopg.connect(postgres.uri) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        postmaster = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        process = psutil.Process(postmaster)
        process.kill()
        process.wait(10)
        assert postgres.ensure_running()
        with psycopg.connect(postgres.uri) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    finally:
        postgres.stop()
    assert processes_of(folder) == []


def test_valkey_appends_to_a_file_and_keeps_its_data(folder: Path) -> None:
    valkey = EmbeddedValkey(folder / "redis")
    valkey.start()
    with Redis.from_url(valkey.url) as client:
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        client.rpush("queue", "message")
    assert processes_of(folder)
    valkey.stop()
    assert processes_of(folder) == []
    assert not port_is_taken("127.0.0.1", valkey.port)

    again = EmbeddedValkey(folder / "redis")
    again.start()
    with Redis.from_url(again.url) as client:
        assert client.lrange("queue", 0, -1) == [b"message"]
    again.stop()
    assert processes_of(folder) == []


def test_a_server_that_cannot_start_says_where_its_log_is(folder: Path) -> None:
    first, second = EmbeddedValkey(folder / "one"), EmbeddedValkey(folder / "two")
    first.start()
    second.port = first.port
    try:
        with pytest.raises(ServerDidNotStart, match=r"two/valkey\.log"):
            second.start()
    finally:
        second.stop()
        first.stop()
