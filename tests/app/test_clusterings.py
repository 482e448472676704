"""Clusters of a model's images: made, named, merged, taken away, and by whom."""

import csv
import io
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.results import clusterings, comparing, vectors
from testbed.builders import a_campaign, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import a_model

TRUE = np.repeat([0, 1, 2], [15, 10, 5])
PLACES = np.array([[0, 0], [9, 0], [0, 9]])[TRUE] + np.random.default_rng(0).normal(
    size=(30, 2), scale=0.3
)


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    campaign = a_campaign(owner)
    a_model(campaign, PLACES)
    return campaign


def path_of(campaign: Campaign) -> str:
    return f"/api/v1/campaigns/{campaign.id}/models/1/clusterings"


def create_clustering(client: TestClient, campaign: Campaign, **body: Any) -> dict[str, Any]:
    reply = client.post(path_of(campaign), json={"n_clusters": 3, **body})
    assert reply.status_code == 201, reply.text
    result: dict[str, Any] = reply.json()
    return result


@pytest.mark.parametrize("algorithm", ["k-means", "ward", "average"])
def test_clusters_are_found_and_shown(
    client: TestClient, campaign: Campaign, algorithm: str
) -> None:
    clustering = create_clustering(client, campaign, algorithm=algorithm)
    assert clustering["labels"] == TRUE.tolist()
    assert [cluster["size"] for cluster in clustering["clusters"]] == [15, 10, 5]
    assert [cluster["index"] for cluster in clustering["clusters"]] == [0, 1, 2]
    assert all(cluster["silhouette"] > 0.8 for cluster in clustering["clusters"])
    centre = PLACES[TRUE == 0]
    far = np.linalg.norm(centre[:, None] - centre[None], axis=2).sum(axis=1)
    assert clustering["clusters"][0]["images"][0]["image"] == int(far.argmin())
    assert client.get(clustering["clusters"][2]["images"][0]["url"]).status_code == 200
    [listed] = client.get(path_of(campaign)).json()["items"]
    assert listed == {name: clustering[name] for name in listed}
    assert (listed["n_clusters"], listed["algorithm"]) == (3, algorithm)
    again = client.get(f"{path_of(campaign)}/{clustering['id']}").json()
    assert again == clustering


def test_the_number_is_suggested(client: TestClient, campaign: Campaign) -> None:
    base = path_of(campaign).removesuffix("clusterings")
    suggestion = client.get(f"{base}cluster-suggestion").json()
    assert suggestion["n_clusters"] == 3
    assert suggestion["tried"][0] == 2
    assert len(suggestion["silhouette"]) == len(suggestion["tried"])


def test_words_of_clusters_are_the_annotators(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=30)
    a_model(campaign, PLACES)
    names = ["round", "pointed", "striped"]
    who = a_session(client, campaign)
    for _ in range(10):
        lease = a_lease(client, who)
        kinds = [int(TRUE[shown["image"]]) for shown in lease["images"]]
        used = sorted(set(kinds))
        groups = [used.index(kind) for kind in kinds]
        words = [names[kind] for kind in used]
        assert submit(client, who, lease, groups=groups, descriptions=words).status_code == 200
    sign_in(client, owner)
    clustering = create_clustering(client, campaign)
    assert [cluster["words"][:1] for cluster in clustering["clusters"]] == [
        [name] for name in names
    ]


def test_clusters_are_named_and_merged_and_the_first_ones_stay(
    client: TestClient, campaign: Campaign
) -> None:
    first = create_clustering(client, campaign)
    address = f"{path_of(campaign)}/{first['id']}"
    body = {"name": " My  clusters ", "names": {"0": "=round", "2": "striped"}}
    named = client.patch(address, json=body).json()
    assert named["name"] == "My clusters"
    assert [cluster["name"] for cluster in named["clusters"]] == ["=round", "", "striped"]
    merged = client.post(f"{address}/merge", json={"clusters": [1, 2]}).json()
    assert [cluster["size"] for cluster in merged["clusters"]] == [15, 15]
    assert [cluster["name"] for cluster in merged["clusters"]] == ["=round", "striped"]
    assert merged["merged_from"] == first["id"]
    assert merged["silhouette"] < named["silhouette"]
    assert client.get(address).json() == named
    renamed = client.post(f"{address}/merge", json={"clusters": [2, 0], "name": "both"}).json()
    assert renamed["clusters"][0] == {
        **renamed["clusters"][0],
        "name": "both",
        "size": 20,
    }
    table = list(csv.DictReader(io.StringIO(client.get(f"{address}/clusters.csv").text)))
    assert [int(row["cluster"]) for row in table] == TRUE.tolist()
    assert table[0] == {
        **table[0],
        "filename": "image-000.png",
        "cluster_name": "'=round",
    }
    assert float(table[0]["silhouette"]) > 0.8
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404
    kept = client.get(f"{path_of(campaign)}/{merged['id']}").json()
    assert kept["merged_from"] is None
    with transaction() as session:
        done = session.scalars(select(AuditEvent.action)).all()
    assert {"clustering.made", "clustering.merged", "clustering.deleted"} <= set(done)


