"""Feature sets in archives: they come back with their vectors, and damaged ones are refused."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.collections.service import add_files
from app.core.database import transaction
from app.core.storage import all_keys
from app.features.reading import read_set
from testbed.builders import a_campaign, a_collection, a_png, reloaded
from tests.support.archives import Members, archive_of, bring, changed, packed, unpacked
from tests.support.feature_sets import (
    a_vector_table,
    an_npy,
    computed,
    random_values,
    root_of,
    uploaded,
)

N = 12


@pytest.fixture
def campaign(client: TestClient, owner: Account) -> Campaign:
    """It learns from an uploaded set; its collection has others, and an image that came later."""
    collection = a_collection(owner, N)
    uploaded(client, collection.id, a_vector_table(random_values(N)))
    computed(client, collection.id, "grey")
    campaign = a_campaign(owner, collection, strategy="scdc", settings={"features": "clip"})
    with transaction() as session:
        own = session.get_one(Collection, collection.id)
        add_files(session, owner, own, [("later.png", a_png(700))])
    uploaded(client, collection.id, an_npy(random_values(N + 1, seed=1)), name="dino", file="d.npy")
    return campaign


def values_of(campaign: Campaign, name: str) -> np.ndarray:
    with transaction() as session:
        make = read_set(session, campaign, name)
    return make().values


def test_sets_come_back_with_their_vectors(client: TestClient, campaign: Campaign) -> None:
    # A set that is queued again for the new image is not finished, so it is left out.
    archive = archive_of(client, campaign)
    members = unpacked(archive)
    files = sorted(name for name in members if name.startswith("features/"))
    assert files == [
        "features/000/000000.safetensors", "features/000/columns.json",
        "features/001/000000.safetensors", "features/001/columns.json",
    ]  # fmt: skip
    reply = bring(client, archive)
    assert reply.status_code == 201, reply.text
    restored = reloaded(reply.json()["id"])
    assert restored.settings["features"] == "clip"
    items = client.get(root_of(restored.collection_id)).json()["items"]
    assert sorted((item["name"], item["n_known"], item["n_images"]) for item in items) == [
        ("clip", N, N), ("dino", N, N), ("features", N, N),
    ]  # fmt: skip
    for name in ("clip", "dino", "features"):
        before, after = values_of(campaign, name), values_of(restored, name)
        assert np.allclose(before, after)


def _shorter(members: Members) -> Members:
    return changed(members, "feature_set", lambda row: row.update(n_features=3))


def _of_another(members: Members) -> Members:
    data = bytearray(members["features/000/000000.safetensors"])
    data[-40] ^= 1
    return {**members, "features/000/000000.safetensors": bytes(data)}


def _no_list(members: Members) -> Members:
    return {**members, "features/000/columns.json": json.dumps({"a": 1}).encode()}


def _no_set(members: Members) -> Members:
    return {**members, "features/007/000000.safetensors": b"x"}


def _no_file(members: Members) -> Members:
    return {**members, "features/000/000000.safetensors": b"nothing"}


def _bad_name(members: Members) -> Members:
    def rename(row: dict[str, Any]) -> None:
        if row["name"] == "clip":
            row["name"] = "appearance"

    return changed(members, "feature_set", rename)


def _far_too_wide(members: Members) -> Members:
    def widen(row: dict[str, Any]) -> None:
        if row["name"] == "clip":
            row["n_features"] = 2_000_000_000

    return changed(members, "feature_set", widen)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_shorter, "has rows of the wrong length"),
        (_of_another, "images that are not in the archive"),
        (_no_list, "is not a list of names"),
        (_no_set, "belongs to no feature set"),
        (_no_file, "cannot be used: it is not a file of features"),
        (_bad_name, "unusable feature set"),
        (_far_too_wide, "'clip' is unusable"),
    ],
)
def test_damaged_sets_are_refused_and_leave_nothing(
    client: TestClient, campaign: Campaign, damage: Callable[[Members], Members], message: str
) -> None:
    members = unpacked(archive_of(client, campaign))
    before = set(all_keys())
    reply = bring(client, packed(damage(members)))
    assert reply.status_code == 422, reply.text
    assert message in reply.json()["detail"]
    assert set(all_keys()) == before
