"""Feature sets that a worker computes: in parts, resumed after a crash, and continued for new
images."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.collections.images import SIZES
from app.collections.models import Collection, Image
from app.collections.service import add_files, image_key
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.core.storage import delete_objects, list_objects
from app.features import computing, shards, sources
from app.features.computing import requeue_lost_sets, run_feature_set
from app.features.models import FeatureSet, FeatureShard
from app.features.reading import read_set
from app.features.sets import FEATURES_TASK
from testbed.builders import a_campaign, a_collection, a_png
from tests.app.test_features import MODULE, use
from tests.support.feature_sets import compute, computed, read, root_of, stored_set

N = 20


@pytest.fixture
def collection(owner: Account) -> Collection:
    return a_collection(owner, N)


class Encoder:
    """Stands for a network: it notes what it was given, and may end its process."""

    def __init__(self, dies_at: int = 10**9) -> None:
        self.n_encoded, self.dies_at = 0, dies_at

    def __call__(self, images: Sequence[np.ndarray]) -> np.ndarray:
        self.n_encoded += len(images)
        if self.n_encoded > self.dies_at:
            raise KeyboardInterrupt
        return np.array([image.mean(axis=(0, 1)) for image in images])


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MOST_ROWS", 8)
    monkeypatch.setattr(computing, "BATCH", 4)


def encode_by(monkeypatch: pytest.MonkeyPatch, encode: Any, version: str = "") -> None:
    source = replace(sources.BY_NAME["grey"], encode=encode, shape=None, version=version)
    monkeypatch.setitem(sources.BY_NAME, "grey", source)


def run(set_id: object) -> None:
    run_feature_set(UUID(str(set_id)), lambda: False)


def lose_worker() -> int:
    with transaction() as session:
        session.execute(update(FeatureSet).values(lease_until=func.now()))
    with transaction() as session:
        return requeue_lost_sets(session)


def test_a_worker_computes_a_set_and_says_how_far_it_is(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    seen: list[tuple[str, int, int]] = []

    def encode(images: Sequence[np.ndarray]) -> np.ndarray:
        now = read(client, collection.id, set_id)
        seen.append((now["state"], now["n_done"], now["n_known"]))
        return np.array([image.mean(axis=(0, 1)) for image in images])

    encode_by(monkeypatch, encode)
    begun = compute(client, collection.id, "grey").json()
    set_id = begun["id"]
    assert (begun["state"], begun["n_known"], begun["n_images"]) == ("queued", 0, N)
    assert compute(client, collection.id, "grey").json()["code"] == "already_active"
    run(set_id)
    assert seen == [
        ("running", 0, 0), ("running", 4, 0), ("running", 8, 8), ("running", 12, 8),
        ("running", 16, 16),
    ]  # fmt: skip
    done = read(client, collection.id, set_id)
    assert (done["state"], done["n_known"], done["n_features"]) == ("done", N, 3)
    assert compute(client, collection.id, "grey").json()["code"] == "nothing_to_compute"


def test_whoever_takes_over_continues_after_the_last_part(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    killed, heir = Encoder(dies_at=13), Encoder()
    encode_by(monkeypatch, killed)
    set_id = compute(client, collection.id, "grey").json()["id"]
    with pytest.raises(KeyboardInterrupt):
        run(set_id)
    assert stored_set(set_id).n_known == 8
    # Nobody else gets it while the lease lasts; then it is queued again, with a message.
    run(set_id)
    assert killed.n_encoded == 16
    assert lose_worker() == 1
    encode_by(monkeypatch, heir)
    run(set_id)
    assert heir.n_encoded == N - 8
    done = read(client, collection.id, set_id)
    assert (done["state"], done["n_known"], done["error"]) == ("done", N, None)
    whole = _values(collection, "grey")
    encode_by(monkeypatch, Encoder())
    client.delete(f"{root_of(collection.id)}/{set_id}")
    computed(client, collection.id, "grey")
    assert np.array_equal(_values(collection, "grey"), whole)


def _values(collection: Collection, name: str) -> np.ndarray:
    class All:
        collection_id, n_images = collection.id, 0

    with transaction() as session:
        make = read_set(session, All(), name)
    return make().values


def test_a_worker_that_lost_its_lease_writes_nothing(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    late = True

    def encode(images: Sequence[np.ndarray]) -> np.ndarray:
        nonlocal late
        if late:
            late = False
            lose_worker()
            run(set_id)
        return np.array([image.mean(axis=(0, 1)) for image in images])

    encode_by(monkeypatch, encode)
    set_id = compute(client, collection.id, "grey").json()["id"]
    run(set_id)
    done = stored_set(set_id)
    assert (done.state, done.n_known, done.epoch) == ("done", N, 2)
    with transaction() as session:
        assert len(session.scalars(select(FeatureShard)).all()) == 3


def test_a_part_whose_lease_is_lost_while_it_is_stored_is_removed(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    store, late = shards.store_shard, True

    def slow(*args: Any) -> FeatureShard:
        nonlocal late
        shard = store(*args)
        if late:
            late = False
            lose_worker()
            run(set_id)
        return shard

    encode_by(monkeypatch, Encoder())
    monkeypatch.setattr(computing, "store_shard", slow)
    set_id = compute(client, collection.id, "grey").json()["id"]
    run(set_id)
    assert stored_set(set_id).state == "done"
    with transaction() as session:
        keys = session.scalars(select(FeatureShard.key)).all()
    assert sorted(list_objects(f"features/{collection.id}/sets/{set_id}")) == sorted(keys)


def test_a_set_that_kills_its_worker_again_and_again_fails_and_can_be_retried(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode_by(monkeypatch, Encoder(dies_at=0))
    set_id = compute(client, collection.id, "grey").json()["id"]
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(set_id)
        lose_worker()
    failed = read(client, collection.id, set_id)
    assert failed["state"] == "failed"
    assert "stopped 3 times at the same images" in failed["error"]
    encode_by(monkeypatch, Encoder())
    assert computed(client, collection.id, "grey")["state"] == "done"


def test_a_stopped_worker_gives_the_set_back(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    encoder = Encoder()
    encode_by(monkeypatch, encoder)
    set_id = compute(client, collection.id, "grey").json()["id"]
    run_feature_set(UUID(set_id), lambda: encoder.n_encoded >= 12)
    given_back = stored_set(set_id)
    assert (given_back.state, given_back.n_known) == ("queued", 8)
    run(set_id)
    assert stored_set(set_id).state == "done"


def test_new_images_are_encoded_alone(
    client: TestClient, owner: Account, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder()
    encode_by(monkeypatch, encoder)
    set_id = computed(client, collection.id, "grey")["id"]
    with transaction() as session:
        own = session.get_one(Collection, collection.id)
        add_files(session, owner, own, [(f"new-{k}.png", a_png(500 + k)) for k in range(3)])
    assert stored_set(set_id).state == "queued"
    with transaction() as session:
        messages = select(func.count()).where(OutboxMessage.task == FEATURES_TASK)
        assert session.scalar(messages) == 2
    # A campaign that learns now has the missing ones encoded for itself.
    assert _values(collection, "grey").shape == (N + 3, 3)
    assert encoder.n_encoded == N + 3
    run(set_id)
    assert encoder.n_encoded == N + 6
    done = read(client, collection.id, set_id)
    assert (done["state"], done["n_known"], done["n_images"]) == ("done", N + 3, N + 3)


def test_another_version_of_a_source_begins_again(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode_by(monkeypatch, Encoder(), "1")
    computed(client, collection.id, "grey")
    second = Encoder()
    encode_by(monkeypatch, second, "2")
    done = computed(client, collection.id, "grey")
    assert (second.n_encoded, done["n_known"]) == (N, N)
    with transaction() as session:
        assert len(session.scalars(select(FeatureShard)).all()) == 1


def test_a_function_of_all_images_is_computed_at_once(
    client: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = f"my_features_{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    use(monkeypatch, f"{name}:means")
    sources_offered = client.get(root_of(collection.id)).json()["sources"]
    assert sources_offered[-1]["name"] == "custom"
    done = computed(client, collection.id, "custom")
    assert (done["state"], done["n_features"], done["n_known"]) == ("done", 3, N)
    assert _values(collection, "custom").shape == (N, 3)
    use(monkeypatch, f"{name}:broken")
    failed = computed(client, collection.id, "custom")
    assert failed["state"] == "failed"
    assert "no such layer" in failed["error"]


def test_an_image_without_a_file_is_named(client: TestClient, collection: Collection) -> None:
    with transaction() as session:
        image = session.scalars(select(Image).where(Image.position == 7)).one()
    delete_objects([image_key(collection.id, image.sha256, size) for size in SIZES])
    failed = computed(client, collection.id, "grey")
    assert failed["state"] == "failed"
    assert "image 'image-007.png' is missing from storage" in failed["error"]


def test_what_cannot_be_computed_is_refused(client: TestClient, collection: Collection) -> None:
    for source, message in (
        ("mood", "There are no features named 'mood'; choose one of: objects, appearance"),
        ("features", "The features from the table are not computed from images"),
        ("custom", "This server has no custom feature function"),
    ):
        reply = compute(client, collection.id, source)
        assert (reply.status_code, reply.json()["code"]) == (422, "no_source")
        assert message in reply.json()["detail"]
    empty = client.post("/api/v1/collections", json={"name": "x"}).json()["id"]
    assert compute(client, empty, "grey").json()["code"] == "no_images"


def test_a_deleted_set_leaves_no_object_and_a_campaign_goes_on(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    from app.collections.garbage import remove_discarded

    campaign = a_campaign(owner, collection, strategy="scdc", settings={"features": "appearance"})
    done = computed(client, collection.id, "appearance")
    before = _values(collection, "appearance")
    assert client.delete(f"{root_of(collection.id)}/{done['id']}").status_code == 204
    with transaction() as session:
        remove_discarded(session)
    assert list_objects(f"features/{collection.id}") == []
    with transaction() as session:
        after = read_set(session, campaign, "appearance")().values
    assert np.allclose(before, after, atol=1e-3)
