"""Limits on idle connections and on their number.

uvicorn closes a connection that is idle after a response, but waits forever for a first request,
for the end of its headers, and for a client that does not read. A few hundred such connections
would use up the file descriptors of the process. Here, headers must be complete in time, a client
must read at a minimum rate and may send only a few requests ahead of their responses, and if there
are too many connections, those that have waited longest without a request are closed to make room
for new ones.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar

from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

# The time limit for headers, from the start of the connection or the first byte of a later request.
HEADER_SECONDS = 15.0
# A client that reads less than this in the given time while a response waits has gone, or is an
# attacker.
PACE_SECONDS, PACE_BYTES = 20.0, 20 * 1024
# Maximum of bytes without a piece of a body or the end of a request: headers, trailers and what
# else the parser keeps until it is whole.
MOST_HEAD_BYTES = 16 * 1024
# Maximum number of requests, and of their bytes, that may arrive before the response to an earlier
# one is complete. Browsers send none.
MOST_AHEAD, MOST_BYTES_AHEAD = 8, 16 * 1024
# Maximum number of connections. The remaining descriptors are for the database, storage and files.
MOST_CONNECTIONS = 2_000
_OTHER_DESCRIPTORS = 256
_LENGTHS = (b"content-length", b"transfer-encoding")
# Maximum for one address. A proxy that uvicorn trusts carries everyone's connections, so it has no
# limit.
MOST_OF_ADDRESS = 1_000


def allow_descriptors() -> int:
    """Raise the descriptor limit as far as possible, and return how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, soft - _OTHER_DESCRIPTORS))


def is_believed(address: str, proxies: list[str] | str) -> bool:
    """Tell whether an address is one of the proxies that uvicorn trusts (FORWARDED_ALLOW_IPS)."""
    named = proxies.split(",") if isinstance(proxies, str) else proxies
    names = {name.strip() for name in named}
    if address in names or "*" in names:
        return True
    try:
        own = ip_address(address)
        return any(own in ip_network(name, strict=False) for name in names if "/" in name)
    except ValueError:
        # A Unix socket has no address; only a proxy on this machine can connect there.
        return not address


class _Refused(Exception):
    """Stops the parser: the client must not go on like this."""


class _WithoutChunks(RequestResponseCycle):
    """A request in HTTP/1.0, which knows no chunks: a response without a length ends with the
    connection."""

    _is_open_ended = False

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            names = {name.lower() for name, _ in message.get("headers", ())}
            if b"content-length" not in names:
                self._is_open_ended, self.chunked_encoding = True, False
        elif message["type"] == "http.response.body" and self._is_open_ended:
            left = 0 if not message.get("more_body", False) else sys.maxsize
            self.expected_content_length = left + len(message.get("body", b""))
        await super().send(message)


