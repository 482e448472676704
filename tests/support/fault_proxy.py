"""A network that fails: a TCP proxy before any server, whose connections a test delays, cuts,
resets or silences. It is what finds "committed, but the reply was lost".
"""

import asyncio
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Towards = Literal["client", "server"]
# Closing with this sends RST, as a machine does that has just been started again.
RESET = struct.pack("ii", 1, 0)
START_SECONDS = 10.0


@dataclass(eq=False)
class _Connection:
    """One client's connection and the proxy's own to the server."""

    client: StreamWriter
    server: StreamWriter
    passed: dict[Towards, int] = field(default_factory=lambda: {"client": 0, "server": 0})
    # A firewall that has forgotten a connection never remembers it again.
    silent: bool = False
    # What comes from the server from now on is taken, and the connection closed.
    doomed: bool = False

    def end(self, *, reset: bool) -> None:
        for writer in (self.client, self.server):
            opened = writer.get_extra_info("socket")
            if reset and opened is not None and opened.family != socket.AF_UNIX:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort() if reset else writer.close()


class FaultProxy:
    """Listens on `port` of 127.0.0.1 and passes on to `target`: a port there, or a Unix socket's
    path. All methods may be called from any thread while data flow."""

    def __init__(self, target: int | str) -> None:
        self.target = target
        self.port = 0
        self.n_lost = 0
        self._delay = 0.0
        self._silenced = False
        self._cut_after: dict[Towards, int] = {}
        self._needle: bytes | None = None
        self._refused: tuple[bytes, ...] = ()
        self._connections: set[_Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._listening: asyncio.Server | None = None

    # --- faults -----------------------------------------------------------------------------

    def delay(self, seconds: float) -> None:
        """Everything takes so much longer, in either direction; 0 ends it."""
        self._call(lambda: setattr(self, "_delay", seconds))

    def cut(self) -> None:
        """Close all connections; new ones are let through."""
        self._call(lambda: self._end_all(reset=False))

    def reset(self) -> None:
        """As `cut`, but without a farewell: RST."""
        self._call(lambda: self._end_all(reset=True))

    def black_hole(self) -> None:
        """Nothing is passed on and nobody is told, on connections that are there and on new ones,
        until `heal`; those that were silenced stay so for ever."""

        def silence() -> None:
            self._silenced = True
            for connection in self._connections:
                connection.silent = True

        self._call(silence)

    def cut_after(self, n_bytes: int, towards: Towards) -> None:
        """New connections are cut once so many bytes have gone to the client or to the server."""
        self._call(lambda: self._cut_after.update({towards: n_bytes}))

    def lose_reply_to(self, needle: bytes) -> None:
        """The next time that a client says `needle`, the server is told and answers, but its answer
        is lost with the connection. Counted in `n_lost`."""
        self._call(lambda: setattr(self, "_needle", needle))

    def refuse(self, *needles: bytes) -> None:
        """A connection ends as soon as its client says any of them; the server gets nothing."""
        self._call(lambda: setattr(self, "_refused", needles))

    def heal(self) -> None:
        """No more faults for new connections."""

        def forget() -> None:
            self._delay, self._silenced, self._needle, self._refused = 0.0, False, None, ()
            self._cut_after.clear()

        self._call(forget)

    @property
    def n_connections(self) -> int:
        return len(self._connections)

    # --- the way of the data ----------------------------------------------------------------

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            back, server = await self._connect()
        except OSError:
            writer.close()
            return
        connection = _Connection(writer, server, silent=self._silenced)
        self._connections.add(connection)
        ways = (self._pass(connection, reader, "server"), self._pass(connection, back, "client"))
        tasks = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The proxy is being closed; asyncio would log this as an error of ours.
            return
        finally:
            for task in tasks:
                task.cancel()
            connection.end(reset=False)
            self._connections.discard(connection)

    async def _connect(self) -> tuple[StreamReader, StreamWriter]:
        if isinstance(self.target, str):
            return await asyncio.open_unix_connection(self.target)
        return await asyncio.open_connection("127.0.0.1", self.target)

    async def _pass(self, connection: _Connection, source: StreamReader, towards: Towards) -> None:
        """Returns when the connection is to end."""
        sink = connection.server if towards == "server" else connection.client
        try:
            while data := await source.read(65_536):
                if self._delay:
                    await asyncio.sleep(self._delay)
                if connection.silent:
                    continue
                if towards == "client" and connection.doomed:
                    self.n_lost += 1
                    return
                if towards == "server" and any(needle in data for needle in self._refused):
                    return
                if towards == "server" and self._needle is not None and self._needle in data:
                    self._needle, connection.doomed = None, True
                left = self._cut_after.get(towards, len(data)) - connection.passed[towards]
                is_last = towards in self._cut_after and left <= len(data)
                sink.write(data[: max(left, 0)] if is_last else data)
                await sink.drain()
                connection.passed[towards] += len(data)
                if is_last:
                    return
        except OSError:
            return
        if connection.silent:
            # The other side's end is not seen either.
            await asyncio.Event().wait()

    # --- the thread -------------------------------------------------------------------------

    def _end_all(self, *, reset: bool) -> None:
        for connection in list(self._connections):
            connection.end(reset=reset)

    def _call(self, act: Callable[[], object]) -> None:
        """Do it in the proxy's thread, and be back when it is done."""

        async def acted() -> None:
            act()

        self._wait(acted())

    def _wait(self, work: Awaitable[None]) -> None:
        async def awaited() -> None:
            await work

        asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(START_SECONDS)

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._listening is not None:
            self._listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def start(self) -> None:
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._wait(self._listen())

    def stop(self) -> None:
        self._wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)


@contextmanager
def proxied(target: int | str) -> Iterator[FaultProxy]:
    """A proxy before `target` that lets everything through until it is told otherwise."""
    proxy = FaultProxy(target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()


def over_tcp(database_url: str, proxy: FaultProxy) -> str:
    """The address of a database behind a socket, by way of the proxy before it."""
    base, _, _ = database_url.partition("?")
    head, _, name = base.rpartition("/")
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.partition('@')[0]}@127.0.0.1:{proxy.port}/{name}"


def socket_of(database_url: str) -> str:
    """The path of the Unix socket that a database's address names."""
    folder = database_url.partition("?")[2].partition("host=")[2].partition("&")[0]
    return f"{folder}/.s.PGSQL.5432"
