"""A small application behind the protocol of the real web server."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from app.core.connections import LimitedProtocol
from likewise.embedded import free_port


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def served(application: Any, **options: Any) -> Iterator[int]:
    """Its port, while the ASGI application is served."""
    port = free_port()
    config = uvicorn.Config(
        application, port=port, http=LimitedProtocol, lifespan="off", log_config=None,
        timeout_keep_alive=30, **options,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=(server.serve(),))
    thread.start()
    until(lambda: server.started)
    try:
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def a_connection(port: int, own: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(own, 0))


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed it; reads what lies there."""
    connection.setblocking(False)
    try:
        return connection.recv(2**16) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def until_closed(connection: socket.socket) -> bytes:
    """All that the server sends before it closes the connection."""
    connection.setblocking(True)
    connection.settimeout(20)
    received = b""
    try:
        while piece := connection.recv(2**16):
            received += piece
    except ConnectionError:
        pass
    return received
