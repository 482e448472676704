"""Clusters that a requester selects on the map, and all images of a cluster."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, reloaded, sign_in
from tests.app.test_clusterings import PLACES, TRUE, create_clustering, path_of
from tests.app.test_insight import a_model


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    campaign = a_campaign(owner)
    a_model(campaign, PLACES)
    return campaign


def select(client: TestClient, campaign: Campaign, images: list[int], **body: Any) -> Any:
    return client.post(f"{path_of(campaign)}/selection", json={"images": images, **body})


def sizes(clustering: dict[str, Any]) -> dict[str, int]:
    return {cluster["name"]: cluster["size"] for cluster in clustering["clusters"]}


def test_selected_images_are_a_cluster_and_the_others_the_rest(
    client: TestClient, campaign: Campaign
) -> None:
    own = np.flatnonzero(TRUE == 1).tolist()
    reply = select(client, campaign, [*own, own[0]], name="birds")
    assert reply.status_code == 201, reply.text
    clustering = reply.json()
    assert sizes(clustering) == {"the rest": 20, "birds": 10}
    assert np.flatnonzero(clustering["labels"]).tolist() == own
    assert clustering["algorithm"] == "selection"
    assert clustering["clusters"][1]["silhouette"] > 0.5
    assert set(image["image"] for image in clustering["clusters"][1]["images"]) <= set(own)
    assert client.get(path_of(campaign)).json()["items"][0]["id"] == clustering["id"]


def test_others_stay_in_their_clusters_and_emptied_ones_are_left_out(
    client: TestClient, campaign: Campaign
) -> None:
    first = create_clustering(client, campaign)
    names = {"0": "fish", "1": "birds", "2": "cats"}
    client.patch(f"{path_of(campaign)}/{first['id']}", json={"names": names})
    images = [0, *np.flatnonzero(TRUE == 1).tolist()]
    clustering = select(client, campaign, images, name="mine", clustering_id=first["id"]).json()
    assert sizes(clustering) == {"fish": 14, "cats": 5, "mine": 11}
    again = client.get(f"{path_of(campaign)}/{first['id']}").json()
    assert sizes(again) == {"fish": 15, "birds": 10, "cats": 5}
    # Selections add up.
    last = select(client, campaign, [29], name="odd", clustering_id=clustering["id"]).json()
    assert sizes(last) == {"fish": 14, "cats": 4, "mine": 11, "odd": 1}


@pytest.mark.parametrize(
    ("images", "code"),
    [
        ([], "nothing_to_separate"),
        (list(range(30)), "nothing_to_separate"),
        ([30], "unknown_image"),
        ([-1], "unknown_image"),
    ],
)
def test_a_selection_that_is_no_cluster_is_refused(
    client: TestClient, campaign: Campaign, images: list[int], code: str
) -> None:
    refused = select(client, campaign, images)
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert client.get(path_of(campaign)).json()["items"] == []


def test_only_editors_select_clusters(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    other = an_account("grace@example.org")
    sign_in(client, other)
    assert select(client, campaign, [1]).status_code == 404
    with transaction() as session:
        share_campaign(session, owner, reloaded(campaign.id), other.email, "view")
    assert select(client, campaign, [1]).status_code == 403


def test_all_images_of_a_cluster_come_page_by_page(client: TestClient, campaign: Campaign) -> None:
    clustering = create_clustering(client, campaign)
    path = f"{path_of(campaign)}/{clustering['id']}/clusters/0/images"
    page = client.get(f"{path}?limit=10").json()
    assert (page["total"], len(page["items"])) == (15, 10)
    rest = client.get(path, params={"limit": 10, "after": page["next"]}).json()
    assert rest["next"] is None
    images = [*page["items"], *rest["items"]]
    assert sorted(image["image"] for image in images) == np.flatnonzero(TRUE == 0).tolist()
    fit = [image["silhouette"] for image in images]
    assert fit == sorted(fit, reverse=True)
    assert client.get(images[0]["url"]).status_code == 200
    doubtful = client.get(f"{path}?order=doubtful").json()["items"]
    assert [image["silhouette"] for image in doubtful] == fit[::-1]
    missing = client.get(path.replace("/0/", "/3/"))
    assert (missing.status_code, missing.json()["code"]) == (422, "unknown_cluster")
