"""One process of the web server: `python -m likewise.web_server`."""

import argparse
import gc
import logging
import signal
import socket
import sys
from types import FrameType

from likewise import heavy_server

# Seconds that an idle connection stays open. Browsers and proxies (Caddy: two minutes) must close
# theirs earlier, because a request that is sent while the server closes the connection is lost.
KEEP_ALIVE_SECONDS = 130
# Connections that can wait to be accepted: a class of hundreds may arrive at the same moment.
BACKLOG = 2_048
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


def _shared(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    shared = socket.socket(family, kind, protocol)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    shared.bind(address)
    return shared


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
    with heavy_server.running() as (path, want):
        hand_over_to(path, want)
        server.run([_shared(options.host, options.port)] if options.shares else None)
    if not server.started:
        sys.exit(STARTUP_FAILURE)


if __name__ == "__main__":
    main()