def test_what_cannot_be_done_is_said(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(address: str, body: dict[str, Any], method: str = "POST") -> str:
        reply = client.request(method, address, json=body)
        assert reply.status_code == 422, reply.text
        code: str = reply.json()["code"]
        return code

    path = path_of(campaign)
    assert refused(path, {"n_clusters": 31}) == "cannot_cluster"
    detail = client.post(path, json={"n_clusters": 31}).json()["detail"]
    assert detail.startswith("The number of clusters must be at most 30,")
    assert client.post(path, json={"n_clusters": 51}).status_code == 422
    assert client.post(path, json={"n_clusters": 3, "algorithm": "x"}).status_code == 422
    address = f"{path}/{create_clustering(client, campaign)['id']}"
    assert refused(f"{address}/merge", {"clusters": [1, 1]}) == "nothing_to_merge"
    assert refused(f"{address}/merge", {"clusters": [1, 3]}) == "unknown_cluster"
    assert refused(address, {"names": {"3": "x"}}, "PATCH") == "unknown_cluster"
    monkeypatch.setattr(clusterings, "MOST_CLUSTERINGS", 1)
    full = client.post(path, json={"n_clusters": 3})
    assert (full.status_code, full.json()["code"]) == (409, "too_many_clusterings")


def test_who_finds_the_server_computing_is_sent_away_soon(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(campaign)
    models = path.removesuffix("/1/clusterings")
    merge = f"{path}/{create_clustering(client, campaign)['id']}/merge"
    requests: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", path, {"n_clusters": 3}),
        ("POST", merge, {"clusters": [0, 1]}),
        ("GET", f"{models}/1/cluster-suggestion", None),
        ("GET", f"{models}/1/comparison?other_version=1", None),
    ]
    read = Mock(wraps=vectors.read_vectors)
    for module in (clusterings, comparing):
        monkeypatch.setattr(module, "read_vectors", read)
    begun = time.monotonic()
    with vectors.one_at_a_time():
        for method, address, body in requests:
            busy = client.request(method, address, json=body)
            assert (busy.status_code, busy.json()["code"]) == (503, "busy")
            assert int(busy.headers["retry-after"]) > 0
    assert time.monotonic() - begun < 2 * len(requests)
    assert read.call_count == 0, "vectors are read by whose turn it is"
    for method, address, body in requests:
        assert client.request(method, address, json=body).status_code in (200, 201)
    assert read.call_count == 5


def test_who_may_look_may_not_change_and_strangers_see_nothing(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    address = f"{path_of(campaign)}/{create_clustering(client, campaign)['id']}"
    friend = an_account("friend@example.org")
    sign_in(client, friend)
    requests = [
        ("GET", path_of(campaign), None),
        ("GET", address, None),
        ("GET", f"{address}/clusters.csv", None),
        ("POST", path_of(campaign), {"n_clusters": 2}),
        ("PATCH", address, {"name": "x"}),
        ("POST", f"{address}/merge", {"clusters": [0, 1]}),
        ("DELETE", address, None),
    ]
    assert [client.request(m, a, json=b).status_code for m, a, b in requests] == [404] * 7
    with transaction() as session:
        share_campaign(session, owner, campaign, friend.email, "view")
    replies = [client.request(m, a, json=b) for m, a, b in requests]
    assert [reply.status_code for reply in replies] == [200] * 3 + [403] * 4
    with transaction() as session:
        share_campaign(session, owner, campaign, friend.email, "edit")
    assert client.patch(address, json={"name": "ours"}).json()["name"] == "ours"
    own = a_campaign(friend)
    a_model(own, PLACES)
    elsewhere = address.replace(str(campaign.id), str(own.id))
    assert client.get(elsewhere).status_code == 404