class LimitedProtocol(HttpToolsProtocol):
    """The HTTP/1.1 protocol of one connection, within the limits above. Requests that name no host,
    or several (RFC 9112, 3.2), and versions other than 1.0 and 1.1 are refused."""

    most_connections: ClassVar[int] = MOST_CONNECTIONS
    most_of_address: ClassVar[int] = MOST_OF_ADDRESS
    # Connections without a request in progress, the one that has waited longest first.
    _waiting: ClassVar[dict[LimitedProtocol, None]] = {}
    _of_address: ClassVar[dict[str, int]] = {}

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._patience: asyncio.TimerHandle | None = None
        self._pace: asyncio.TimerHandle | None = None
        self._unread = 0
        self._address = ""
        # The request that the application is at work on; `cycle` is the one that was read last.
        self._active: RequestResponseCycle | None = None
        self._is_in_body = False
        self._has_progress = False
        self._head_bytes = 0
        self._is_ahead = False
        self._ahead_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # This is the real peer, not the one that a proxy reports, because the limit protects
        # descriptors.
        self._address = str((transport.get_extra_info("peername") or [""])[0])
        self._of_address[self._address] = self._of_address.get(self._address, 0) + 1
        if not self._make_room():
            transport.abort()
            return
        self._waiting[self] = None
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.pop(self, None)
        left = self._of_address.pop(self._address, 1) - 1
        if left > 0:
            self._of_address[self._address] = left
        for timer in (self._patience, self._pace):
            if timer is not None:
                timer.cancel()
        self._disconnect()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # The time limit does not apply to the rest of a body whose response was sent before it
        # arrived.
        if self._patience is None and not self._is_in_body and self in self._waiting:
            self._wait_for_headers()
        self._has_progress = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._head_bytes = 0 if self._has_progress else self._head_bytes + len(data)
        if self._is_ahead and self._is_busy:
            self._ahead_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES or self._ahead_bytes > MOST_BYTES_AHEAD:
            self.send_400_response("The headers are too long.")
        elif self._is_in_body and not self._is_busy:
            self._wait_for_next()

    def send_400_response(self, msg: str) -> None:
        """Refuse what arrived, and close the connection. The application, if it is at work, finds
        the client disconnected: each request has one response at most, and none is another's."""
        is_answered = self._active is not None and self._active.response_started
        is_of_active = self._is_in_body and not self._is_ahead
        may_respond = not is_answered if is_of_active else not self._is_busy
        self._disconnect()
        if may_respond:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_ahead = self._is_busy

    def on_headers_complete(self) -> None:
        self._check_head()
        self._unset_keepalive_if_required()
        super().on_headers_complete()
        if self.parser.get_http_version() == "1.0":
            self.cycle.__class__ = _WithoutChunks
        # What follows the body is no part of the headers.
        self.headers = []
        self._has_progress = self._is_in_body = True
        self._waiting.pop(self, None)
        self._stop_waiting()

    def on_body(self, body: bytes) -> None:
        self._has_progress = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_progress, self._is_in_body = True, False
        super().on_message_complete()
        if not self._is_busy and not self.transport.is_closing():
            self._wait_for_next()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            # Put it last among the connections that may be closed.
            self._waiting[self] = None
        super().on_response_complete()
        # What was written is small enough to be buffered, so the client may never have read it.
        if self._pace is None and self.transport.get_write_buffer_size():
            self._watch_pace()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        if not self.pipeline:
            self._is_ahead, self._ahead_bytes = False, 0
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no upgrade were wanted. What may follow is dropped by the parser."""
        self.cycle.keep_alive = False

    def _wait_for_next(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    @property
    def _is_busy(self) -> bool:
        return self._active is not None and not self._active.response_complete

    def _check_head(self) -> None:
        """Refuse what would be read in different ways by different servers."""
        version = self.parser.get_http_version()
        hosts = sum(name == b"host" for name, _ in self.headers)
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if hosts > 1 or (version == "1.1" and hosts == 0) or version not in ("1.0", "1.1"):
            raise _Refused
        if size > MOST_HEAD_BYTES or len(self.pipeline) >= MOST_AHEAD or not self.url.isascii():
            raise _Refused
        # The parser drops the body of a request for an upgrade.
        if self.parser.should_upgrade() and any(name in _LENGTHS for name, _ in self.headers):
            raise _Refused

    def _disconnect(self) -> None:
        """Tell the application, for every request that it has not yet responded to."""
        for cycle in (self._active, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._pace is None:
            self._watch_pace()

    def resume_writing(self) -> None:
        if self._pace is not None:
            self._pace.cancel()
            self._pace = None
        super().resume_writing()

    def _watch_pace(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._pace = self.loop.call_later(PACE_SECONDS, self._check_pace)

    def _check_pace(self) -> None:
        self._pace = None
        left = self.transport.get_write_buffer_size()
        if left and self._unread - left < PACE_BYTES:
            self.transport.abort()
        elif left:
            self._watch_pace()

    def _wait_for_headers(self) -> None:
        self._patience = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        self.transport.abort()

    def _make_room(self) -> bool:
        """Close the connection that has waited longest, if there are too many; False if none is
        waiting."""
        if len(self.connections) > self.most_connections:
            return self._close_waiting("")
        if self._of_address[self._address] > self.most_of_address and not self._is_proxy():
            return self._close_waiting(self._address)
        return True

    def _close_waiting(self, address: str) -> bool:
        for other in self._waiting:
            if not address or other._address == address:
                self._waiting.pop(other)
                other.transport.abort()
                return True
        return False

    def _is_proxy(self) -> bool:
        return is_believed(self._address, self.config.forwarded_allow_ips)


class RepetitionFilter(logging.Filter):
    """Logs a message only a few times a minute, so that invalid traffic does not fill the log."""

    def __init__(self, most: int = 5, seconds: float = 60.0) -> None:
        super().__init__()
        self._most, self._seconds = most, seconds
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING and record.name != "asyncio":
            return True
        if len(self._seen) > 100:
            self._seen.clear()
        since, n = self._seen.get(record.msg, (record.created, 0))
        if record.created - since >= self._seconds:
            since, n = record.created, 0
        self._seen[record.msg] = (since, n + 1)
        return n < self._most
