"""Bodies that are too large or too deep (test 23 of docs/acceptance.md)."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import orjson
import psutil
import pytest

from app.core.bodies import DEEPEST, MOST_BYTES, MOST_BYTES_OF_LISTS, is_deeper
from testbed.builders import a_campaign, an_account, an_api_token, sign_in
from testbed.system import System
from tests.support.people import a_person

UPLOADS = 8 * 2**20
PIECE = b" " * 2**16
ID = "018f0000-0000-7000-8000-000000000000"
# One of each kind: who may send how much where, whether they say how much it is or not.
LIMITS = {
    "/api/v1/campaigns": ("application/json", MOST_BYTES),
    f"/api/v1/campaigns/{ID}/focus": ("application/json", MOST_BYTES),
    f"/api/v1/campaigns/{ID}/links/{ID}/invitations": ("application/json", MOST_BYTES_OF_LISTS),
    "/api/v1/annotate/sessions": ("application/json", MOST_BYTES),
    f"/api/v1/annotate/leases/{ID}/answer": ("application/json", MOST_BYTES),
    "/sign-in": ("application/x-www-form-urlencoded", MOST_BYTES),
    f"/hooks/prolific/{ID}": ("application/json", MOST_BYTES),
    f"/api/v1/collections/{ID}/files": ("multipart/form-data; boundary=x", UPLOADS),
    f"/api/v1/collections/{ID}/imports": ("multipart/form-data; boundary=x", UPLOADS),
    f"/api/v1/campaigns/{ID}/known-answers": ("multipart/form-data; boundary=x", UPLOADS),
    f"/collections/{ID}/files": ("multipart/form-data; boundary=x", UPLOADS),
    "/campaigns/import": ("multipart/form-data; boundary=x", UPLOADS),
}
BEGIN = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    return {"LIKEWISE_MAX_UPLOAD_BYTES": str(UPLOADS)}


def a_body(content_type: str, size: int) -> Iterator[bytes]:
    """So many bytes that begin as the type does."""
    begin = BEGIN if content_type.startswith("multipart") else b'{"x": "'
    yield begin
    for _ in range((size - len(begin)) // len(PIECE)):
        yield PIECE
    yield b" " * ((size - len(begin)) % len(PIECE))


@pytest.mark.parametrize("path", LIMITS)
@pytest.mark.parametrize("how", ["declared", "chunked"])
def test_a_body_that_is_too_large_is_413(web: System, path: str, how: str) -> None:
    content_type, limit = LIMITS[path]
    headers = {"Content-Type": content_type}
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        sign_in(http, an_account())
        for size, is_refused in ((limit, False), (limit + 1, True)):
            body = a_body(content_type, size)
            declared = {"Content-Length": str(size)} if how == "declared" else {}
            reply = http.post(path, content=body, headers={**headers, **declared})
            assert (reply.status_code == 413) == is_refused, (size, reply.text[:200])
            assert reply.status_code < 500
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["code"] == "body_too_large"


@pytest.mark.parametrize("path", [path for path in LIMITS if LIMITS[path][1] > MOST_BYTES])
def test_strangers_send_no_more_than_a_form(web: System, path: str) -> None:
    """Files would lie on the disk, and long lists in memory, before a route asks who sends them."""
    content_type, limit = LIMITS[path]
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        for piece in a_body(content_type, limit):
            sent += len(piece)
            yield piece

    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as line:
        # Of what is announced nothing has to come.
        line.sendall(f"{head}Content-Length: {limit}\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 401 ")
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as line:
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for piece in body():
            line.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            if sent > MOST_BYTES:
                break
        assert line.recv(100).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("body", "depth"),
    [
        ({}, 1),
        ([[], [[]]], 3),
        ({"a": "[[[[{{\\", 'b"]': [{"c": "}]"}]}, 3),
        ([{"[": {"{": []}}] * 3, 4),
        ("[[[[", 0),
        (7, 0),
    ],
)
def test_depth_is_that_of_lists_and_objects_not_of_text(body: Any, depth: int) -> None:
    for text in (orjson.dumps(body), json.dumps(body, indent=2).encode()):
        assert not is_deeper(text, depth)
        assert depth == 0 or is_deeper(text, depth - 1)


def test_what_is_refused_is_not_read(web: System) -> None:
    """A gigabyte is announced: the answer comes before any of it is sent."""
    for path, (content_type, _) in LIMITS.items():
        with socket.create_connection(("127.0.0.1", web.port), timeout=60) as line:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
            line.sendall(f"{head}Content-Length: {2**30}\r\n\r\n".encode())
            assert line.recv(100).startswith(b"HTTP/1.1 413 "), path


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def replies_to(web: System, data: bytes) -> list[bytes]:
    """The status of each reply on one connection, until nothing more comes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=2) as line:
        line.sendall(data)
        received = b""
        with suppress(TimeoutError, ConnectionResetError):
            while piece := line.recv(65_536):
                received += piece
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", received)


