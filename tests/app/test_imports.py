"""Imports: lists and object storage, what is refused, and that a killed worker loses nothing."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import httpcore
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.collections import addresses, fetch, importing
from app.collections.addresses import BadAddress, NotReadable, read_object
from app.collections.importing import run_import
from app.collections.imports import requeue_lost_imports
from app.collections.models import CollectionImport, Image
from app.core.database import transaction
from app.core.guard import GuardedNetwork
from app.core.outbox import OutboxMessage
from testbed.builders import a_png, an_account, sign_in
from tests.app.test_collections import a_collection_id
from tests.conftest import forget_settings
from tests.support.receiver import a_trickle


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


@pytest.fixture
def web() -> Iterator[str]:
    Web.failures = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def owner(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Account:
    monkeypatch.setattr(importing, "PAUSE_SECONDS", 0.0)
    account = an_account()
    sign_in(client, account)
    return account


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> None:
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


# --- lists -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("owner", "private")
def test_good_rows_of_a_list_come_in_and_bad_ones_are_told(client: TestClient, web: str) -> None:
    collection = a_collection_id(client)
    lines = [
        "url,filename,colour,feature_0,feature_1",
        f"{web}/1.png,first.png,red,1,2",
        f"{web}/2.png,,blue,3,4",
        f"{web}/1.png,again.png,green,5,6",
        f"{web}/404.txt,,,,",
        f"{web}/page.html,,,,",
        f"{web}/to-7,,,,",
        f"{web}/to-round,,,,",
        f"{web}/flaky.png,,,,",
        "relative.png,,,,",
        ",,,,",
        f"{web}/3.png,,red,one,2",
        f"{web}/4.png,too few",
        f"{web}/5.png,,red,1,",
        "ftp://example.org/1.png,,,,",
        "http://me:secret@example.org/1.png,,,,",
    ]
    summary = finished(client, collection, start(client, collection, "list.csv", "\n".join(lines)))
    assert (summary["state"], summary["n_rows"], summary["n_done"]) == ("done", 15, 15)
    assert counts(summary) == (4, 1, 10)
    assert summary["problems"] == {
        5: "not_found",
        6: "not_an_image",
        8: "too_many_redirects",
        10: "bad_address",
        11: "no_address",
        12: "bad_attribute_table",
        13: "bad_line",
        14: "bad_attribute_table",
        15: "bad_address",
        16: "bad_address",
    }
    assert names_of(collection) == ["first.png", "2.png", "to-7", "flaky.png"]
    images = client.get(f"/api/v1/collections/{collection}/images").json()["items"]
    # The last row about an image counts, as in a table.
    assert [image["attributes"].get("colour") for image in images[:2]] == ["green", "blue"]
    assert [image["n_features"] for image in images] == [2, 2, 0, 0]


@pytest.mark.usefixtures("owner", "private")
def test_json_lines_and_what_fits_no_other_image(client: TestClient, web: str) -> None:
    collection = a_collection_id(client)
    lines = [
        json.dumps({"url": f"{web}/1.png", "features": [1, 2], "new": True, "price": 2.5}),
        json.dumps({"url": f"{web}/2.png", "attributes": {"colour": "red", "none": None}}),
        json.dumps({"url": f"{web}/3.png", "features": [1, 2, 3]}),
        json.dumps({"url": f"{web}/4.png", "tags": ["a", "b"]}),
        "not json",
        '"text"',
    ]
    summary = finished(
        client, collection, start(client, collection, "list.jsonl", "\n".join(lines))
    )
    assert counts(summary) == (3, 0, 4)
    assert summary["problems"] == {3: "bad_features", 4: "bad_line", 5: "bad_line", 6: "bad_line"}
    images = client.get(f"/api/v1/collections/{collection}/images").json()["items"]
    assert [image["attributes"] for image in images] == [
        {"new": "true", "price": "2.5"},
        {"colour": "red"},
        {},
    ]
    assert [image["n_features"] for image in images] == [2, 0, 0]


@pytest.mark.usefixtures("owner")
def test_a_list_that_cannot_be_read_begins_nothing(client: TestClient) -> None:
    collection = a_collection_id(client)
    for name, text, message in (
        ("list.csv", "filename,colour\na.png,red\n", "'url', 'path' or 'key'"),
        ("list.csv", "url\n", "is empty"),
        ("list.json", '[{"url": "https://example.org/1.png"}]', "JSON Lines"),
        ("list.csv", "url,url\nx,y\n", "a unique name"),
        ("list.csv", "url\n\0\n", "NUL"),
    ):
        reply = start(client, collection, name, text)
        assert reply.status_code == 422
        assert message in reply.json()["detail"]
    assert start(client, collection).status_code == 422
    assert client.get(f"/api/v1/collections/{collection}/imports").json()["items"] == []


@pytest.mark.usefixtures("owner", "private")
def test_what_failed_can_be_tried_again(
    client: TestClient, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = a_collection_id(client)
    monkeypatch.setattr(importing, "TRIES", 1)
    text = f"url\n{web}/1.png\n{web}/flaky.png\n{web}/nothing.txt\n"
    begun = start(client, collection, "list.csv", text)
    summary = finished(client, collection, begun)
    assert summary["problems"] == {3: "unreachable", 4: "not_found"}
    monkeypatch.setattr(importing, "TRIES", 3)
    root = f"/api/v1/collections/{collection}/imports"
    again = finished(client, collection, client.post(f"{root}/{summary['id']}/retry"))
    assert counts(again) == (1, 0, 1)
    assert again["problems"] == {4: "not_found"}
    table = client.get(f"{root}/{again['id']}/problems.csv").text.splitlines()
    assert table[0] == "row,address,code,reason"
    assert table[1].startswith(f"4,{web}/nothing.txt,not_found,")


# --- killed, cancelled, deleted --------------------------------------------------------------


@pytest.mark.usefixtures("private")
def test_whoever_takes_over_goes_on_where_a_killed_worker_was(
    client: TestClient, owner: Account, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = a_collection_id(client)
    text = "url\n" + "".join(f"{web}/{k}.png\n" for k in range(40))
    begun = start(client, collection, "list.csv", text).json()
    asked: list[str] = []
    before, write = fetch.fetch, importing._write

    def noted(address: str, limit: int) -> bytes:
        asked.append(address)
        return before(address, limit)

    def killed(*arguments: Any) -> None:
        write(*arguments)
        if len(asked) > 16:
            raise KeyboardInterrupt

    monkeypatch.setattr(importing, "fetch", noted)
    monkeypatch.setattr(importing, "_write", killed)
    # The second batch's transaction never commits, as when the process is killed in it.
    with pytest.raises(KeyboardInterrupt):
        run_import(UUID(begun["id"]), lambda: False)
    assert len(names_of(collection)) == 16
    monkeypatch.setattr(importing, "_write", write)

    # Nobody else gets it while the lease lasts; then it is queued again, with a message.
    run_import(UUID(begun["id"]), lambda: False)
    assert len(names_of(collection)) == 16
    with transaction() as session:
        assert requeue_lost_imports(session) == 0
        session.execute(update(CollectionImport).values(lease_until=func.now()))
    with transaction() as session:
        assert requeue_lost_imports(session) == 1
        assert session.query(OutboxMessage).count() == 2
    asked.clear()
    summary = finished(client, collection, _created(begun))
    assert counts(summary) == (40, 0, 0)
    assert asked == [] or min(int(a.rpartition("/")[2][:-4]) for a in asked) == 16
    assert names_of(collection) == [f"{k}.png" for k in range(40)]


def _created(begun: dict[str, Any]) -> Any:
    class Reply:
        status_code = 201
        text = ""

        def json(self) -> dict[str, Any]:
            return begun

    return Reply()


@pytest.mark.usefixtures("owner", "private")
def test_an_import_that_kills_its_worker_again_and_again_ends(
    client: TestClient, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = a_collection_id(client)
    begun = start(client, collection, "list.csv", f"url\n{web}/1.png\n").json()

    def deadly(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "_write", deadly)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_import(UUID(begun["id"]), lambda: False)
        with transaction() as session:
            session.execute(update(CollectionImport).values(lease_until=func.now()))
        with transaction() as session:
            requeue_lost_imports(session)
    summary = client.get(f"/api/v1/collections/{collection}/imports/{begun['id']}").json()
    assert summary["state"] == "failed"
    assert "stopped 3 times" in summary["error"]


@pytest.mark.usefixtures("owner", "private")
def test_a_cancelled_import_keeps_what_came_and_a_stopped_worker_gives_it_back(
    client: TestClient, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker asks whether to stop between batches alone.
    monkeypatch.setattr(importing, "GLANCE_SECONDS", 60.0)
    collection = a_collection_id(client)
    text = "url\n" + "".join(f"{web}/{k}.png\n" for k in range(48))
    begun = start(client, collection, "list.csv", text).json()
    root = f"/api/v1/collections/{collection}/imports/{begun['id']}"
    asked = 0

    def after_two() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    run_import(UUID(begun["id"]), after_two)
    summary = client.get(root).json()
    assert (summary["state"], summary["n_done"]) == ("queued", 16)

    def cancels() -> bool:
        if client.get(root).json()["n_done"] == 32:
            assert client.post(f"{root}/cancel").json()["state"] == "cancelled"
        return False

    run_import(UUID(begun["id"]), cancels)
    summary = client.get(root).json()
    assert (summary["state"], summary["n_done"], len(names_of(collection))) == ("cancelled", 32, 32)
    assert client.post(f"{root}/cancel").json()["code"] == "import_ended"
    rest = finished(client, collection, client.post(f"{root}/retry"))
    assert counts(rest) == (16, 0, 0)


@pytest.mark.usefixtures("owner", "private")
def test_a_collection_may_be_deleted_while_its_import_goes_on(client: TestClient, web: str) -> None:
    collection = a_collection_id(client)
    text = "url\n" + "".join(f"{web}/{k}.png\n" for k in range(20))
    begun = start(client, collection, "list.csv", text).json()

    def deletes() -> bool:
        path = f"/api/v1/collections/{collection}"
        client.delete(path, params={"name": "Pictures"})
        return False

    run_import(UUID(begun["id"]), deletes)
    assert client.get(f"/api/v1/collections/{collection}").status_code == 404
    with transaction() as session:
        assert session.query(Image).count() == 0


# --- slow hosts ------------------------------------------------------------------------------


@pytest.mark.usefixtures("environment", "private")
@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50,
        b"HTTP/1.1 200 OK\r\ncontent-length: 300\r\n\r\n" + b"x" * 300,
    ],
    ids=["headers", "body"],
)
def test_a_host_that_trickles_holds_nobody(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then: each read alone is quick, all of them together are not."""
    monkeypatch.setattr(fetch, "FILE_SECONDS", 1.0)
    begun = time.monotonic()
    with a_trickle(reply, 0.02) as url, pytest.raises(fetch.Unreachable):
        fetch.fetch(url, 10**6)
    assert time.monotonic() - begun < 2


