"""HTTP over a plain socket: sends bytes as they are, right or wrong, and reads what comes back."""

import http.client
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

# Longer than anything may take, so that a hang is told from what is slow.
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class RawRequest:
    """Bytes for a server. kind: what is wrong with them; route: which route they are for.

    is_cut: the rest never comes, and no answer is waited for. closes: the connection cannot be used
    again, because the two sides may disagree on where the request ends.
    """

    data: bytes
    method: str
    route: str
    kind: str
    is_cut: bool = False
    closes: bool = False


@dataclass(frozen=True)
class RawReply:
    """status 0: the server closed the connection without a word; −1: no answer came in time."""

    status: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Line:
    """A connection that is kept alive while it can be."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._used = False

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def ask(self, request: RawRequest) -> RawReply:
        """One request and its answer. An idle connection that the server has closed meanwhile is
        made anew."""
        reply = self._ask(request)
        if reply.status == 0 and self._used:
            self.close()
            reply = self._ask(request)
        self._used = not (request.closes or request.is_cut or reply.status <= 0)
        if not self._used or reply.headers.get("connection", "").lower() == "close":
            self._used = False
            self.close()
        return reply

    def _ask(self, request: RawRequest) -> RawReply:
        if self._socket is None:
            address = ("127.0.0.1", self._port)
            self._socket = socket.create_connection(address, timeout=PATIENCE_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._used = False
        started = time.perf_counter()
        # A server may answer and close before it has read everything.
        with suppress(OSError):
            self._socket.sendall(request.data)
        if request.is_cut:
            return RawReply(0, time.perf_counter() - started)
        try:
            return self._read(request, started)
        except TimeoutError:
            return RawReply(-1, time.perf_counter() - started)
        except (OSError, http.client.HTTPException):
            return RawReply(0, time.perf_counter() - started)

    def _read(self, request: RawRequest, started: float) -> RawReply:
        assert self._socket is not None
        reply = http.client.HTTPResponse(self._socket, method=request.method)
        reply.begin()
        headers = {name.lower(): value for name, value in reply.getheaders()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            # Goes on for ever.
            headers["connection"] = "close"
            return RawReply(reply.status, time.perf_counter() - started, headers)
        body = reply.read()
        return RawReply(reply.status, time.perf_counter() - started, headers, body)
