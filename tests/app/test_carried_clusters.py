"""Clusters that a requester has named are made again for the next model, with their names."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.results.carried import carried_clusterings, read_described
from testbed.builders import a_campaign
from tests.app.test_clusterings import PLACES, TRUE, create_clustering, path_of
from tests.app.test_insight import a_model
from tests.app.test_jobs import a_queued_job, claimed, publish

MOVED = -2 * PLACES[:, ::-1] + 7


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    campaign = a_campaign(owner)
    a_model(campaign, PLACES)
    return campaign


def learn_again(campaign: Campaign, places: np.ndarray) -> None:
    """Publish a model with these positions, as a learning job does."""
    with transaction() as session:
        described = read_described(session, session.get_one(Campaign, campaign.id))
    carried = carried_clusterings(places, None, described, campaign.seed)
    job = claimed(a_queued_job(campaign))
    assert job is not None
    publish(campaign, job, embedding=places, carried=carried)


def clusterings_of(client: TestClient, campaign: Campaign, version: int) -> list[dict[str, Any]]:
    path = path_of(campaign).replace("/1/", f"/{version}/")
    items = client.get(path).json()["items"]
    return [client.get(f"{path}/{item['id']}").json() for item in items]


def names_of(clustering: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(cluster["name"], cluster["carried_from"]) for cluster in clustering["clusters"]]


def name(client: TestClient, campaign: Campaign, clustering: dict[str, Any], **body: Any) -> None:
    reply = client.patch(f"{path_of(campaign)}/{clustering['id']}", json=body)
    assert reply.status_code == 200, reply.text
    assert {cluster["carried_from"] for cluster in reply.json()["clusters"]} == {None}


def test_named_clusters_are_those_of_the_next_model_and_say_so(
    client: TestClient, campaign: Campaign
) -> None:
    create_clustering(client, campaign, n_clusters=2)  # Nobody named these.
    named = create_clustering(client, campaign, algorithm="ward")
    name(client, campaign, named, name="Shapes", names={0: "round", 2: "striped"})
    learn_again(campaign, MOVED)
    (carried,) = clusterings_of(client, campaign, 2)
    assert (carried["name"], carried["algorithm"]) == ("Shapes", "ward")
    assert carried["labels"] == TRUE.tolist()
    assert names_of(carried) == [("round", 1), ("", None), ("striped", 1)]
    # A name that is given again is the requester's own, and goes on like the others.
    path = path_of(campaign).replace("/1/", "/2/")
    renamed = client.patch(f"{path}/{carried['id']}", json={"names": {"2": "stripes"}}).json()
    assert names_of(renamed) == [("round", 1), ("", None), ("stripes", None)]
    learn_again(campaign, PLACES)
    (again,) = clusterings_of(client, campaign, 3)
    assert names_of(again) == [("round", 2), ("", None), ("stripes", 2)]


def test_a_name_goes_only_to_a_cluster_with_most_of_the_same_images(
    client: TestClient, campaign: Campaign
) -> None:
    named = create_clustering(client, campaign)
    name(client, campaign, named, names={0: "round", 1: "pointed", 2: "striped"})
    places = PLACES.copy()
    # Half of the largest cluster goes to the second, of which it is less than half.
    places[:8] = PLACES[15:23]
    learn_again(campaign, places)
    (carried,) = clusterings_of(client, campaign, 2)
    assert sorted(names_of(carried)) == [("", None), ("pointed", 1), ("striped", 1)]


def test_selected_images_stay_together_and_the_newest_clustering_stays_first(
    client: TestClient, campaign: Campaign
) -> None:
    older = create_clustering(client, campaign, n_clusters=2)
    name(client, campaign, older, name="A", names={0: "large"})
    body = {"images": [1, 3, 5], "name": "mine"}
    path = path_of(campaign)
    selection = client.post(f"{path}/selection", json=body).json()
    name(client, campaign, selection, name="Z")
    learn_again(campaign, MOVED)
    first, second = clusterings_of(client, campaign, 2)
    assert (first["name"], second["name"]) == ("Z", "A")
    mine = next(c["index"] for c in first["clusters"] if c["name"] == "mine")
    assert [k for k, label in enumerate(first["labels"]) if label == mine] == [1, 3, 5]


def test_merged_clusters_stay_merged_and_what_cannot_be_clustered_is_left_out(
    client: TestClient, campaign: Campaign
) -> None:
    fine = create_clustering(client, campaign)
    name(client, campaign, fine, names={0: "round", 1: "pointed"})
    path = f"{path_of(campaign)}/{fine['id']}/merge"
    merged = client.post(path, json={"clusters": [1, 2], "name": "not round"}).json()
    learn_again(campaign, MOVED)
    (carried,) = clusterings_of(client, campaign, 2)
    assert carried["name"] == merged["name"]
    assert dict(names_of(carried)) == {"round": 1, "not round": 1}
    assert [cluster["size"] for cluster in carried["clusters"]] == [15, 15]
    learn_again(campaign, np.zeros_like(PLACES))
    assert clusterings_of(client, campaign, 3) == []