@pytest.mark.usefixtures("environment", "private")
def test_redirects_share_the_time_of_one_file(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "FILE_SECONDS", 1.0)
    reply = f"HTTP/1.1 302 Found\r\nlocation: {web}/1.png\r\ncontent-length: 0\r\n\r\n"
    with a_trickle(reply.encode(), 0.6 / len(reply)) as url:
        assert fetch.fetch(url, 10**6) == a_png(1)
    with (
        a_trickle(reply.encode(), 0.6 / len(reply)) as last,
        a_trickle(reply.replace(f"{web}/1.png", last).encode(), 0.6 / len(reply)) as url,
        pytest.raises(fetch.Unreachable),
    ):
        fetch.fetch(url, 10**6)


@pytest.mark.usefixtures("owner", "private")
def test_a_worker_that_shall_stop_does_not_wait_for_slow_hosts(
    client: TestClient, web: str
) -> None:
    collection = a_collection_id(client)
    with a_trickle(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 30) as url:
        begun = start(client, collection, "list.csv", f"url\n{web}/1.png\n{url}\n").json()
        since = time.monotonic()
        run_import(UUID(begun["id"]), lambda: time.monotonic() > since + 0.5)
        assert time.monotonic() - since < 3
    summary = client.get(f"/api/v1/collections/{collection}/imports/{begun['id']}").json()
    assert (summary["state"], summary["n_done"]) == ("queued", 0)


