"""A data folder has one owner at a time: the process that locks its file `lock`.

The kernel releases the lock when the process ends, even if it is killed. The file's content only
serves the error message that a second process shows.
"""

import fcntl
import os
import time
from pathlib import Path

import psutil

# An owner writes its process id and address into the file within this time after locking it.
WORD_SECONDS = 2.0


class FolderTaken(Exception):
    """Another process uses the folder; the message says which."""


class DataLock:
    """The lock on a data folder, until this process ends."""

    def __init__(self, data: Path, address: str) -> None:
        """Lock the folder; raises FolderTaken without changing anything."""
        # Mode "w" would empty the file even if another process has locked it.
        self._file = (data / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderTaken(_owner_of(data / "lock")) from error
        self._file.truncate(0)
        self._file.write(f"{os.getpid()} {address}\n")
        self._file.flush()


def _owner_of(file: Path) -> str:
    """`process 123, http://…`. Waits a moment if the file still names an owner that was killed."""
    deadline = time.monotonic() + WORD_SECONDS
    while time.monotonic() < deadline:
        pid, _, address = file.read_text().strip().partition(" ")
        if pid.isdecimal() and psutil.pid_exists(int(pid)):
            return f"process {pid}, {address}"
        time.sleep(0.05)
    return "an unknown process"


def belongs_to(process: psutil.Process, data: Path) -> bool:
    """Whether a process was started for this data folder.

    The start time alone is not enough: Linux computes it from the clock, which may have changed.
    """
    try:
        if process.environ().get("LIKEWISE_DATA") == str(data):
            return True
        # Valkey overwrites its environment with its name, but its working folder is in `data`.
        return Path(process.cwd()).is_relative_to(data)
    except psutil.AccessDenied:
        return False
