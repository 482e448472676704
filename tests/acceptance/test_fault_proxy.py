"""The failing network of the other tests fails as it says."""

import socket
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from testbed.servers import Servers
from testbed.system import wait_until
from tests.support.fault_proxy import FaultProxy, over_tcp, proxied, socket_of


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that says everything back, and counts in no way what it was told."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(4096):
                    connection.sendall(data)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.close()


@pytest.fixture
def proxy(echo: int) -> Iterator[FaultProxy]:
    with proxied(echo) as running:
        yield running


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[socket.socket]:
    with connect(proxy) as connected:
        yield connected


def connect(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def echoed(client: socket.socket, words: bytes = b"hello") -> bytes:
    client.sendall(words)
    return client.recv(4096)


def test_without_a_fault_everything_passes(client: socket.socket) -> None:
    assert echoed(client) == b"hello"


def test_a_delay_is_waited_for(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.delay(0.2)
    began = time.monotonic()
    assert echoed(client) == b"hello"
    assert time.monotonic() - began >= 0.4
    proxy.heal()
    began = time.monotonic()
    assert echoed(client) == b"hello"
    assert time.monotonic() - began < 0.2


def test_a_cut_connection_ends_and_a_new_one_is_let_through(
    proxy: FaultProxy, client: socket.socket
) -> None:
    assert echoed(client) == b"hello"
    proxy.cut()
    assert client.recv(4096) == b""
    with connect(proxy) as another:
        assert echoed(another) == b"hello"


def test_a_reset_connection_ends_with_an_error(proxy: FaultProxy, client: socket.socket) -> None:
    assert echoed(client) == b"hello"
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        client.recv(4096)


def test_nothing_comes_out_of_a_black_hole_and_what_fell_in_stays(
    proxy: FaultProxy, client: socket.socket
) -> None:
    assert echoed(client) == b"hello"
    proxy.black_hole()
    client.settimeout(0.3)
    with connect(proxy) as another:
        another.settimeout(0.3)
        for connected in (client, another):
            with pytest.raises(TimeoutError):
                echoed(connected)
    proxy.heal()
    with pytest.raises(TimeoutError):
        echoed(client)
    with connect(proxy) as another:
        assert echoed(another) == b"hello"


def test_a_connection_is_cut_after_so_many_bytes_to_either_side(proxy: FaultProxy) -> None:
    proxy.cut_after(8, "client")
    with connect(proxy) as connection:
        assert echoed(connection) == b"hello"
        assert echoed(connection) == b"hel"
        assert connection.recv(4096) == b""
    proxy.heal()
    proxy.cut_after(0, "server")
    with connect(proxy) as connection:
        assert echoed(connection) == b""


def test_a_server_that_is_not_there_is_a_closed_connection() -> None:
    with proxied(1) as proxy, connect(proxy) as connection:
        assert connection.recv(4096) == b""
        wait_until("the connection to be forgotten", lambda: proxy.n_connections == 0)


def test_a_commit_whose_reply_is_lost_has_happened(servers: Servers) -> None:
    url = servers.new_database()
    with proxied(socket_of(url)) as proxy:
        address = over_tcp(url, proxy).replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE word (word text)")
        lost = psycopg.connect(address)
        lost.execute("INSERT INTO word VALUES ('kept')")
        proxy.lose_reply_to(b"COMMIT")
        with pytest.raises(psycopg.OperationalError):
            lost.commit()
        assert proxy.n_lost == 1
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT word FROM word").fetchall() == [("kept",)]
    servers.drop_database(url)
