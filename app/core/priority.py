"""Scheduling priority of the processes for which nobody waits at a page."""

import logging
import os
import time
from pathlib import Path

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
