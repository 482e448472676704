"""Connections that say nothing, say it slowly, or do not listen, in the web server itself."""

import logging
import socket
import time
from contextlib import closing
from functools import partial
from typing import Any

import httpx
import pytest

from app.core import connections
from app.core.connections import (
    MOST_AHEAD,
    MOST_BYTES_AHEAD,
    LimitedProtocol,
    RepetitionFilter,
    allow_descriptors,
    is_believed,
)
from tests.support.web_server import a_connection, is_closed, served, until

SHORT = 0.6
LARGE = 8 * 2**20


async def an_application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    size = LARGE if scope["path"] == "/large" else 2
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(max(1, size // 2**16)):
        body = b"x" * min(size, 2**16)
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", SHORT)
    monkeypatch.setattr(connections, "PACE_SECONDS", SHORT)


def asked(connection: socket.socket) -> bytes:
    connection.setblocking(True)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    reply = b""
    while not reply.endswith(b"0\r\n\r\n"):
        reply += connection.recv(2**16)
    return reply


def test_who_says_nothing_or_dawdles_over_headers_is_not_waited_for() -> None:
    with (
        served(an_application) as port,
        closing(a_connection(port)) as silent,
        closing(a_connection(port)) as slow,
    ):
        slow.sendall(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        number = 0
        while not is_closed(slow):
            assert time.monotonic() - began < 20
            number += 1
            try:
                slow.sendall(b"X-%d: a\r\n" % number)
            except ConnectionError:
                break
            time.sleep(0.05)
        assert number > 2
        until(lambda: is_closed(silent))


def test_an_idle_connection_may_ask_again_but_not_dawdle() -> None:
    with served(an_application) as port, closing(a_connection(port)) as connection:
        assert b"200 OK" in asked(connection)
        time.sleep(2 * SHORT)
        assert not is_closed(connection)
        assert b"200 OK" in asked(connection)
        connection.sendall(b"GET / HT")
        until(lambda: is_closed(connection))


def test_newcomers_are_served_while_others_hold_all_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)
    monkeypatch.setattr(LimitedProtocol, "most_connections", 20)
    with served(an_application) as port:
        others = [a_connection(port) for _ in range(60)]
        until(lambda: sum(map(is_closed, others)) >= 40)
        for _ in range(10):
            assert httpx.get(f"http://127.0.0.1:{port}/", timeout=5).text == "xx"
        # Those that waited longest gave way.
        assert [is_closed(connection) for connection in others[:40]] == [True] * 40
        assert sum(map(is_closed, others)) <= 52
        for connection in others:
            connection.close()


def test_one_address_does_not_take_the_connections_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LimitedProtocol, "most_of_address", 5)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)
    with served(an_application, forwarded_allow_ips="10.0.0.1") as port:
        quiet = a_connection(port, "127.0.0.1")
        assert b"200 OK" in asked(quiet)
        greedy = [a_connection(port, "127.0.0.2") for _ in range(30)]
        until(lambda: sum(map(is_closed, greedy)) == 25)
        assert not is_closed(quiet)
        assert b"200 OK" in asked(quiet)
        for connection in [quiet, *greedy]:
            connection.close()
    # A proxy's connections are everybody's.
    with served(an_application, forwarded_allow_ips="127.0.0.0/8") as port:
        many = [a_connection(port, "127.0.0.2") for _ in range(30)]
        assert all(b"200 OK" in asked(connection) for connection in many)
        for connection in many:
            connection.close()


def test_who_does_not_read_is_given_up_and_who_reads_gets_it_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served(an_application) as port:
        with closing(a_connection(port)) as deaf:
            deaf.sendall(b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n")
            deaf.settimeout(20)
            time.sleep(4 * SHORT)
            received = 0
            try:
                while piece := deaf.recv(2**16):
                    received += len(piece)
            except ConnectionError:
                pass
            assert received < LARGE
        # A busy machine is no slow reader.
        monkeypatch.setattr(connections, "PACE_SECONDS", 20.0)
        assert len(httpx.get(f"http://127.0.0.1:{port}/large", timeout=20).content) == LARGE


def test_a_few_requests_may_be_sent_ahead_of_their_replies_and_no_more() -> None:
    request = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
    with served(an_application) as port:
        with closing(a_connection(port)) as patient:
            patient.sendall((1 + MOST_AHEAD) * request)
            replies = b""
            while replies.count(b"200 OK") <= MOST_AHEAD:
                replies += patient.recv(2**16)
        for much in (100 * request, request + b"GET / HTTP/1.1\r\nX: " + MOST_BYTES_AHEAD * b"x"):
            with closing(a_connection(port)) as hasty:
                hasty.sendall(much)
                until(partial(is_closed, hasty))
        with closing(a_connection(port)) as newcomer:
            assert b"200 OK" in asked(newcomer)


def test_rubbish_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    few = RepetitionFilter()
    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(few)
    try:
        with served(an_application) as port:
            for _ in range(40):
                with closing(a_connection(port)) as connection:
                    connection.sendall(b"\x00\x01rubbish\r\n\r\n")
                    connection.recv(100)
    finally:
        logger.removeFilter(few)
    records = [record for record in caplog.records if "Invalid HTTP request" in record.getMessage()]
    assert len(records) == 5


def test_errors_are_always_told() -> None:
    few = RepetitionFilter(most=1)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 1, "broken", (), None)
    assert all(few.filter(record) for _ in range(10))


def test_a_process_has_descriptors_for_its_connections() -> None:
    assert 16 <= allow_descriptors() <= connections.MOST_CONNECTIONS


@pytest.mark.parametrize(
    ("address", "proxies", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("7.0.0.1", "127.0.0.1", False),
        ("172.18.0.5", "127.0.0.1, 172.16.0.0/12", True),
        ("172.99.0.5", ["172.16.0.0/12"], False),
        ("::1", "::1", True),
        ("192.0.2.1", "*", True),
        ("", "127.0.0.1", True),
        ("192.0.2.1", "proxy.example", False),
    ],
)
def test_whose_connections_are_everybodys(
    address: str, proxies: str | list[str], expected: bool
) -> None:
    assert is_believed(address, proxies) is expected
