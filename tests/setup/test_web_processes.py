"""Several processes of the web server share one port."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from likewise import web_processes
from likewise.embedded import free_port
from testbed.servers import ROOT, Servers
from testbed.system import System, running_system, wait_until
from tests.setup.test_up import Up, a_data_folder, up_over

TOKEN = "a-token-for-the-metrics"
N_REQUESTS = 40


def web_of(process: int) -> list[psutil.Process]:
    children = psutil.Process(process).children()
    return [child for child in children if "likewise.web_server" in " ".join(child.cmdline())]


def counted(url: str) -> int:
    """How many requests of /healthz the metrics know."""
    reply = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20)
    pattern = r'likewise_request_seconds_count\{.*route="/healthz".*\} ([\d.]+)'
    return sum(int(float(number)) for number in re.findall(pattern, reply.text))


def ask_often(url: str) -> None:
    """Each request on a connection of its own."""
    for _ in range(N_REQUESTS):
        assert httpx.get(f"{url}/healthz", timeout=20).status_code == 200


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    settings = {"LIKEWISE_WEB_PROCESSES": "2", "LIKEWISE_METRICS_TOKEN": TOKEN}
    with a_data_folder() as data, up_over(data, **settings) as running:
        yield running


def test_both_serve_and_count_together(up: Up) -> None:
    before = counted(up.url)
    assert len(web_of(up.process.pid)) == 2
    ask_often(up.url)
    assert counted(up.url) == before + N_REQUESTS


def test_one_that_dies_is_replaced_while_the_other_serves(up: Up) -> None:
    first, second = web_of(up.process.pid)
    first.kill()
    wait_until("the port to be the other's alone", lambda: not psutil.pid_exists(first.pid), 20)
    ask_often(up.url)
    wait_until("another process", lambda: len(web_of(up.process.pid)) == 2, 30)
    assert second in web_of(up.process.pid)
    # What the dead process had counted is not forgotten.
    assert counted(up.url) >= 2 * N_REQUESTS


@contextmanager
def serving(system: System, port: int) -> Iterator[subprocess.Popen[str]]:
    command = ["likewise.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--processes", "2"],
        cwd=ROOT,
        env={**os.environ, **system.environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_serve_runs_several_and_ends_all(system: System) -> None:
    port = free_port()
    with serving(system, port) as first:
        wait_until("the port", lambda: len(web_of(first.pid)) == 2 and answers(port), 60)
        with serving(system, port) as second:
            assert second.wait(60) != 0
            assert second.stderr is not None
            assert f"port {port}" in second.stderr.read()
        processes = web_of(first.pid)
        first.send_signal(signal.SIGTERM)
        first.send_signal(signal.SIGINT)
        assert first.wait(30) == 0
        assert not any(map(is_at_work, processes))


def test_they_end_with_the_process_that_started_them(system: System) -> None:
    port = free_port()
    with serving(system, port) as first:
        wait_until("the port", lambda: len(web_of(first.pid)) == 2 and answers(port), 60)
        processes = web_of(first.pid)
        first.kill()
        first.wait()
        wait_until("their end", lambda: not any(map(is_at_work, processes)), 30)


def is_at_work(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def system(servers: Servers, tmp_path: Path) -> Iterator[System]:
    values = {
        "DATABASE_URL": servers.new_database(),
        "LIKEWISE_SECRET_KEY": "of a test that only this one knows 0123456789",
        "LIKEWISE_DATA": str(tmp_path / "data"),
    }
    with running_system(values, tmp_path) as running:
        yield running


def test_postgresql_has_room_for_their_connections(up: Up) -> None:
    runtime = (up.data / "runtime.env").read_text()
    address = re.search(r"^DATABASE_URL=(.+)$", runtime, re.MULTILINE)
    assert address is not None
    url = address[1].strip("'\"").replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(url) as connection:
        allowed = connection.execute("SHOW max_connections").fetchone()
    assert allowed == (str(web_processes.connections(2)),)


def test_the_number_follows_from_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    numbers = {}
    for cores in (1, 2, 3, 4, 8, 64):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, n=cores: set(range(n)))
        numbers[cores] = web_processes.by_default()
    assert numbers == {1: 1, 2: 1, 3: 1, 4: 2, 8: 4, 64: 4}
    monkeypatch.setenv("DATABASE_URL", "postgresql+psycopg://elsewhere/likewise")
    assert web_processes.by_default() == 1
