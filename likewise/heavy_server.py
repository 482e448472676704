"""The process for heavy requests, which the web server starts: `python -m likewise.heavy_server`.

It serves the same application on a Unix socket (app/core/heavy.py), with less priority, ends with
the process that started it, and is started again when it ended by itself.
"""

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

logger = logging.getLogger(__name__)
# After annotators and pages, before trainings.
NICENESS = 15
# Where memory runs out, Linux ends this process rather than the one that annotators wait for.
OOM_SCORE = "500"
# From one end to the next start, longer each time unless it ran for a while between; and to the
# end of requests when the web server ends.
AGAIN_SECONDS, LONGEST_PAUSE, WHILE_SECONDS, GRACE_SECONDS = 1.0, 30.0, 60.0, 2
# The first moments of a server belong to those who have waited for it.
LATEST_START_SECONDS = 15.0
# Longer than connections to it are kept.
KEEP_ALIVE_SECONDS = 130


@contextmanager
def running() -> Iterator[tuple[str, Callable[[], None]]]:
    """The process runs during the block, again and again if need be, from the first request for it
    on, or a moment after the web server's start; gives its socket's path and what to call for it.
    """
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        socket = str(Path(folder, "heavy"))
        keeper = _Keeper(socket)
        keeper.start()
        try:
            yield socket, keeper.want
        finally:
            keeper.stop()


class _Keeper(threading.Thread):
    def __init__(self, socket: str) -> None:
        super().__init__(name="heavy", daemon=True)
        self._command = [sys.executable, "-m", "likewise.heavy_server", socket]
        self._stopping, self._wanted = threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self) -> None:
        self._wanted.wait(LATEST_START_SECONDS)
        pause = AGAIN_SECONDS
        while True:
            began = time.monotonic()
            how = self._end()
            if self._stopping.is_set():
                return
            if time.monotonic() - began > WHILE_SECONDS:
                pause = AGAIN_SECONDS
            logger.warning("the process for heavy requests %s; starting it again", how)
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _end(self) -> str:
        """Start it and wait for its end; returns how it ended."""
        try:
            with self._lock:
                if self._stopping.is_set():
                    return "is not wanted any more"
                # The pipe ends with this process, however it ends.
                self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE)
        except OSError as error:
            # No memory, or no descriptors: there may be some again.
            return f"could not be started ({error})"
        return f"ended ({self._process.wait()})"

    def want(self) -> None:
        """Somebody waits for it."""
        self._wanted.set()

    def stop(self) -> None:
        with self._lock:
            self._stopping.set()
            self._wanted.set()
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C reaches the web server, too, which ends this one when its requests have ended."""
        if sig != signal.SIGINT:
            super().handle_exit(sig, frame)


def _end_with_parent() -> None:
    # Not by `sys.stdin`: its lock would be held when the interpreter ends.
    while os.read(sys.stdin.fileno(), 1):
        continue
    os.kill(os.getpid(), signal.SIGTERM)


def _give_way() -> None:
    os.nice(NICENESS)
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(OOM_SCORE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("socket")
    options = parser.parse_args()
    _give_way()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    config = uvicorn.Config(
        "app.main:served_heavy",
        factory=True,
        uds=options.socket,
        ws="none",
        access_log=False,
        # The web server's own are in every reply.
        server_header=False,
        date_header=False,
        # Who asks is what the web server says: nobody else reaches the socket.
        forwarded_allow_ips="*",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _Server(config).run()


if __name__ == "__main__":
    main()
