"""What tests of imports share: a web server of images, and imports from start to end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.collections import importing
from app.collections.importing import run_import
from app.collections.models import Image
from app.core.database import transaction
from testbed.builders import a_png, an_account, sign_in
from testbed.settings import forget_settings


class Web(BaseHTTPRequestHandler):
    """Images by number, redirects, pages, trouble; and S3's way to list and to read."""

    failures = 0

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        name = path.rpartition("/")[2]
        if path == "/shop" and "list-type=2" in query:
            return self._reply(200, self._listing(), "application/xml")
        if name == "page.html":
            return self._reply(200, b"<html></html>", "text/html; charset=utf-8")
        if name.startswith("to-"):
            target = {"to-7": "/7.png", "to-inside": "http://inside.example/", "to-round": path}
            return self._reply(302, b"", "text/plain", Location=target[name])
        if name == "big.png":
            return self._reply(200, b"\0" * 5_000_000, "image/png")
        if name == "flaky.png" and Web.failures < 2:
            Web.failures += 1
            return self._reply(503, b"", "text/plain")
        if name == "flaky.png":
            return self._reply(200, a_png(77), "image/png")
        if name.removesuffix(".png").isdigit():
            return self._reply(200, a_png(int(name.removesuffix(".png"))), "image/png")
        return self._reply(404, b"nothing", "text/plain")

    def _listing(self) -> bytes:
        keys = ("open/1.png", "open/2.png", "open/deep/3.png", "open/table.csv")
        xml = "".join(
            f"<Contents><Key>{key}</Key><Size>100</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in keys
        )
        return (
            f"<ListBucketResult><IsTruncated>false</IsTruncated>{xml}</ListBucketResult>".encode()
        )

    def _reply(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def served_images() -> Iterator[str]:
    Web.failures = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def an_importer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Signed in; what fails is tried again at once."""
    monkeypatch.setattr(importing, "PAUSE_SECONDS", 0.0)
    account = an_account()
    sign_in(client, account)
    return account


def may_import_from_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """This server may read from inside its network."""
    monkeypatch.setenv("LIKEWISE_IMPORT_FROM_PRIVATE", "1")
    forget_settings()


def start(
    client: TestClient, collection: str, name: str = "", text: str = "", prefix: str = ""
) -> Any:
    files = {"manifest": (name, text.encode())} if name else None
    return client.post(
        f"/api/v1/collections/{collection}/imports", files=files, data={"prefix": prefix}
    )


def finished(client: TestClient, collection: str, begun: Any) -> dict[str, Any]:
    assert begun.status_code == 201, begun.text
    run_import(UUID(begun.json()["id"]), lambda: False)
    root = f"/api/v1/collections/{collection}/imports/{begun.json()['id']}"
    summary: dict[str, Any] = client.get(root).json()
    summary["problems"] = {
        row["row"]: row["code"] for row in client.get(f"{root}/problems").json()["items"]
    }
    return summary


def counts(summary: dict[str, Any]) -> tuple[int, int, int]:
    return summary["n_added"], summary["n_duplicates"], summary["n_rejected"]


def names_of(collection: str) -> list[str]:
    with transaction() as session:
        query = select(Image.filename).where(Image.collection_id == UUID(collection))
        return list(session.scalars(query.order_by(Image.position)))
