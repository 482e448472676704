"""Where imports read from: slow hosts, object storage, and nothing inside the network."""

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import httpcore
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections import addresses, fetch
from app.collections.addresses import BadAddress, NotReadable, read_object
from app.collections.importing import run_import
from app.core.guard import GuardedNetwork
from testbed.builders import a_png
from tests.app.test_collections import a_collection_id
from tests.conftest import forget_settings
from tests.support.image_imports import (
    an_importer,
    counts,
    finished,
    may_import_from_private,
    names_of,
    served_images,
    start,
)
from tests.support.receiver import a_trickle


@pytest.fixture
def web() -> Iterator[str]:
    with served_images() as address:
        yield address


@pytest.fixture
def owner(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Account:
    return an_importer(client, monkeypatch)


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> None:
    may_import_from_private(monkeypatch)


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
