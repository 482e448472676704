"""New collections from some images of another one."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.accounts.models import Account
from app.collections.deletion import Selection, delete_images
from app.collections.importing import run_import
from app.collections.media import image_bytes
from app.collections.models import Collection, CollectionImport, Image
from app.collections.service import image_key
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.core.storage import delete_objects, has_object
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from testbed.settings import forget_settings
from tests.support.images import hashes_of, is_dense


def copy(client: TestClient, collection_id: UUID, **body: Any) -> Any:
    path = f"/api/v1/collections/{collection_id}/images/copy"
    return client.post(path, json={"name": "A part", **body})


def worked(client: TestClient, reply: Any) -> dict[str, Any]:
    """Let a worker copy the images; the import afterwards."""
    assert reply.status_code == 201, reply.text
    path = f"{reply.headers['Location']}/imports"
    [begun] = client.get(path).json()["items"]
    run_import(UUID(begun["id"]), lambda: False)
    [done] = client.get(path).json()["items"]
    result: dict[str, Any] = done
    return result


def images_of(client: TestClient, reply: Any) -> list[dict[str, Any]]:
    images: list[dict[str, Any]] = client.get(f"{reply.headers['Location']}/images").json()["items"]
    return images


@pytest.fixture
def collection(owner: Account) -> Collection:
    """Thirty images in three colours, with features."""
    collection = a_collection(owner, 30)
    with transaction() as session:
        session.execute(
            update(Image).where(Image.collection_id == collection.id).values(features=[1.0, 2.5])
        )
    return collection


def test_images_found_are_copied_with_all_that_is_known_of_them(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    found = {"filter": {"attribute": ["colour:red"]}, "expected": 10}
    reply = copy(client, collection.id, **found)
    assert reply.json()["n_images"] == 0
    done = worked(client, reply)
    assert (done["state"], done["kind"], done["source"]) == ("done", "copy", collection.name)
    assert (done["n_rows"], done["n_added"], done["n_rejected"]) == (10, 10, 0)
    images = images_of(client, reply)
    assert [image["filename"] for image in images] == [
        f"image-{k:03d}.png" for k in range(0, 30, 3)
    ]
    assert {image["attributes"]["colour"] for image in images} == {"red"}
    assert {image["n_features"] for image in images} == {2}
    assert client.get(images[3]["url"]).status_code == 200
    target = UUID(reply.json()["id"])
    assert is_dense(target)
    sha256 = images[3]["sha256"]
    assert image_bytes(target, sha256, "large") == image_bytes(collection.id, sha256, "large")
    # A campaign asks about the part alone.
    with transaction() as session:
        part = session.get_one(Collection, target)
    assert a_campaign(owner, part).n_images == 10


def test_positions_of_a_campaign_are_copied_and_stay_when_the_source_goes(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    reply = copy(client, collection.id, positions=[7, 3, 7])
    worked(client, reply)
    images = images_of(client, reply)
    assert [image["filename"] for image in images] == ["image-003.png", "image-007.png"]
    keys = [image_key(collection.id, image["sha256"], "thumb") for image in images]
    delete_objects(keys)
    assert not has_object(keys[0])
    assert client.get(images[0]["url"]).status_code == 200


def test_an_image_that_is_gone_is_a_row_with_a_problem(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    first, second, third = hashes_of(collection.id, 0, 1, 2)
    reply = copy(client, collection.id, sha256=[first, second, third])
    with transaction() as session:
        delete_images(
            session, owner, session.get_one(Collection, collection.id), Selection([second])
        )
    delete_objects([image_key(collection.id, third, "large")])
    done = worked(client, reply)
    assert (done["state"], done["n_added"], done["n_rejected"]) == ("done", 1, 2)
    assert [image["sha256"] for image in images_of(client, reply)] == [first]


def test_a_worker_that_is_stopped_continues_after_what_is_done(
    client: TestClient, collection: Collection
) -> None:
    reply = copy(client, collection.id, positions=list(range(30)))
    path = f"{reply.headers['Location']}/imports"
    [begun] = client.get(path).json()["items"]
    stops = iter([False, True])
    run_import(UUID(begun["id"]), lambda: next(stops))
    [half] = client.get(path).json()["items"]
    assert (half["state"], half["n_done"]) == ("queued", 16)
    done = worked(client, reply)
    assert (done["state"], done["n_done"], done["n_added"]) == ("done", 30, 30)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_request"),
        ({"positions": [1], "sha256": ["0" * 64]}, 422, "invalid_request"),
        ({"positions": [-1]}, 422, "invalid_request"),
        ({"positions": [99]}, 422, "nothing_selected"),
        ({"positions": [1], "name": " "}, 422, "bad_name"),
        ({"filter": {"attribute": ["colour:red"]}, "expected": 9}, 409, "collection_changed"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_is_created(
    client: TestClient, collection: Collection, body: dict[str, Any], status: int, code: str
) -> None:
    reply = copy(client, collection.id, **body)
    assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text
    with transaction() as session:
        assert session.scalars(select(Collection.id)).all() == [collection.id]


def test_an_account_without_room_gets_no_copy(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_IMAGES", "39")
    forget_settings()
    refused = copy(client, collection.id, positions=list(range(10)))
    assert (refused.status_code, refused.json()["code"]) == (422, "account_full")
    assert copy(client, collection.id, positions=list(range(9))).status_code == 201


def test_somebody_else_copies_nothing(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    other = an_account("grace@example.org")
    sign_in(client, other)
    assert copy(client, campaign.collection_id, positions=[1]).status_code == 404
    mine = a_collection(other, 2)
    reply = copy(client, mine.id, positions=[0])
    # Even a list that somebody has tampered with leads to nobody else's images.
    with transaction() as session:
        begun = session.scalars(select(CollectionImport)).one()
        assert session.scalars(select(OutboxMessage.id)).all()
        session.execute(
            update(Collection).where(Collection.id == mine.id).values(owner_id=owner.id)
        )
    run_import(begun.id, lambda: False)
    assert images_of(client, reply) == []
