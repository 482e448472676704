"""The running system: web server, Celery worker, dispatcher and Valkey as processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import httpx
import psutil
from redis import Redis
from sqlalchemy.exc import OperationalError

from likewise.embedded import EmbeddedValkey, free_port
from likewise.web_server import VARIABLES, command
from testbed.leaks import leaks_in_logs, secrets_now
from testbed.servers import ROOT
from testbed.settings import used_here
from workers.training_process import NAME

# A training gives way to all else, so that it may take long where tests share two cores.
WAIT_SECONDS = 240.0
Value = TypeVar("Value")


def wait_until(
    what: str, condition: Callable[[], Value | None], seconds: float = WAIT_SECONDS
) -> Value:
    """The first true value of `condition`; fails with `what` when time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds:g} s in vain for: {what}")


# Most tests are about trainings, and their one worker would do these in between.
FEWER_JOBS = {"LIKEWISE_COMPARE_HALVES": "false"}


@dataclass
class System:
    """Processes of one test, over its own database and its own Valkey."""

    environment: dict[str, str]
    folder: Path
    valkey: EmbeddedValkey
    port: int = field(default_factory=free_port)
    # Ports of further web servers, by their names.
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    # What no log may hold, and what each is.
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return self.url_of("web")

    def port_of(self, web: str) -> int:
        """The port of one of the web servers."""
        return self.port if web == "web" else self.ports.setdefault(web, free_port())

    def url_of(self, web: str) -> str:
        return f"http://127.0.0.1:{self.port_of(web)}"

    def start(self, name: str, celery: str = "workers.celery_app:celery", queues: str = "") -> None:
        """`worker-2` is one more worker, `web-2` one more web server at a port of its own; celery:
        the application that workers run; queues: those that a worker serves, or all."""
        kind = name.partition("-")[0]
        commands = {
            "web": command("127.0.0.1", self.port_of(name) if kind == "web" else 0),
            "worker": ["celery", "-q", "-A", celery, "worker", "-P", "threads", "-c", "1",
                       "-l", "info", "--without-gossip", "--without-mingle",
                       "-n", f"{name}@%h", *(["-Q", queues] if queues else [])],
            "dispatcher": ["workers.dispatcher"],
        }  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *commands[kind]],
                cwd=ROOT,
                env={**VARIABLES, **FEWER_JOBS, **os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if kind == "web":
            wait_until("the web server", lambda: self._web_answers(name))

    def start_missing(self, name: str) -> None:
        """Start what an earlier test has killed."""
        if name not in self.processes:
            self.start(name)

    def _web_answers(self, name: str) -> bool:
        try:
            return httpx.get(f"{self.url_of(name)}/healthz", timeout=2).is_success
        except httpx.TransportError:
            return False

    def kill(self, name: str) -> None:
        """SIGKILL to the process alone, as `kill -9` would."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_redis(self) -> None:
        assert self.valkey.process is not None
        self.valkey.process.kill()
        self.valkey.process.wait()

    def empty_redis(self) -> None:
        with Redis.from_url(self.valkey.url) as client:
            client.flushall()

    def trainers(self, worker: str = "worker") -> list[psutil.Process]:
        """Training processes of one of this system's workers."""
        if worker not in self.processes:
            return []
        children = psutil.Process(self.processes[worker].pid).children(recursive=True)
        return [child for child in children if _name(child) == NAME]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def learn_secrets(self) -> None:
        """Keep what no log may hold from the database as it is now. Where a test has taken its
        database away, the shapes of secrets are still looked for."""
        with used_here(self.environment):
            try:
                self.secrets |= secrets_now()
            except OperationalError as error:
                print(f"no database to read secrets from: {error}")

    def assert_silence(self) -> None:
        """Fails with each line of a process's log that tells a secret or a worker's id."""
        leaks = leaks_in_logs(self.folder, self.secrets)
        assert not leaks, "\n".join(["logs tell what they must not:", *leaks])

    def forget_logs(self) -> None:
        """The processes go on writing at the end of what is then empty."""
        for file in self.folder.glob("*.log"):
            os.truncate(file, 0)
        self.secrets.clear()

    def stop(self) -> None:
        for process in self.processes.values():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()
        self.valkey.stop()


def _name(process: psutil.Process) -> str:
    """Empty for one that has just ended."""
    try:
        return process.name()
    except psutil.Error:
        return ""


@contextmanager
def running_system(
    environment: dict[str, str],
    folder: Path,
    *names: str,
    web_port: str = "",
    **settings: str,
) -> Iterator[System]:
    """A system over the test's database; `names` of processes to start, or all; web_port: its web
    server, where an address must be known before."""
    valkey = EmbeddedValkey(folder / "valkey")
    valkey.start()
    system = System({}, folder, valkey, int(web_port) if web_port else free_port())
    system.environment = {
        **environment,
        "REDIS_URL": valkey.url,
        "LIKEWISE_BASE_URL": system.base_url,
        "OMP_NUM_THREADS": "1",
        **settings,
    }
    try:
        for name in names or ("web", "worker", "dispatcher"):
            system.start(name)
        yield system
        system.learn_secrets()
    finally:
        system.stop()
    # Also what was written at the very end.
    system.assert_silence()