# --- object storage --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that imports may read, beside one that they may not."""
    (tmp_path / "open" / "sub").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.png").write_bytes(a_png(99))
    for k in range(3):
        (tmp_path / "open" / f"{k}.png").write_bytes(a_png(k))
    (tmp_path / "open" / "sub" / "a b%20c.png").write_bytes(a_png(3))
    (tmp_path / "open" / "notes.txt").write_text("no image")
    (tmp_path / "open" / "link.png").symlink_to(tmp_path / "secret" / "s.png")
    monkeypatch.setenv("LIKEWISE_IMPORT_SOURCES", f"file://{tmp_path}/open, s3://shop/open")
    forget_settings()
    return tmp_path


@pytest.mark.usefixtures("owner")
def test_a_folder_comes_in_but_nothing_outside_it(client: TestClient, folder: Path) -> None:
    collection = a_collection_id(client)
    summary = finished(
        client, collection, start(client, collection, prefix=f"file://{folder}/open/")
    )
    assert counts(summary) == (4, 0, 2)
    assert sorted(summary["problems"].values()) == ["not_an_image", "unsafe_name"]
    assert sorted(names_of(collection)) == ["0.png", "1.png", "2.png", "a b%20c.png"]
    keys = "key,filename\n1.png,\n../secret/s.png,\nsub/../../secret/s.png,\n/etc/passwd,\n"
    listed = start(client, collection, "keys.csv", keys, prefix=f"file://{folder}/open")
    summary = finished(client, collection, listed)
    assert counts(summary) == (0, 1, 3)
    assert set(summary["problems"].values()) == {"unsafe_name"}


