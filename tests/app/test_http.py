"""HTTP/1.1 as the web server reads it: what is refused, and what an application hears of it."""

import asyncio
import logging
import socket
import time
from contextlib import closing, suppress
from typing import Any

import pytest

from app.core.connections import MOST_BYTES_AHEAD, MOST_HEAD_BYTES
from tests.support.web_server import a_connection, is_closed, served, until, until_closed

HEAD = b"POST /%s HTTP/1.1\r\nHost: here\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


class Application:
    """Reads the body to its end, or until the client has gone, and answers then. `/waits` waits for
    the client to go, `/late` until it is let go on, `/begun` in the midst of its response."""

    def __init__(self) -> None:
        self.headers: list[list[tuple[bytes, bytes]]] = []
        self.gone = 0
        self.begun = 0
        self.goes_on = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        start = {"type": "http.response.start", "status": 200, "headers": []}
        self.begun += 1
        if path == "/begun":
            await send(start)
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
        if path == "/waits":
            while (await receive())["type"] != "http.disconnect":
                continue
            self.gone += 1
            return
        while path in ("/late", "/begun") and not self.goes_on:
            await asyncio.sleep(0.01)
        while (message := await receive()).get("more_body"):
            continue
        self.gone += message["type"] == "http.disconnect"
        self.headers.append(list(scope["headers"]))
        if path != "/begun":
            await send(start)
        await send({"type": "http.response.body", "body": b"all of it", "more_body": False})


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        b"CONNECT here:443 HTTP/1.1\r\nHost: here\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + MOST_HEAD_BYTES * b"x" + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + 4_000 * b"X: a\r\n" + b"\r\n",
        b"GET /" + MOST_HEAD_BYTES * b"x" + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
    ],
    ids=lambda value: value[:40].decode(),
)
def test_what_servers_read_differently_is_refused(
    application: Application, request_: bytes
) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(request_)
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    assert application.begun == 0


def sent_until_closed(connection: socket.socket) -> int:
    sent = 0
    with suppress(ConnectionError):
        while not is_closed(connection) and sent < 100 * MOST_HEAD_BYTES:
            connection.setblocking(True)
            connection.sendall(1024 * b"x")
            sent += 1024
            time.sleep(0.005)
    return sent


@pytest.mark.parametrize(
    "forever",
    [
        HEAD % b"" + b"X: ",
        HEAD % b"" + CHUNKED + b"0\r\nX: ",
        HEAD % b"" + CHUNKED + b"1;x",
    ],
    ids=["header", "trailer", "chunk extension"],
)
def test_what_has_no_end_is_not_kept(application: Application, forever: bytes) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(forever)
        assert sent_until_closed(connection) < 10 * MOST_HEAD_BYTES
        until(lambda: application.gone == application.begun)


def test_trailers_are_no_headers(application: Application) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"" + CHUNKED + b"2\r\n{}\r\n0\r\nCookie: likewise=x\r\n\r\n")
        until(lambda: len(application.headers) == 1)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert until_closed(connection).count(b"200 OK") == 2
    assert [name for name, _ in application.headers[0]] == [b"host", b"transfer-encoding"]
    assert [name for name, _ in application.headers[1]] == [b"host", b"connection"]


def test_no_http_behind_the_head_gets_one_response(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"late" + CHUNKED)
        until(lambda: application.begun == 1)
        connection.sendall(b"no length of a chunk\r\n")
        received = until_closed(connection)
        application.goes_on = True
        until(lambda: application.gone == 1)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1") == 1
    assert b"all of it" not in received
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def test_no_http_behind_a_response_that_has_begun_ends_it(application: Application) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"begun" + CHUNKED)
        until(lambda: application.begun == 1)
        assert b"first" in connection.recv(2**16)
        connection.sendall(b"no length of a chunk\r\n")
        assert until_closed(connection) == b""
        application.goes_on = True
        until(lambda: application.gone == 1)


@pytest.mark.parametrize("ahead", [0, 2])
def test_who_goes_is_missed_by_every_request(application: Application, ahead: int) -> None:
    request = b"GET /waits HTTP/1.1\r\nHost: here\r\n\r\n"
    with served(application) as port:
        with closing(a_connection(port)) as connection:
            connection.sendall((1 + ahead) * request)
            until(lambda: application.begun == 1)
        until(lambda: application.gone == 1)


def test_an_upgrade_is_not_made_and_closes(application: Application) -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    with served(application, ws="none") as port, closing(a_connection(port)) as connection:
        connection.sendall(upgrade + b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        received = until_closed(connection)
    assert received.count(b"HTTP/1.1 200 OK") == 1
    assert b"connection: close" in received


def test_the_rest_of_a_body_behind_its_response_is_dropped(application: Application) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    with served(hasty) as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"" + b"Content-Length: 10\r\n\r\n")
        assert b" 413 " in connection.recv(2**16)
        connection.sendall(b"GET / HTTP" + HEAD % b"" + b"Connection: close\r\n\r\n")
        assert until_closed(connection).count(b" 413 ") == 1


def test_a_body_of_a_request_for_an_upgrade_is_not_lost_in_silence(
    application: Application,
) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}"
    with served(application, ws="none") as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"" + upgrade)
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    assert application.begun == 0


def test_requests_that_overlap_may_go_on_for_ever(application: Application) -> None:
    """Only what waits now is limited, not what has waited before."""
    request = b"GET / HTTP/1.1\r\nHost: here\r\nX: " + 1000 * b"x" + b"\r\n\r\n"
    with served(application) as port, closing(a_connection(port)) as connection:
        replies = b""
        connection.sendall(request)
        for n in range(3 * MOST_BYTES_AHEAD // len(request)):
            connection.sendall(request)
            while replies.count(b"200 OK") <= n:
                replies += connection.recv(2**16)


def test_a_body_behind_an_earlier_request_is_a_body_like_others(application: Application) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(b"GET /late HTTP/1.1\r\nHost: here\r\n\r\n")
        until(lambda: application.begun == 1)
        size = 4 * MOST_BYTES_AHEAD
        length = b"Connection: close\r\nContent-Length: %d\r\n\r\n" % size
        connection.sendall(HEAD % b"" + length)
        time.sleep(0.1)
        application.goes_on = True
        until(lambda: application.begun == 2)
        connection.sendall(size * b"x")
        assert until_closed(connection).count(b"200 OK") == 2


def test_no_http_behind_an_early_response_is_no_second_response() -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    with served(hasty) as port, closing(a_connection(port)) as connection:
        connection.sendall(HEAD % b"" + CHUNKED)
        assert b" 401 " in connection.recv(2**16)
        connection.sendall(b"no length of a chunk\r\n")
        assert b"HTTP/1.1" not in until_closed(connection)


@pytest.mark.parametrize("path", [b"", b"begun"])
def test_http_1_0_gets_no_chunks(application: Application, path: bytes) -> None:
    application.goes_on = True
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(b"GET /%s HTTP/1.0\r\n\r\n" % path)
        head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body == (b"firstall of it" if path else b"all of it")


@pytest.mark.parametrize("path", [b"/\xff", b"/?\xff", b"/?\xc3\xa9"])
def test_addresses_are_ascii(application: Application, path: bytes) -> None:
    with served(application) as port, closing(a_connection(port)) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n" % path)
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    assert application.begun == 0
