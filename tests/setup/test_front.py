"""A real Caddy with our Caddyfile in front of several web servers, some of which fail.

The web servers are small ones that count; tests/setup/test_caddy.py holds the file against ours.
"""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from likewise.embedded import free_port
from testbed.caddy import PROGRAM, caddy_environment, needs_caddy, running_caddy
from testbed.servers import ROOT
from testbed.system import wait_until

pytestmark = needs_caddy
# What Caddy's fail_duration would be, if it were used.
PENALTY_SECONDS = 4.0
SPOOFED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self.server.may_answer.wait()
        elif self.path == "/ends":
            # As a server does that refuses to read on.
            self.server.n_ended += 1
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        elif self.path == "/events":
            self._send_events()
            return
        self._answer(self.headers.get("X-Forwarded-For", "") + " "
                     + self.headers.get("X-Forwarded-Proto", ""))  # fmt: skip

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/ends":
            self.close_connection = True
        else:
            self._answer("")

    def _answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Server-Port", str(self.server.server_port))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(3):
            self.wfile.write(f"data: {number}\n\n".encode())
            self.server.may_answer.wait()
            self.server.may_answer.clear()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.bodies: list[bytes] = []
        self.n_ended = 0
        self.connections: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def end(self) -> None:
        """As the end of a process does it: with all connections."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Web:
    """A web server that can be stopped and started again."""

    port: int = field(default_factory=free_port)
    server: _Server | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self.server = _Server(self.port)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.end()
            self.server = None

    @property
    def running(self) -> _Server:
        assert self.server is not None
        return self.server


@contextmanager
def webs(n: int) -> Iterator[list[Web]]:
    with ExitStack() as stack:
        servers = [Web() for _ in range(n)]
        for web in servers:
            web.start()
            stack.callback(web.stop)
        yield servers


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Callable[..., tuple[httpx.Client, list[Web]]]]:
    """Starts Caddy over so many web servers."""
    with ExitStack() as stack:

        def begin(n: int, **variables: str) -> tuple[httpx.Client, list[Web]]:
            servers = stack.enter_context(webs(n))
            addresses = [web.address for web in servers]
            url = stack.enter_context(running_caddy(tmp_path, addresses, **variables))
            return stack.enter_context(httpx.Client(base_url=url, timeout=30)), servers

        yield begin


Front = Callable[..., tuple[httpx.Client, list[Web]]]


def answering(client: httpx.Client, n: int = 12) -> set[int]:
    """The ports of the servers that answer so many requests. Fails if one is not answered."""
    replies = [client.get("/") for _ in range(n)]
    assert {reply.status_code for reply in replies} == {200}
    return {int(reply.headers["Server-Port"]) for reply in replies}


def test_requests_go_to_all_servers_but_not_to_a_stopped_one(front: Front) -> None:
    client, (first, second, third) = front(3)
    assert answering(client) == {first.port, second.port, third.port}
    first.stop()
    assert answering(client) == {second.port, third.port}
    for number in range(6):
        assert client.post("/", content=f"answer {number}").is_success
    bodies = [*second.running.bodies, *third.running.bodies]
    assert sorted(bodies) == [f"answer {number}".encode() for number in range(6)]
    first.start()
    wait_until("the first server to be used again", lambda: first.port in answering(client), 20)


def test_a_server_that_hangs_is_left_out_until_it_answers(front: Front) -> None:
    client, (first, second) = front(2)
    first.running.may_answer.clear()
    wait_until("it to be left out", lambda: answering(client) == {second.port}, 40)
    first.running.may_answer.set()
    wait_until("it to be used again", lambda: first.port in answering(client), 20)


def test_servers_that_are_not_there_at_all_are_left_out(tmp_path: Path) -> None:
    with webs(1) as [web]:
        missing = ["likewise-web-2.invalid:8000", f"127.0.0.1:{free_port()}"]
        with (
            running_caddy(tmp_path, [*missing, web.address]) as url,
            httpx.Client(base_url=url, timeout=30) as client,
        ):
            assert answering(client) == {web.port}
    # Not a line every two seconds.
    assert "health_checker" not in (tmp_path / "caddy.log").read_text()


def test_a_request_waits_for_the_only_server_to_be_started_again(front: Front) -> None:
    client, [web] = front(1)
    assert answering(client) == {web.port}
    web.stop()
    again = threading.Timer(1.0, web.start)
    again.start()
    assert client.post("/", content=b"answer").is_success
    again.join()
    assert web.running.bodies == [b"answer"]


def test_nobody_takes_the_only_server_from_others_by_requests_that_fail(front: Front) -> None:
    client, [web] = front(1)
    for _ in range(5):
        assert client.get("/ends").status_code == 502
        began = time.monotonic()
        assert answering(client, 1) == {web.port}
        # It does not wait for a time of penalty to be over.
        assert time.monotonic() - began < PENALTY_SECONDS


def test_a_request_that_has_reached_a_server_is_not_repeated(front: Front) -> None:
    client, servers = front(2)

    def count() -> int:
        return sum(len(web.running.bodies) for web in servers)

    assert client.post("/ends", content=b"answer").status_code == 502
    assert count() == 1
    assert client.get("/ends").status_code == 502
    assert sum(web.running.n_ended for web in servers) == 1


def test_events_are_handed_on_as_they_come(front: Front) -> None:
    client, [web] = front(1)
    web.running.may_answer.clear()
    with client.stream("GET", "/events") as reply:
        lines = reply.iter_lines()
        for number in range(3):
            # The next one is not sent before.
            assert next(lines) == f"data: {number}"
            assert next(lines) == ""
            web.running.may_answer.set()


def test_what_clients_say_of_themselves_is_replaced(front: Front) -> None:
    client, _ = front(1)
    assert client.get("/", headers=SPOOFED).text == "127.0.0.1 http"


def test_what_a_trusted_proxy_says_is_kept(front: Front) -> None:
    client, _ = front(1, LIKEWISE_TRUSTED_PROXIES="127.0.0.0/8 172.16.0.0/12")
    assert client.get("/", headers=SPOOFED).text == "203.0.113.9, 127.0.0.1 https"


def test_browsers_are_not_told_to_come_by_https_over_http(front: Front) -> None:
    client, _ = front(1)
    assert "strict-transport-security" not in client.get("/").headers


def test_caddy_accepts_the_file_as_it_is_formatted(tmp_path: Path) -> None:
    assert PROGRAM is not None
    for command in (["validate"], ["fmt", "--diff"]):
        config = ["--config", "Caddyfile"] if command == ["validate"] else ["Caddyfile"]
        done = subprocess.run(
            [PROGRAM, *command, *config],
            cwd=ROOT,
            env=caddy_environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
