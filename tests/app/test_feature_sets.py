"""Feature sets: uploads, what is refused, reading for learning, changes of the collection."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.collections.deletion import Selection, delete_images
from app.collections.models import Collection, Image
from app.collections.service import add_files
from app.core.database import transaction
from app.core.storage import delete_objects, get_object, put_object
from app.features.models import FeatureShard
from app.features.reading import features_wanted
from app.features.shards import DamagedFeatures
from testbed.builders import a_campaign, a_collection, a_png
from tests.support.feature_sets import (
    a_vector_table,
    computed,
    names_of,
    plain_collection,
    random_values,
    read,
    root_of,
    table_of,
    upload,
    uploaded,
)

N = 12
NAMES = names_of(N)


@pytest.fixture
def collection(owner: Account) -> Collection:
    return plain_collection(owner, N)


def test_a_table_becomes_a_set_that_learning_reads(
    client: TestClient, collection: Collection
) -> None:
    values = random_values(N)
    shuffled = np.random.default_rng(1).permutation(N)
    data = a_vector_table(values[shuffled], [NAMES[row] for row in shuffled])
    reply = uploaded(client, collection.id, data, name="  CLIP   vectors ")
    assert reply["notes"] == []
    assert (reply["name"], reply["kind"], reply["state"]) == ("CLIP vectors", "uploaded", "done")
    assert (reply["n_features"], reply["n_known"], reply["n_images"]) == (4, N, N)
    table = table_of(collection, "CLIP vectors")
    assert table.values.shape == (N, 4)
    assert table.values.dtype == np.float32
    assert table.known.all()
    assert table.names == ("f0", "f1", "f2", "f3")
    assert table.prepare is not None
    assert np.allclose(table.values, table.prepare(values))
    for column in range(4):
        assert np.corrcoef(table.values[:, column], values[:, column])[0, 1] > 0.999


def test_a_wide_column_of_noise_is_as_wide_as_the_others(
    client: TestClient, collection: Collection
) -> None:
    values = random_values(N, 5)
    values[:, 2] *= 1e4
    values[:, 4] = 7.0
    reply = uploaded(client, collection.id, a_vector_table(values))
    assert reply["notes"] == ["1 column has the same value for all images and will not be used."]
    table = table_of(collection, "clip")
    assert table.names == ("f0", "f1", "f2", "f3")
    spread = table.values.std(axis=0)
    assert spread.max() / spread.min() < 3


def test_names_are_unique_and_some_are_reserved(client: TestClient, collection: Collection) -> None:
    data = a_vector_table(random_values(N))
    uploaded(client, collection.id, data)
    again = upload(client, collection.id, data, name="CLIP")
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    assert "already has a feature set named 'clip'" in again.json()["detail"]
    for name in ("appearance", "Features", "nothing", "custom", "", " ", "x" * 101, "a\0b"):
        reply = upload(client, collection.id, data, name=name)
        assert reply.json()["code"] in ("bad_name", "invalid_request"), name
    for number in range(29):
        uploaded(client, collection.id, data, name=f"set {number}")
    full = upload(client, collection.id, data, name="one more")
    assert full.json()["code"] == "too_many_feature_sets"


def test_a_set_is_renamed_and_deleted(client: TestClient, collection: Collection) -> None:
    data = a_vector_table(random_values(N))
    first = uploaded(client, collection.id, data)
    second = uploaded(client, collection.id, data, name="dino")
    address = f"{root_of(collection.id)}/{first['id']}"
    assert client.patch(address, json={"name": "Dino"}).json()["code"] == "name_taken"
    assert client.patch(address, json={"name": "grey"}).json()["code"] == "bad_name"
    assert client.patch(address, json={"name": "CLIP"}).json()["name"] == "CLIP"
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404
    names = [item["name"] for item in client.get(root_of(collection.id)).json()["items"]]
    assert names == [second["name"]]
    with transaction() as session:
        actions = session.scalars(
            select(AuditEvent.action).where(AuditEvent.action.like("collection.features%"))
        ).all()
    assert sorted(actions) == [
        "collection.features_deleted",
        "collection.features_renamed",
        *["collection.features_uploaded"] * 2,
    ]


def test_a_set_that_a_campaign_learns_from_stays(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, N)
    clip = uploaded(client, collection.id, a_vector_table(random_values(N)))
    plan: dict[str, Any] = {"strategy": "scdc", "settings": {"features": "clip"}}
    campaign = a_campaign(owner, collection, name="Birds", **plan)
    assert campaign.settings["features"] == "clip"
    address = f"{root_of(collection.id)}/{clip['id']}"
    for reply in (client.delete(address), client.patch(address, json={"name": "other"})):
        assert (reply.status_code, reply.json()["code"]) == (409, "feature_set_in_use")
        assert "“Birds”, running" in reply.json()["detail"]
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    assert client.delete(address).status_code == 204


def test_a_campaign_chooses_only_sets_of_its_collection(client: TestClient, owner: Account) -> None:
    mine, other = a_collection(owner, N), a_collection(owner, N)
    uploaded(client, other.id, a_vector_table(random_values(N)))
    body = {
        "name": "x", "collection_id": str(mine.id), "kind": "grid", "strategy": "scdc",
        "budget": 40, "grid_size": 6, "settings": {"features": "clip"},
    }  # fmt: skip
    refused = client.post("/api/v1/campaigns", json=body)
    assert refused.json()["code"] == "bad_settings"
    assert "no features named 'clip'" in refused.json()["detail"]
    created = client.post("/api/v1/campaigns", json={**body, "collection_id": str(other.id)})
    assert created.status_code == 201, created.text
    campaign_id = created.json()["id"]

    def offered(query: str) -> list[str]:
        strategies = client.get(f"/api/v1/options{query}").json()["strategies"]
        (scdc,) = [strategy for strategy in strategies if strategy["name"] == "scdc"]
        names: list[str] = scdc["settings"]["properties"]["features"]["enum"]
        return names

    assert "clip" not in offered("")
    assert offered(f"?campaign_id={campaign_id}") == [*offered(""), "clip"]
    # It is deleted before the start, which says so.
    (clip,) = [s for s in client.get(root_of(other.id)).json()["items"] if s["name"] == "clip"]
    assert client.delete(f"{root_of(other.id)}/{clip['id']}").status_code == 204
    started = client.post(f"/api/v1/campaigns/{campaign_id}/actions/start")
    assert started.json()["code"] == "no_features"
    assert "no feature set 'clip'" in started.json()["detail"]


def test_vectors_follow_their_images_when_others_are_deleted(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    values = random_values(N)
    clip = uploaded(client, collection.id, a_vector_table(values[:11]))
    before = table_of(collection, "clip")
    with transaction() as session:
        hashes = session.scalars(
            select(Image.sha256).where(
                Image.collection_id == collection.id, Image.position.in_([0, 3, 11])
            )
        ).all()
        own = session.get_one(Collection, collection.id)
        assert delete_images(session, owner, own, Selection(list(hashes))) == 3
    after = read(client, collection.id, clip["id"])
    assert (after["n_known"], after["n_images"]) == (9, 9)
    kept = [1, 2, 4, 5, 6, 7, 8, 9, 10]
    table = table_of(collection, "clip")
    assert table.known.all()
    for column in range(4):
        assert np.corrcoef(table.values[:, column], values[kept, column])[0, 1] > 0.999
    assert len(before.values) == 12
    with transaction() as session:
        own = session.get_one(Collection, collection.id)
        add_files(session, owner, own, [("new.png", a_png(900))])
    assert table_of(collection, "clip").known.tolist() == [True] * 9 + [False]


def test_a_download_can_be_uploaded_again(client: TestClient, collection: Collection) -> None:
    values = random_values(N)
    clip = uploaded(client, collection.id, a_vector_table(values, columns=["=a", "b", "c", "d"]))
    text = client.get(f"{root_of(collection.id)}/{clip['id']}/vectors.csv").text
    lines = text.splitlines()
    assert lines[0] == "filename,sha256,'=a,b,c,d"
    assert len(lines) == N + 1
    stored = np.array([line.split(",")[2:] for line in lines[1:]], np.float32)
    assert np.array_equal(stored, values)
    again = uploaded(client, collection.id, text.encode(), name="again")
    assert again["n_known"] == N
    assert np.array_equal(table_of(collection, "again").values, table_of(collection, "clip").values)


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_part_is_told(client: TestClient, collection: Collection, damage: str) -> None:
    clip = uploaded(client, collection.id, a_vector_table(random_values(N)))
    with transaction() as session:
        key = session.scalars(
            select(FeatureShard.key).where(FeatureShard.set_id == UUID(clip["id"]))
        ).one()
    if damage == "changed":
        data = bytearray(get_object(key))
        data[-1] ^= 1
        put_object(key, bytes(data))
    else:
        delete_objects([key])
    with pytest.raises(DamagedFeatures, match="'clip' cannot be read from storage"):
        table_of(collection, "clip")


# --- the collection's own table ------------------------------------------------------------------


def test_the_columns_of_the_table_are_a_set_of_their_own(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner, N)
    (own,) = client.get(root_of(collection.id)).json()["items"]
    assert (own["name"], own["kind"], own["n_features"], own["n_known"]) == (
        "features",
        "table",
        2,
        N,
    )
    assert own["title"] == "features from the table"
    text = client.get(f"{root_of(collection.id)}/{own['id']}/vectors.csv").text
    assert text.splitlines()[0] == "filename,sha256,feature_0,feature_1"
    address = f"{root_of(collection.id)}/{own['id']}"
    assert client.patch(address, json={"name": "mine"}).json()["code"] == "fixed_name"
    campaign = a_campaign(
        owner, collection, strategy="scdc", settings={"features": "features"}, grid_size=6
    )
    with transaction() as session:
        assert features_wanted(session, campaign, "features")() is not None
    assert client.delete(address).json()["code"] == "feature_set_in_use"
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    assert client.delete(address).status_code == 204
    with transaction() as session:
        assert not any(
            session.scalars(select(Image.features).where(Image.collection_id == collection.id))
        )
    # Uploading the columns again brings it back.
    lines = ["filename,feature_0", *(f"{name},{k}" for k, name in enumerate(NAMES))]
    files = [("files", ("table.csv", "\n".join(lines).encode()))]
    client.post(f"/api/v1/collections/{collection.id}/files", files=files)
    (again,) = client.get(root_of(collection.id)).json()["items"]
    assert (again["n_features"], again["n_known"]) == (1, N)


def test_all_kinds_of_sets_are_read_alike(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, N)
    uploaded(client, collection.id, a_vector_table(random_values(N)))
    for name in ("appearance", "components", "pixels", "grey"):
        direct = table_of(collection, name)
        computed(client, collection.id, name)
        stored = table_of(collection, name)
        assert stored.shape == direct.shape
        assert stored.names == direct.names
        assert np.allclose(stored.values, direct.values, atol=1e-3)
        assert stored.prepare is not None
    with pytest.raises(ValueError, match="no features named 'dino'"):
        table_of(collection, "dino")
