"""Requests forged through imports, which worked on another annotation server, tried on this one.

Each test names the advisory it comes from; all are of Label Studio.
"""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import httpcore
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections import fetch
from app.collections.importing import run_import
from app.collections.models import CollectionImport
from app.core.database import transaction
from app.core.guard import GuardedNetwork
from testbed.builders import a_png, an_account, sign_in
from tests.app.test_collections import a_collection_id


@pytest.fixture
def owner(client: TestClient) -> Account:
    account = an_account()
    sign_in(client, account)
    return account


class Inside(BaseHTTPRequestHandler):
    """A server inside the network, which nobody outside is to reach; it notes who came."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        data = a_png(1)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing to the terminal."""


@pytest.fixture
def inside() -> Iterator[tuple[int, list[str]]]:
    """Port and requests of a server inside."""
    handler = type("Handler", (Inside,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port, handler.asked  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


def imported(client: TestClient, *addresses: str) -> list[str]:
    """Codes of what became of addresses that a list names."""
    table = "\n".join(["url", *addresses]).encode()
    root = f"/api/v1/collections/{a_collection_id(client)}/imports"
    reply = client.post(
        root,
        files={"manifest": ("list.csv", table, "text/csv")},
    )
    assert reply.status_code in (201, 202), reply.text
    import_id = UUID(reply.json()["id"])
    run_import(import_id, lambda: False)
    with transaction() as session:
        assert session.get_one(CollectionImport, import_id).n_added == 0
    problems = client.get(f"{root}/{import_id}/problems").json()["items"]
    return [problem["code"] for problem in problems]


@pytest.mark.usefixtures("owner")
def test_a_list_of_images_reaches_nothing_inside(
    client: TestClient, inside: tuple[int, list[str]]
) -> None:
    """CVE-2022-36551, CVE-2023-47116: a server inside, read by an import that names it."""
    port, asked = inside
    hosts = ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0")
    codes = imported(client, *(f"http://{host}:{port}/secret.png" for host in hosts))
    assert codes == ["private_address"] * len(hosts)
    # Folders of the server may be a source where the operator names them.
    codes = imported(client, "file:///etc/passwd", "gopher://127.0.0.1/x")
    assert codes == ["source_not_allowed", "bad_address"]
    assert asked == []


@pytest.mark.usefixtures("owner")
def test_a_name_that_changes_its_mind_reaches_nothing_inside(
    client: TestClient, inside: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2023-47116: a name that is public when it is checked and inside when it is used."""
    _, asked = inside
    answers = [["93.184.215.14"], ["127.0.0.1"], ["127.0.0.1"]]
    connections: list[str] = []

    def resolve(*_: object, **__: object) -> list[Any]:
        addresses = answers.pop(0) if answers else ["127.0.0.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]

    def connect(_: object, host: str, *__: object, **___: object) -> None:
        connections.append(host)
        raise httpcore.ConnectError("not here")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    with pytest.raises(fetch.Unreachable):
        fetch.fetch("http://rebinding.test/1.png", 10**6)
    with pytest.raises(fetch.PrivateAddress):
        fetch.fetch("http://rebinding.test/1.png", 10**6)
    assert connections == ["93.184.215.14"]
    assert asked == []


class Outside(BaseHTTPRequestHandler):
    """A public server that sends whoever comes to one inside."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing to the terminal."""


@pytest.mark.usefixtures("owner")
def test_a_redirect_reaches_nothing_inside(
    client: TestClient, inside: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2023-47116: a public server that sends on to one inside."""
    port, asked = inside
    handler = type("Handler", (Outside,), {"target": f"http://127.0.0.1:{port}/secret.png"})
    public = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=public.serve_forever, daemon=True).start()
    real = fetch.checked_addresses

    def checked(host: str, to: int) -> list[str]:
        # The test's own server stands for a public one.
        return ["127.0.0.1"] if to == public.server_port else real(host, to)

    pool = httpcore.ConnectionPool(network_backend=GuardedNetwork(checked))
    monkeypatch.setattr(fetch, "_pool", lambda: pool)
    try:
        codes = imported(client, f"http://public.test:{public.server_port}/1.png")
    finally:
        public.shutdown()
        public.server_close()
    assert codes == ["private_address"]
    assert asked == []
