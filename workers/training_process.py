"""Processes for trainings and alignments, each forked from a server that has loaded the libraries.

Loading Python and the libraries takes four seconds of a processor, as long as many trainings. The
server (multiprocessing's forkserver) does it once, at the first training, and uses none of them:
torch hangs in a process that was forked from one that has used it.
"""

import logging
import multiprocessing
import os
import sys
import threading
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal
from uuid import UUID

from app.core.priority import give_way

NAME = "trainer"
Work = Literal["job", "alignment"]
# The exit code of a process whose worker has ended.
ORPHANED = 70
_context = multiprocessing.get_context("forkserver")
if sys.platform == "linux":
    # Apple's libraries may start threads when they are loaded, and crash in a forked process.
    _context.set_forkserver_preload(["workers.loaded"])


def start(work: Work, row_id: UUID, epoch: int, *, niceness: int, output: Path) -> BaseProcess:
    """Start the work of a claimed row, in a session of its own and with lower priority.

    It ends when this process ends, also by SIGKILL. niceness: see `app.core.priority.give_way`;
    output: an existing file for what the process logs and its traceback
    """
    process = _context.Process(
        target=_run,
        args=(work, str(row_id), epoch, niceness, str(output)),
        # A worker that ends does not wait for it.
        daemon=True,
    )
    process.start()
    return process


def _run(work: Work, row_id: str, epoch: int, niceness: int, output: str) -> None:
    with open(output, "ab") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    threading.Thread(target=_end_with_worker, args=(os.getppid(),), daemon=True).start()
    os.setsid()
    give_way(os.getpid(), niceness)
    _name_process()
    # The server has loaded it; the worker, which also imports this module, never does.
    from workers import trainer

    run = trainer.align if work == "alignment" else trainer.main
    run(UUID(row_id), epoch)


def _name_process() -> None:
    """For process lists, where Linux lets a process choose."""
    name = Path("/proc/self/comm")
    if name.exists():
        name.write_text(NAME)


def _end_with_worker(server: int) -> None:
    """End this process when the worker or the server dies, so that no orphan keeps a core busy."""
    worker = multiprocessing.parent_process()
    assert worker is not None
    while worker.is_alive() and os.getppid() == server:
        time.sleep(1.0)
    os._exit(ORPHANED)
