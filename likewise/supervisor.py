"""`likewise up` starts all processes in order, restarts those that die, and stops all in order."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from likewise import environment, web_processes, web_server
from likewise.data_lock import DataLock, FolderTaken, belongs_to
from likewise.embedded import (
    EmbeddedPostgres,
    EmbeddedValkey,
    ServerDidNotStart,
    port_is_taken,
)
from likewise.processes import Child, say

READY_SECONDS = 60.0
WATCH_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 16.0


class CannotStart(RuntimeError):
    """Something prevents the start; the message says what it is and what to do."""


class Supervisor:
    """Runs the embedded servers and Likewise's processes until it gets a signal to stop."""

    def __init__(self, host: str, port: int, n_web: int = 0) -> None:
        self.host, self.port = host, port
        self.n_web = n_web or web_processes.by_default()
        self.data = environment.data_folder()
        self.base_url = os.environ.get("LIKEWISE_BASE_URL", f"http://{host}:{port}")
        self.postgres: EmbeddedPostgres | None = None
        self.children: list[Child] = []
        self.stopping = False
        self._postgres_due, self._postgres_failures = 0.0, 0
        self._recorded = ""

    def run(self, first_start: Callable[[], list[str]]) -> None:
        """Start, call `first_start`, print its lines with the address, watch, and stop."""
        self._take_data_folder()
        # This comes first because one of these processes may use the port.
        self._stop_leftovers()
        if port_is_taken(self.host, self.port):
            raise CannotStart(
                f"Port {self.port} of {self.host} is in use by another program. Stop it or "
                f"choose another port: make up PORT={self.port + 1} "
                f"(or likewise up --port {self.port + 1})."
            )
        # SIGHUP comes when the terminal is closed.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        with ExitStack() as stack:
            if self.n_web > 1:
                try:
                    stack.enter_context(web_processes.port_held(self.host, self.port))
                except web_processes.PortTaken as error:
                    raise CannotStart(f"{error} Choose another port.") from error
            counts = stack.enter_context(web_processes.shared_counts(self.n_web))
            stack.callback(self._stop)
            self._start(counts)
            self._show(first_start())
            self._watch()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if not self.stopping:
            self.stopping = True
            # The exception interrupts what is going on, and run() then calls _stop().
            raise KeyboardInterrupt

    def _take_data_folder(self) -> None:
        if (self.data / environment.RESTORING).exists():
            raise CannotStart(
                f"A restore to {self.data} is running or was interrupted. If none is running, "
                "delete the folder and restore again."
            )
        self.data.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = DataLock(self.data, self.base_url)
        except FolderTaken as owner:
            raise CannotStart(
                f"Likewise is already running with {self.data} ({owner}). Stop it first or set "
                "LIKEWISE_DATA to another folder."
            ) from owner

    def _start(self, counts: dict[str, str]) -> None:
        os.environ["LIKEWISE_DATA"] = str(self.data)
        os.environ["LIKEWISE_SECRET_KEY"] = environment.secret_key()
        environment.require_strong_key(os.environ["LIKEWISE_SECRET_KEY"])
        os.environ["LIKEWISE_BASE_URL"] = self.base_url
        # Threads of a training that wait for each other must not busy the web server's core.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._start_postgres()
        self._start_redis()
        environment.save(dict(os.environ))
        say("likewise", "migrating the database")
        self._once("likewise.cli", "migrate")
        python = sys.executable
        shares = self.n_web > 1
        command = web_server.command(self.host, self.port, 3, shares=shares)
        for name in web_processes.names(self.n_web):
            self._child(name, python, "-m", *command, **counts)
        self._worker("worker", "learning", os.environ.get("LIKEWISE_WORKERS", "1"))
        self._worker("files", "files", "2")
        self._child("dispatcher", python, "-m", "workers.dispatcher")
        self._wait_ready()

    def _worker(self, name: str, queue: str, concurrency: str) -> None:
        celery = [sys.executable, "-m", "celery", "-q", "-A", "workers.celery_app:celery", "worker"]
        options = ["-Q", queue, "-n", f"{name}@%h", "-P", "threads", "-c", concurrency]
        self._child(name, *celery, *options, "-l", "info", "--without-gossip", "--without-mingle")

    def _start_postgres(self) -> None:
        if os.environ.get("DATABASE_URL"):
            say("likewise", "using the PostgreSQL of DATABASE_URL")
            return
        if os.environ.get("LIKEWISE_DIRECT_DATABASE_URL"):
            raise CannotStart(
                "LIKEWISE_DIRECT_DATABASE_URL is set, but DATABASE_URL is not. Set DATABASE_URL to "
                "the pooler's address, or unset both to use the embedded PostgreSQL."
            )
        say("likewise", "starting PostgreSQL")
        self.postgres = EmbeddedPostgres(self.data / "postgres")
        self.postgres.start()
        if self.n_web > 1:
            self.postgres.allow_connections(web_processes.connections(self.n_web))
        os.environ["DATABASE_URL"] = self.postgres.create_database("likewise")

    def _start_redis(self) -> None:
        if os.environ.get("REDIS_URL"):
            say("likewise", "using the Redis of REDIS_URL")
            return
        say("likewise", "starting Valkey (Redis)")
        valkey = EmbeddedValkey(self.data / "redis")
        valkey.folder.mkdir(parents=True, exist_ok=True)
        os.environ["REDIS_URL"] = valkey.url
        self._child("redis", *valkey.command(), "--logfile", "valkey.log")
        valkey.wait_ready(valkey.folder / "valkey.log")

    def _child(self, name: str, *command: str, **more: str) -> None:
        variables = {**web_server.VARIABLES, **os.environ, "PYTHONUNBUFFERED": "1", **more}
        child = Child(name, list(command), variables)
        child.start()
        self.children.append(child)
        self._record_pids()

    def _once(self, module: str, *arguments: str) -> None:
        done = subprocess.run([sys.executable, "-m", module, *arguments], check=False)
        if done.returncode:
            raise CannotStart(f"`likewise {' '.join(arguments)}` failed. See the output above.")

    def _wait_ready(self) -> None:
        say("likewise", "waiting for the web server")
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            try:
                with urlopen(f"http://{self.host}:{self.port}/healthz", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.2)
        raise CannotStart(
            f"The web server did not answer within {READY_SECONDS:g} s. See the output above."
        )

    def _show(self, lines: list[str]) -> None:
        shown = [f"Likewise is ready:  {self.base_url}", *lines, "Ctrl-C stops everything."]
        width = max(len(line) for line in shown)
        bar = "─" * (width + 2)
        framed = "\n".join(f"│ {line:<{width}} │" for line in shown)
        print(f"\n┌{bar}┐\n{framed}\n└{bar}┘\n", flush=True)

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            self._watch_postgres()
            for child in self.children:
                child.watch()
            self._record_pids()

    def _watch_postgres(self) -> None:
        """Restart PostgreSQL if it died. While that fails, the pauses between tries grow."""
        if self.postgres is None or time.monotonic() < self._postgres_due:
            return
        try:
            if self.postgres.ensure_running():
                say("likewise", "PostgreSQL had died and was restarted")
            self._postgres_failures = 0
        except ServerDidNotStart as error:
            self._postgres_failures += 1
            pause = min(2.0**self._postgres_failures, LONGEST_PAUSE_SECONDS)
            self._postgres_due = time.monotonic() + pause
            say("likewise", f"{error} Trying again in {pause:g} s.")

    def _stop(self) -> None:
        self.stopping = True
        say("likewise", "stopping")
        # At the same time, before they are waited for in turn; Valkey last, as they use it.
        for child in self.children:
            if child.name != "redis":
                child.ask_to_stop()
        for child in reversed(self.children):
            child.stop(seconds=8.0)
        if self.postgres is not None:
            self.postgres.stop()
        environment.forget()
        self._pid_file.unlink(missing_ok=True)
        say("likewise", "stopped")

    @property
    def _pid_file(self) -> Path:
        return self.data / "processes.json"

    def _record_pids(self) -> None:
        pids = {
            str(child.process.pid): psutil.Process(child.process.pid).create_time()
            for child in self.children
            if child.process is not None and child.process.poll() is None
        }
        text = json.dumps(pids)
        if text == self._recorded:
            return
        try:
            # The file must be complete: the next supervisor reads it if this one is killed.
            written = self._pid_file.with_suffix(".new")
            written.write_text(text)
            written.replace(self._pid_file)
        except OSError as error:
            # A full disk must not stop processes that still work. The next round tries again.
            say("likewise", f"{self._pid_file.name} cannot be written: {error}")
        else:
            self._recorded = text

    def _stop_leftovers(self) -> None:
        """End the processes of a killed supervisor: two Valkeys must not share one file."""
        if not self._pid_file.exists():
            return
        for pid, created in json.loads(self._pid_file.read_text()).items():
            try:
                process = psutil.Process(int(pid))
                started_then = abs(process.create_time() - created) < 1.0
                if started_then or belongs_to(process, self.data):
                    say("likewise", f"ending process {pid} of an earlier run")
                    process.kill()
                    process.wait(5)
            except (psutil.NoSuchProcess, psutil.TimeoutExpired):
                continue
