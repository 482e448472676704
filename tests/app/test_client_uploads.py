"""Uploads by the Python client of files with the same content or the same name."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections.models import Image
from app.core.database import transaction
from likewise.client.collections import Collection
from likewise.client.transport import Transport
from testbed.builders import a_png


class Direct(Transport):
    """The client's requests, to the application in this process."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def request(self, method: str, path: str, **options: Any) -> Any:
        query = options.pop("params", {}).items()
        options["params"] = {name: value for name, value in query if value is not None}
        reply = self.client.request(method, f"/api/v1{path}", **options)
        assert reply.is_success, reply.text
        return reply.json()


@pytest.fixture
def collection(client: TestClient, owner: Account) -> Collection:
    transport = Direct(client)
    return Collection(transport, transport.post("/collections", {"name": "Twins"}))


def attributes() -> dict[str, str]:
    with transaction() as session:
        return {image.filename: image.attributes.get("mood", "") for image in session.query(Image)}


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one after the other"])
def test_a_table_can_use_every_name_of_an_image(
    collection: Collection, tmp_path: Path, at_once: bool
) -> None:
    (tmp_path / "first.png").write_bytes(a_png(1))
    (tmp_path / "second.png").write_bytes(a_png(1))
    (tmp_path / "other.png").write_bytes(a_png(2))
    (tmp_path / "table.csv").write_text("filename,mood\nsecond.png,happy\nother.png,sad\n")
    if at_once:
        report = collection.upload(tmp_path)
        assert report.duplicates == {"second.png": "first.png"}
    else:
        collection.upload([tmp_path / "first.png", tmp_path / "other.png"])
        report = collection.upload([tmp_path / "second.png", tmp_path / "table.csv"])
        assert report.present == ["second.png"]
    assert (report.partly_used, report.n_images) == ({}, 2)
    assert attributes() == {"first.png": "happy", "other.png": "sad"}


def test_files_of_the_same_name_are_all_reported(collection: Collection, tmp_path: Path) -> None:
    for number, folder in enumerate(("a", "b", "c")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "face.png").write_bytes(a_png(number))
    (tmp_path / "c" / "face.png").write_bytes(b"no image")
    (tmp_path / "single.png").write_bytes(a_png(7))
    report = collection.upload(tmp_path)
    named = {name: (tmp_path / name / "face.png").as_posix() for name in "abc"}
    assert report.added == {named["a"]: 0, named["b"]: 1, "single.png": 2}
    assert list(report.rejected) == [named["c"]]
    assert [image.filename for image in collection.images()] == [
        "face.png",
        "face.png",
        "single.png",
    ]
