"""Scheduling priority of the processes for which nobody waits at a page."""

import logging
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg

logger = logging.getLogger(__name__)
LOWEST = 19
WRITES, BETWEEN_SECONDS = 5, 0.1


def give_way(pid: int, niceness: int) -> None:
    """Lower the priority of a process that leads a session of its own, by `niceness` relative to
    this process.

    Linux first divides the cores among sessions, and applies niceness only within each of them, so
    the niceness of the process's session must be raised as well. A system that refuses is logged.
    """
    value = min(LOWEST, os.getpriority(os.PRIO_PROCESS, 0) + niceness)
    try:
        os.setpriority(os.PRIO_PROCESS, pid, value)
        session = Path(f"/proc/{pid}/autogroup")
        if session.exists():
            _written(session, str(value))
    except OSError as error:
        logger.warning("could not lower the priority of process %d: %s", pid, error)


def share_with_backend(connection: psycopg.Connection[Any], _: object = None) -> None:
    """Give PostgreSQL's process of a connection the priority of this process, if it is higher and
    the server is on this machine; a listener of SQLAlchemy's "connect".

    Each of PostgreSQL's processes leads a session, so that one that works for a process of low
    priority would have as much of the cores as the web server.
    """
    if not (pid := _backend_here(connection)):
        return
    try:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        if niceness > os.getpriority(os.PRIO_PROCESS, pid):
            os.setpriority(os.PRIO_PROCESS, pid, niceness)
        own, its = Path("/proc/self/autogroup"), Path(f"/proc/{pid}/autogroup")
        if own.exists() and (value := _niceness(own)) > _niceness(its):
            _written(its, str(value))
    except OSError as error:
        # The server belongs to another user.
        logger.debug("could not lower the priority of backend %d: %s", pid, error)


def _backend_here(connection: psycopg.Connection[Any]) -> int:
    """The backend's process id; 0 unless it is known to be that on this machine.

    A socket can lead into a container, where ids mean other processes: only a child of the process
    that listens on the socket is a backend.
    """
    if not (connection.info.host.startswith("/") and hasattr(socket, "SO_PEERCRED")):
        return 0
    with socket.socket(fileno=os.dup(connection.fileno())) as its:
        credentials = its.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    listening, _, _ = struct.unpack("3i", credentials)
    try:
        backend = psutil.Process(connection.info.backend_pid)
        return backend.pid if backend.ppid() == listening else 0
    except psutil.Error:
        return 0


def _niceness(session: Path) -> int:
    """From a line such as `/autogroup-25 nice 10`."""
    return int(session.read_text().rpartition(" ")[2])


def _written(setting: Path, value: str) -> None:
    """Write a setting; Linux accepts one such value per tenth of a second, from anyone. Raises
    OSError."""
    for _ in range(WRITES - 1):
        try:
            setting.write_text(value)
        except BlockingIOError:
            time.sleep(BETWEEN_SECONDS)
        else:
            return
    setting.write_text(value)
