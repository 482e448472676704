"""`likewise up` as people run it: a real process over a folder of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy import text

from app.core.database import transaction
from likewise.embedded import free_port, port_is_taken
from likewise.environment import NAMES
from testbed.servers import ROOT
from testbed.system import wait_until
from tests.setup.test_embedded import processes_of

SIGN_IN = re.compile(r"http://127\.0\.0\.1:\d+(/sign-in/\S+)")


def environment_over(data: Path) -> dict[str, str]:
    """This process's environment without any of Likewise's settings, over `data`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in NAMES and not name.startswith("LIKEWISE_")
    }
    return {**kept, "LIKEWISE_DATA": str(data)}


def command(data: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """`likewise ARGUMENTS` over a data folder, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "likewise.cli", *arguments],
        cwd=ROOT,
        env={**environment_over(data), **settings},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@dataclass
class Up:
    """A running `likewise up` and what it has printed so far."""

    data: Path
    port: int = field(default_factory=free_port)
    lines: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likewise.cli", "up", "--port", str(self.port), "--no-demo"],
            cwd=ROOT,
            env={**environment_over(self.data), **self.settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def frame(self) -> list[str]:
        """The lines inside the box that announces readiness."""
        return [line.strip("│ ") for line in self.lines if line.startswith("│")]

    def wait_ready(self) -> "Up":
        def ready() -> bool:
            assert self.process.poll() is None, self.output
            return any(line.startswith("└") for line in self.lines)

        wait_until("the framed box", ready, 180)
        return self

    def children(self) -> dict[str, psutil.Process]:
        """Child processes by what they run."""
        marks = {
            "web": "likewise.web_server",
            "worker": "-Q learning",
            "files": "-Q files",
            "dispatcher": "workers.dispatcher",
            # Valkey renames itself once it runs.
            "redis": "valkey-server",
        }
        return {
            name: child
            for child in psutil.Process(self.process.pid).children()
            for name, mark in marks.items()
            if mark in " ".join(child.cmdline())
        }

    def stop(self, number: int = signal.SIGINT) -> int:
        """Ctrl-C, or another signal; returns the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(90)
        self.reader.join(5)
        return code


@contextmanager
def up_over(data: Path, **settings: str) -> Iterator[Up]:
    """`up` started and ready; ended at the end of the block, if it has not ended itself."""
    running = Up(data, settings=settings)
    try:
        yield running.wait_ready()
    finally:
        if running.process.poll() is None:
            running.stop()


@contextmanager
def a_data_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


@dataclass
class Race:
    """Two that were started over one folder at the same moment, once one of them is ready."""

    winner: Up
    loser: Up


@contextmanager
def a_race(data: Path, *ports: int) -> Iterator[Race]:
    racers = [Up(data, port) for port in ports]
    try:
        wait_until("one to give up", lambda: any(racer.process.poll() for racer in racers), 180)
        racers.sort(key=lambda racer: racer.process.poll() is not None)
        racers[1].reader.join(5)
        yield Race(racers[0].wait_ready(), racers[1])
    finally:
        for racer in racers:
            if racer.process.poll() is None:
                racer.stop()


def assert_refused(race: Race) -> None:
    loser, winner = race.loser, race.winner
    assert loser.process.poll() == 1
    [line] = loser.lines
    assert "is already running" in line
    assert f"process {winner.process.pid}, {winner.url}" in line


@pytest.fixture(scope="module")
def race() -> Iterator[Race]:
    with a_data_folder() as data, a_race(data, free_port(), free_port()) as begun:
        yield begun


@pytest.fixture(scope="module")
def up(race: Race) -> Up:
    """One instance for all tests that leave it running."""
    return race.winner


def test_of_two_started_at_the_same_moment_one_runs_and_the_other_says_so(race: Race) -> None:
    assert_refused(race)
    assert race.winner.process.poll() is None


def test_a_framed_box_shows_address_and_sign_in_link(up: Up) -> None:
    assert up.frame[0] == f"Likewise is ready:  {up.url}"
    assert any(SIGN_IN.search(line) for line in up.frame)
    assert httpx.get(f"{up.url}/healthz", timeout=60).json() == {"status": "ok"}


def test_the_sign_in_link_works_once(up: Up) -> None:
    match = SIGN_IN.search(up.output)
    assert match is not None
    address = up.url + match[1]
    # Looking at the page spends nothing: link previews do that.
    assert httpx.get(address, headers={"Accept": "text/html"}, timeout=60).status_code == 200
    signed_in = httpx.post(address, timeout=60)
    assert signed_in.status_code == 303
    assert signed_in.cookies
    assert (
        httpx.get(f"{up.url}/api/v1/campaigns", cookies=signed_in.cookies, timeout=60).json()[
            "items"
        ]
        == []
    )
    refused = httpx.post(address, timeout=60)
    assert refused.status_code == 403
    assert refused.json()["code"] == "bad_sign_in_link"


def test_all_processes_run_and_doctor_finds_nothing_wrong(up: Up) -> None:
    assert sorted(up.children()) == ["dispatcher", "files", "redis", "web", "worker"]
    checked = command(up.data, "doctor")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "append-only file on" in checked.stdout
    assert re.search(r"^ok    clock +0\.\d s from the database's$", checked.stdout, re.M)
    assert re.search(r"^ok    queue +oldest message \d+ s", checked.stdout, re.M)
    assert re.search(r"^ok    backup +pg_dump \d+ .*storage can be listed$", checked.stdout, re.M)


def test_doctor_finds_a_short_key_and_a_dispatcher_that_does_not_run(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with transaction() as session:
        session.execute(text("INSERT INTO outbox (task, arguments, created_at) VALUES "
                             "('t', '{}', now() - interval '100 seconds')"))  # fmt: skip
    short = {**environment, "LIKEWISE_SECRET_KEY": "test-secret"}
    checked = command(tmp_path, "doctor", **short)
    assert checked.returncode == 1
    assert "FAIL  secret key   LIKEWISE_SECRET_KEY has 11 characters" in checked.stdout
    assert "Check that the dispatcher is running" in checked.stdout


def files_of(data: Path) -> dict[str, str]:
    """What a start would write anew, and the processes' own files that say when they started."""
    names = ("secret_key", "runtime.env", "processes.json", "lock", "postgres/postmaster.pid")
    return {name: (data / name).read_text() for name in names}


def test_a_second_up_over_the_same_data_is_refused_in_one_line(up: Up) -> None:
    files, children = files_of(up.data), up.children()
    # Also by the port of the first: that it is in use is not what is wrong.
    for port in (free_port(), up.port):
        second = command(up.data, "up", "--port", str(port), "--no-demo")
        assert second.returncode == 1
        assert second.stdout == ""
        message = second.stderr.strip()
        assert message.count("\n") == 0
        assert f"already running with {up.data} (" in message
        assert f"process {up.process.pid}, {up.url}" in message
    assert files_of(up.data) == files
    assert up.children() == children
    assert httpx.get(f"{up.url}/healthz", timeout=60).is_success


def test_a_killed_redis_is_started_again_and_said_so(up: Up) -> None:
    killed = up.children()["redis"]
    killed.kill()
    wait_until("the news", lambda: "redis ended with code -9; starting again" in up.output, 60)

    def replaced() -> bool:
        redis = up.children().get("redis")
        return redis is not None and redis.pid != killed.pid

    wait_until("another redis", replaced, 60)
    assert up.process.poll() is None
    wait_until("redis to answer", lambda: command(up.data, "doctor").returncode == 0, 60)


def set_clock_since(data: Path) -> None:
    """An hour on since the manager was killed: by the clock of now, processes of then were started
    an hour later than it had written down."""
    file = data / "processes.json"
    processes = json.loads(file.read_text())
    file.write_text(json.dumps({pid: created - 3600 for pid, created in processes.items()}))


def test_data_survive_a_stop_a_killed_up_and_a_closed_terminal(up: Up) -> None:
    """The last test of those with `up`, which ends here."""
    children = psutil.Process(up.process.pid).children(recursive=True)
    assert up.stop() == 0, up.output
    assert not [child for child in children if child.is_running()]
    assert processes_of(up.data) == []
    assert not port_is_taken("127.0.0.1", up.port)
    assert "Traceback" not in up.output

    with up_over(up.data) as second:
        assert not any(SIGN_IN.search(line) for line in second.frame), second.output
        accounts = command(up.data, "user", "list")
        assert "admin@localhost" in accounts.stdout, accounts.stderr
        left = list(second.children().values())
        second.process.kill()
        second.process.wait()
        assert all(child.is_running() for child in left)

    set_clock_since(up.data)
    # The next one ends what the killed one has left, and takes its port; of two, one does.
    with a_race(up.data, second.port, second.port) as begun:
        assert_refused(begun)
        third = begun.winner
        assert not any(child.is_running() for child in left)
        accounts = command(up.data, "user", "list")
        assert "admin@localhost" in accounts.stdout, accounts.stderr
        # The terminal is closed.
        assert third.stop(signal.SIGHUP) == 0, third.output
    assert processes_of(up.data) == []


def test_a_port_in_use_is_named_in_one_line() -> None:
    with a_data_folder() as data, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = command(data, "up", "--port", str(port), "--no-demo")
    assert refused.returncode == 1
    message = refused.stderr.strip()
    assert message.count("\n") == 0
    assert f"Port {port}" in message


def test_commands_without_a_running_instance_say_how_to_start_one() -> None:
    with a_data_folder() as data:
        lost = command(data, "user", "list")
    assert lost.returncode == 1
    assert "make up" in lost.stderr
    assert "Traceback" not in lost.stderr