def test_two_lengths_are_no_way_to_hide_a_request(web: System) -> None:
    """Request smuggling: what one server takes for a body, another takes for the next request."""
    post = b"POST /api/v1/annotate/sessions HTTP/1.1\r\nHost: localhost\r\n"
    assert replies_to(web, HEALTH + HEALTH) == [b"200", b"200"]
    lengths = b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(HEALTH)
    assert replies_to(web, post + lengths + HEALTH) == [b"400"]
    # A length next to chunks is refused, whatever it says (RFC 9112, 6.3), and what comes behind
    # is not read.
    for length in (0, 5, 5 + len(HEALTH)):
        both = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % length
        assert replies_to(web, post + both + HEALTH) == [b"400"]
    # And a request within a chunk is none.
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HEALTH), HEALTH)
    assert len(replies_to(web, post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)) == 1
    for coding in (b"xchunked", b"chunked, identity", b"identity"):
        statuses = replies_to(
            web, post + b"Transfer-Encoding: %s\r\n\r\n0\r\n\r\n" % coding + HEALTH
        )
        assert statuses in ([b"400"], [b"501"]), coding


def test_what_comes_in_chunks_is_not_kept(web: System) -> None:
    """The answer comes at the first byte too many; a hundred megabytes leave the server as it
    was, and lost."""
    process = psutil.Process(web.processes["web"].pid)
    head = "POST /api/v1/annotate/sessions HTTP/1.1\r\nHost: localhost\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = f"{len(PIECE):x}\r\n".encode() + PIECE + b"\r\n"
    too_many = MOST_BYTES // len(PIECE) + 1
    before = process.memory_info().rss
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as line:
        line.sendall(head.encode() + chunk * too_many)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
        for _ in range(100 * MOST_BYTES // len(PIECE)):
            line.sendall(chunk)
    assert process.memory_info().rss - before < 20 * MOST_BYTES


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"dry": ' + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1) + b"}", "too_deep"),
        (b"[" * 10_000 + b"]" * 10_000, "invalid_request"),
        (b'{"a": ' * 100_000, "invalid_request"),
        (b'{"name": NaN}', "invalid_request"),
        (b'{"name": "\\ud800"}', "invalid_request"),
        (b'{"name": "\xff"}', "invalid_request"),
    ],
    ids=["deep", "deeper", "unclosed", "nan", "surrogate", "bytes"],
)
def test_json_is_read_strictly(web: System, body: bytes, code: str) -> None:
    token = an_api_token(an_account())
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        http.headers["Content-Type"] = "application/json"
        for path in ("/api/v1/campaigns", "/api/v1/annotate/sessions"):
            headers = {"Authorization": f"Bearer {token}"}
            reply = http.post(path, content=body, headers=headers)
            assert (reply.status_code, reply.json()["code"]) == (422, code), reply.text[:200]


def test_what_annotators_send_is_not_too_large(web: System) -> None:
    """The longest trace that a page records, with what else there is in an answer."""
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        person = a_person(http, a_campaign(), "a-very-long-trace")
        lease = person.lease()
        trace = [[123_456.7 + k, "put", list(range(24)), 3] for k in range(5_000)]
        reply = person.submit(lease, trace=trace, descriptions=["x" * 500] * 10)
        assert reply.status_code == 200, reply.text[:200]
