"""One process of the web server: `python -m likewise.web_server`."""

import argparse
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import Any

from likewise import heavy_server

# Seconds that an idle connection stays open. Browsers and proxies (Caddy: two minutes) must close
# theirs earlier, because a request that is sent while the server closes the connection is lost.
KEEP_ALIVE_SECONDS = 130
# Connections that can wait to be accepted: a class of hundreds may arrive at the same moment.
BACKLOG = 2_048
PARENT_SECONDS = 1.0
# As uvicorn's own command.
STARTUP_FAILURE = 3

# glibc gives threads separate heaps, sixteen on two cores, and each keeps the memory of its largest
# request. After 20,000 hostile requests, two heaps had grown by 2 %, sixteen by 7 %.
VARIABLES = {"MALLOC_ARENA_MAX": "2"}


def command(
    host: str, port: int, grace_seconds: int | None = None, *, shares: bool = False
) -> list[str]:
    """The module to run and its arguments. shares: whether the port is shared with other processes,
    among which Linux distributes connections."""
    grace = [] if grace_seconds is None else ["--grace", str(grace_seconds)]
    sharing = ["--shares"] if shares else []
    return ["likewise.web_server", "--host", host, "--port", str(port), *grace, *sharing]


def _shared(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of the host, as asyncio makes them, that others may bind,
    too."""
    addresses = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return [_bound(family, address) for family, _, _, _, address in dict.fromkeys(addresses)]


def _bound(family: int, address: Any) -> socket.socket:
    shared = socket.socket(family, socket.SOCK_STREAM)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        shared.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    shared.bind(address)
    return shared


def _end_with_parent() -> None:
    """Processes that share a port do not outlive the one that started them: with the next ones,
    they would go on to serve what is out of date."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _end(number: int, frame: FrameType | None) -> None:
    """Exit cleanly when uvicorn raises the signal again, so that the heavy process ends too."""
    raise SystemExit(128 + number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--grace", type=int, help="seconds that open requests have to finish")
    parser.add_argument("--shares", action="store_true", help="share the port with others")
    options = parser.parse_args()
    import uvicorn

    from app.core.connections import LimitedProtocol, RepetitionFilter, allow_descriptors
    from app.core.heavy import hand_over_to

    # Loading the application makes no garbage; app/main.py collects when it is loaded.
    gc.disable()
    LimitedProtocol.most_connections = allow_descriptors()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(RepetitionFilter())
    signal.signal(signal.SIGTERM, _end)
    server = uvicorn.Server(
        uvicorn.Config(
            "app.main:served",
            factory=True,
            host=options.host,
            port=options.port,
            http=LimitedProtocol,
            ws="none",
            access_log=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=options.grace,
        )
    )
    sockets = _shared(options.host, options.port) if options.shares else None
    if options.shares:
        _end_with_parent()
    with heavy_server.running() as (path, want):
        hand_over_to(path, want)
        server.run(sockets)
    if not server.started:
        sys.exit(STARTUP_FAILURE)


if __name__ == "__main__":
    main()
