"""An application served over HTTP, in the foreground or in a thread of a test."""

import socket
import time
from collections.abc import Callable
from threading import Thread
from typing import Self

import uvicorn
from starlette.types import ASGIApp

SECONDS_TO_START = 15


class Server:
    """Listens from the start, so that `url` is known; `serve` or `start` answers.

    make_app: makes the application from its own address; port 0 chooses a free port.
    """

    def __init__(
        self, make_app: Callable[[str], ASGIApp], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        # With IPPROTO_TCP, asyncio turns Nagle's algorithm off, which would add 40 ms per call.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((host, port))
        self.socket.listen()
        self.host, self.port = host, int(self.socket.getsockname()[1])
        self.url = f"http://{host}:{self.port}"
        config = uvicorn.Config(
            make_app(self.url), access_log=False, log_level="warning", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._run, name="emulator", daemon=True)

    def serve(self) -> None:
        """Serve in this thread until a signal comes."""
        self._run()

    def _run(self) -> None:
        self._server.run(sockets=[self.socket])

    def start(self) -> None:
        """Serve in a thread; raises RuntimeError if it does not start."""
        self._thread.start()
        limit = time.monotonic() + SECONDS_TO_START
        while not self._server.started:
            if time.monotonic() > limit or not self._thread.is_alive():
                raise RuntimeError("The emulator did not start.")
            time.sleep(0.005)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self.socket.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
