"""The process for heavy requests, which the web server starts: `python -m likewise.heavy_server`.

It serves the same application on a Unix socket (app/core/heavy.py) with lower priority. It ends
with the process that started it and is restarted if it ends by itself.
"""

import argparse
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from app.core.priority import give_way
from app.core.requests import COUNTS
from app.core.settings import get_settings

logger = logging.getLogger(__name__)
# If memory runs out, Linux kills this process rather than the one that annotators wait for.
OOM_SCORE = "500"
# The pause before a restart doubles up to LONGEST_PAUSE, unless the process ran for WHILE_SECONDS.
# When the web server ends, requests here have GRACE_SECONDS to finish.
AGAIN_SECONDS, LONGEST_PAUSE, WHILE_SECONDS, GRACE_SECONDS = 1.0, 30.0, 60.0, 2
# The start is delayed, so that it does not slow down the first requests to the web server.
LATEST_START_SECONDS = 15.0
# This must be longer than the web server keeps its connections to this process.
KEEP_ALIVE_SECONDS = 130


@contextmanager
def running() -> Iterator[tuple[str, Callable[[], None]]]:
    """Run the process during the block, and restart it if it ends.

    It starts at the first heavy request or shortly after the web server. Yields the path of its
    socket and a function that requests the start.
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
        """Start the process and wait for its end; returns how it ended."""
        try:
            with self._lock:
                if self._stopping.is_set():
                    return "is no longer needed"
                # The pipe closes with this process even if it is killed, and so ends the child.
                # A session of its own can have a lower priority, and does not get Ctrl-C: the web
                # server does, and ends this process after its requests.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    start_new_session=True,
                    # This process counts the other's requests, too.
                    env={name: os.environ[name] for name in os.environ if name != COUNTS},
                )
        except OSError as error:
            # Memory or file descriptors ran out; they may be free again at the next try.
            return f"could not be started ({error})"
        return f"ended ({self._process.wait()})"

    def want(self) -> None:
        """Start the process now, because a request waits for it."""
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


def _end_with_parent() -> None:
    # `sys.stdin` would hold its lock when the interpreter ends.
    while os.read(sys.stdin.fileno(), 1):
        continue
    os.kill(os.getpid(), signal.SIGTERM)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Give way to annotators and pages once it can answer: requests wait for its start, and
        then it is short."""
        await super().startup(sockets)
        give_way(os.getpid(), get_settings().heavy_niceness)


def _be_ended_first() -> None:
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(OOM_SCORE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("socket")
    options = parser.parse_args()
    _be_ended_first()
    # Loading the application makes no garbage; app/main.py collects when it is loaded.
    gc.disable()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    config = uvicorn.Config(
        "app.main:served_heavy",
        factory=True,
        uds=options.socket,
        http="httptools",
        ws="none",
        access_log=False,
        # The web server adds its own headers to every response.
        server_header=False,
        date_header=False,
        # The client's address can be trusted: only the web server can reach the socket.
        forwarded_allow_ips="*",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _Server(config).run()


if __name__ == "__main__":
    main()
