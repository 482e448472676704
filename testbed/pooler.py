"""PgBouncer in transaction mode, in front of the embedded PostgreSQL."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from likewise.embedded import free_port
from testbed.databases import connect
from testbed.system import wait_until

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
needs_pooler = pytest.mark.skipif(
    PROGRAM is None, reason="PgBouncer is not installed: apt-get install pgbouncer"
)
# Fewer than one web server would take, so that its connections share sessions of PostgreSQL.
SESSIONS = 8
SETTINGS = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = {sessions}
admin_users = {user}
"""


@dataclass
class Pooler:
    """A running PgBouncer: `url_of` is what DATABASE_URL is for a database behind it."""

    folder: Path
    port: int
    user: str
    process: subprocess.Popen[bytes] | None = None

    def url_of(self, direct: str) -> str:
        """direct: the database's address without the pooler"""
        return self._url(direct.partition("?")[0].rpartition("/")[2])

    def settings_over(self, direct: str) -> dict[str, str]:
        return {"DATABASE_URL": self.url_of(direct), "LIKEWISE_DIRECT_DATABASE_URL": direct}

    def start(self) -> None:
        assert PROGRAM is not None
        # It refuses to run as root.
        other = ["-u", _ordinary_user()] if os.getuid() == 0 else []
        with (self.folder / "pgbouncer.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, *other, str(self.folder / "pgbouncer.ini")],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until("PgBouncer", self._answers, 20)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _url(self, database: str) -> str:
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{database}"

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "pgbouncer.log").read_text()
        try:
            # Its own database.
            with connect(self._url("pgbouncer")) as connection:
                connection.execute("SHOW VERSION")
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def running_pooler(direct: str, folder: Path, sessions: int = SESSIONS) -> Iterator[Pooler]:
    """direct: the address of any database of the server; sessions: how many of PostgreSQL's each
    database has at most."""
    folder.mkdir(parents=True, exist_ok=True)
    there = conninfo_to_dict(direct.replace("postgresql+psycopg://", "postgresql://"))
    pooler = Pooler(folder, free_port(), str(there["user"]))
    values = {"host": there["host"], "port": there.get("port", 5432), "user": there["user"]}
    text = SETTINGS.format(**values, own_port=pooler.port, sessions=sessions)
    (folder / "pgbouncer.ini").write_text(text)
    try:
        pooler.start()
        yield pooler
    finally:
        pooler.kill()


def _ordinary_user() -> str:
    """The user that the embedded PostgreSQL runs as, or nobody."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "pgserver" if "pgserver" in names else "nobody"
