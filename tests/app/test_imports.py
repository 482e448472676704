"""Imports: lists, what is refused, and that a killed worker loses nothing."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, update

from app.accounts.models import Account
from app.collections import fetch, importing
from app.collections.importing import run_import
from app.collections.imports import requeue_lost_imports
from app.collections.models import CollectionImport, Image
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from tests.app.test_collections import a_collection_id
from tests.support.image_imports import (
    an_importer,
    counts,
    finished,
    may_import_from_private,
    names_of,
    served_images,
    start,
)


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
