"""A data folder has one owner at a time: the process that holds the lock on its file `lock`.

The lock is the kernel's and ends with its process, however that ends; what the file says is read
only by whoever is refused.
"""

import fcntl
import os
import time
from pathlib import Path

import psutil

# Between its lock and its word about itself, an owner needs less.
WORD_SECONDS = 2.0


class FolderTaken(Exception):
    """Another process holds the folder; the message says which."""


class DataLock:
    """The lock on a data folder, until this process ends."""

    def __init__(self, data: Path, address: str) -> None:
        """Raises FolderTaken, having changed nothing."""
        # Not "w", which would empty the file before anybody knows whose it is.
        self._file = (data / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderTaken(_owner_of(data / "lock")) from error
        self._file.truncate(0)
        self._file.write(f"{os.getpid()} {address}\n")
        self._file.flush()


def _owner_of(file: Path) -> str:
    """`process 123, http://…`; a killed owner's word may stand there for a moment."""
    deadline = time.monotonic() + WORD_SECONDS
    while time.monotonic() < deadline:
        pid, _, address = file.read_text().strip().partition(" ")
        if pid.isdecimal() and psutil.pid_exists(int(pid)):
            return f"process {pid}, {address}"
        time.sleep(0.05)
    return "a process that does not say which"


def belongs_to(process: psutil.Process, data: Path) -> bool:
    """Whether a process was started for a data folder. Its time of start does not tell it alone:
    Linux reckons that by the clock, which may have been set since."""
    try:
        if process.environ().get("LIKEWISE_DATA") == str(data):
            return True
        # Valkey writes its name over its environment, and works in its folder.
        return Path(process.cwd()).is_relative_to(data)
    except psutil.AccessDenied:
        return False