@pytest.mark.usefixtures("owner")
def test_only_listed_prefixes_may_be_imported(client: TestClient, folder: Path) -> None:
    collection = a_collection_id(client)
    for prefix, code in {
        f"file://{folder}/secret": "source_not_allowed",
        f"file://{folder}/opening": "source_not_allowed",
        f"file://{folder}/open/../secret": "unsafe_name",
        "file:///": "source_not_allowed",
        "file://host/etc": "bad_address",
        "s3://shop/other": "source_not_allowed",
        "s3://shop": "source_not_allowed",
        "s3://shop2/open": "source_not_allowed",
        "gs://shop/open": "source_not_allowed",
        "s3://shop/open\\..": "bad_address",
        "s3://user@shop/open": "bad_address",
        "https://example.org/": "bad_address",
        "nonsense": "bad_address",
    }.items():
        reply = start(client, collection, prefix=prefix)
        assert (reply.status_code, reply.json()["code"]) == (422, code), prefix
    row = start(client, collection, "list.csv", f"url\nfile://{folder}/secret/s.png\n")
    assert finished(client, collection, row)["problems"] == {2: "source_not_allowed"}
    with pytest.raises(BadAddress):
        read_object(f"file://{folder}/open/link.png", 10**6)
    with pytest.raises(NotReadable):
        read_object(f"file://{folder}/open/absent.png", 10**6)


@pytest.mark.usefixtures("owner", "folder")
def test_a_prefix_of_s3_comes_in(
    client: TestClient, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_ENDPOINT": web,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    addresses._bucket.cache_clear()
    collection = a_collection_id(client)
    summary = finished(client, collection, start(client, collection, prefix="s3://shop/open"))
    assert (summary["state"], summary["n_rows"], counts(summary)) == ("done", 4, (3, 0, 1)), (
        summary["error"]
    )
    assert names_of(collection) == ["1.png", "2.png", "3.png"]
    addresses._bucket.cache_clear()


@pytest.mark.usefixtures("owner", "folder")
def test_storage_that_cannot_be_listed_is_told(client: TestClient, folder: Path) -> None:
    collection = a_collection_id(client)
    summary = finished(
        client, collection, start(client, collection, prefix=f"file://{folder}/open/x")
    )
    assert summary["state"] == "failed"
    assert "is not a folder" in summary["error"]


# --- web addresses lead nowhere inside -------------------------------------------------------


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that were connected to; none is reached."""
    hosts: list[str] = []

    def connect(_: object, host: str, *__: object, **___: object) -> None:
        hosts.append(host)
        raise httpcore.ConnectError("not here")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    return hosts


ADDRESSES_INSIDE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://169.254.169.254/latest/meta-data",
    "http://localhost/",
    "http://8.8.8.8:6379/",
]


@pytest.mark.usefixtures("environment")
def test_an_address_inside_is_not_connected_to(connections: list[str]) -> None:
    for address in ADDRESSES_INSIDE:
        with pytest.raises(fetch.PrivateAddress):
            fetch.fetch(address, 10**6)
    assert connections == []


@pytest.mark.usefixtures("environment")
def test_a_name_is_connected_at_the_address_that_was_checked(
    connections: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [["93.184.215.14"], ["127.0.0.1"]]
    monkeypatch.setattr(fetch, "addresses_of", lambda *_: answers.pop(0))
    with pytest.raises(fetch.Unreachable):
        fetch.fetch("https://rebinding.example/1.png", 10**6)
    assert connections == ["93.184.215.14"]
    with pytest.raises(fetch.PrivateAddress):
        fetch.fetch("https://rebinding.example/1.png", 10**6)
    # One address inside among public ones is one too many.
    answers.append(["93.184.215.14", "10.0.0.1"])
    with pytest.raises(fetch.PrivateAddress):
        fetch.fetch("https://mixed.example/1.png", 10**6)
    assert connections == ["93.184.215.14"]


@pytest.mark.usefixtures("environment")
def test_a_redirect_leads_nowhere_inside(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port = int(web.rpartition(":")[2])
    real = fetch.checked_addresses

    def checked(host: str, asked: int) -> list[str]:
        # The test's own server stands for a public one.
        return [host] if (host, asked) == ("127.0.0.1", port) else real(host, asked)

    pool = httpcore.ConnectionPool(network_backend=GuardedNetwork(checked))
    monkeypatch.setattr(fetch, "_pool", lambda: pool)
    monkeypatch.setattr(fetch, "addresses_of", lambda *_: ["10.0.0.8"])
    assert fetch.fetch(f"{web}/to-7", 10**6) == a_png(7)
    with pytest.raises(fetch.PrivateAddress):
        fetch.fetch(f"{web}/to-inside", 10**6)
    with pytest.raises(addresses.TooLarge):
        fetch.fetch(f"{web}/big.png", 10**6)
