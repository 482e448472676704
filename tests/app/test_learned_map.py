"""The map by the attributes that a model learned: as colours and as axes."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.accounts.models import Account
from app.campaigns.models import Campaign
from testbed.builders import a_campaign
from tests.app.test_insight import INSIGHT, POOLED, a_model
from tests.app.test_maps import path_of

RNG = np.random.default_rng(1)
OWN = np.repeat([0, 1], [20, 10])


def a_learned_campaign(
    owner: Account, insight: dict[str, Any] | None = INSIGHT
) -> tuple[Campaign, NDArray[np.float64]]:
    """A campaign with a model whose columns 0 and 2 separate the images 0–19 from the others."""
    campaign = a_campaign(owner)
    vectors = RNG.normal(0, 0.3, (campaign.n_images, 3))
    vectors[:, [0, 2]] += 4 * OWN[:, None]
    a_model(campaign, vectors, insight)
    return campaign, vectors


def places_of(client: TestClient, campaign: Campaign, method: str) -> NDArray[np.float64]:
    reply = client.get(path_of(campaign, f"models/1/map/layout?method={method}"))
    assert reply.status_code == 200, reply.text
    n = campaign.n_images
    return np.frombuffer(reply.content, "<f4", 2 * n, 8).reshape(n, 2).astype(np.float64)


def test_two_attributes_are_the_axes_and_high_is_at_the_top(
    client: TestClient, owner: Account
) -> None:
    campaign, vectors = a_learned_campaign(owner)
    places = places_of(client, campaign, "axes-2-0")
    across, up = vectors[:, 2], vectors[:, 0]
    np.testing.assert_allclose(places[:, 0], (across - across.min()) / np.ptp(across), atol=1e-5)
    np.testing.assert_allclose(places[:, 1], (up.max() - up) / np.ptp(up), atol=1e-5)
    path = path_of(campaign, "models/1/map/selection.csv?method=axes-2-0")
    [row] = csv.DictReader(io.StringIO(client.post(path, json={"images": [9]}).text))
    assert (float(row["x"]), float(row["y"])) == pytest.approx(tuple(places[9]), abs=1e-6)


def test_only_ordered_attributes_of_the_model_are_axes(client: TestClient, owner: Account) -> None:
    campaign, _ = a_learned_campaign(owner)
    missing = client.get(path_of(campaign, "models/1/map/layout?method=axes-0-1"))
    assert (missing.status_code, "no attribute 1" in missing.json()["detail"]) == (404, True)
    assert client.get(path_of(campaign, "models/1/map/layout?method=axes-0")).status_code == 422
    other, _ = a_learned_campaign(owner, POOLED)
    unordered = client.get(path_of(other, "models/1/map/layout?method=axes-0-0"))
    assert (unordered.status_code, "clusters" in unordered.json()["detail"]) == (404, True)


def test_images_have_their_place_on_an_ordered_attribute(
    client: TestClient, owner: Account
) -> None:
    campaign, vectors = a_learned_campaign(owner)
    attributes = client.get(path_of(campaign, "models/1/map/attributes")).json()["items"]
    assert [attribute["index"] for attribute in attributes] == [0, 2]
    assert (attributes[0]["ordered"], attributes[0]["high"]) == (True, ["blue"])
    column = client.get(path_of(campaign, "models/1/map/attributes/2")).json()
    shown = np.array([float(column["values"][code]) for code in column["codes"]])
    expected = 100 * (vectors[:, 2] - vectors[:, 2].min()) / np.ptp(vectors[:, 2])
    np.testing.assert_allclose(shown, expected, atol=0.51)
    assert client.get(path_of(campaign, "models/1/map/attributes/1")).status_code == 404


def test_images_have_their_cluster_in_an_unordered_attribute(
    client: TestClient, owner: Account
) -> None:
    campaign, _ = a_learned_campaign(owner, POOLED)
    [attribute] = client.get(path_of(campaign, "models/1/map/attributes")).json()["items"]
    assert (attribute["ordered"], attribute["overall"]) == (False, True)
    assert attribute["clusters"] == [["=owl", "round"], []]
    column = client.get(path_of(campaign, "models/1/map/attributes/0")).json()
    assert column["values"] == ["=owl", "cluster 2"]
    assert column["codes"] == OWN.tolist()


def test_a_model_without_attributes_has_none_to_show(client: TestClient, owner: Account) -> None:
    campaign, _ = a_learned_campaign(owner, None)
    assert client.get(path_of(campaign, "models/1/map/attributes")).json()["items"] == []
