"""The strategy scdc: first grids, later grids, metrics, what is told and stored."""

import csv
import io
from functools import cache
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sklearn.metrics import adjusted_rand_score
from sqlalchemy import select

from app.campaigns.models import Campaign, Grid, Round
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.core.storage import delete_objects, list_objects
from app.features.tables import scaled_table
from app.results.models import Clustering, EmbeddedImage, Model
from app.strategies import Learned, LearningData, get_strategy
from app.strategies.base import check_settings
from app.strategies.grids import FirstRound
from app.strategies.memberships import Memberships, memberships_of
from learning.groupings import Groupings
from learning.semicrowd_queries import annotated_subset, linked_grids
from likewise.client.campaigns import Campaign as ClientCampaign
from likewise.client.transport import Transport
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_session
from tests.app.test_crowdster_strategy import answer, run_job

N, K, SIZE, SEED = 160, 3, 10, 0
TRUE = np.arange(N) % K
RNG = np.random.default_rng(0)
FEATURES = np.array([[0, 0, 1], [4, 0, 0], [0, 4, 0]])[TRUE] + RNG.normal(size=(N, 3), scale=0.7)
SETTINGS = {"n_annotated": 60, "max_clusters": 6, "n_latent": 2, "effort": "quick"}
SUBSET = annotated_subset(N, 60, SEED)


def some_answers(n: int) -> Groupings:
    grids = linked_grids(SUBSET, n, SIZE, np.random.default_rng(1))
    return Groupings(grids, TRUE[grids], np.arange(n) % 4, N, 5)


def data(n: int = 24, features: Any = FEATURES) -> LearningData:
    answers = some_answers(n)
    return LearningData(
        rounds=[answers],
        n_images=N,
        grid_size=SIZE,
        n_rounds=3,
        n_groups=4,
        seed=SEED,
        n_full=1,
        begun=answers.images,
        purposes=["random"] * n,
        features=features,
    )


@cache
def learned() -> Learned:
    heard: list[float] = []
    model = get_strategy("scdc").learn(data(), SETTINGS, heard.append)
    assert heard == sorted(heard)
    assert abs(heard[-1] - 1.0) < 1e-9
    return model


def test_the_first_round_asks_about_the_part_chosen_in_grids_that_hang_together() -> None:
    first = FirstRound(N, SIZE, SEED, np.random.default_rng(0))
    grids = get_strategy("scdc").first_grids(12, first, SETTINGS)
    assert grids.contents == {"random": 12}
    assert set(grids.images.ravel().tolist()) <= set(SUBSET.tolist())
    seen = set(grids.images[0].tolist())
    for grid in grids.images[1:].tolist():
        assert seen & set(grid)
        seen |= set(grid)
    everything = get_strategy("scdc").first_grids(40, first, {})
    assert len(np.unique(everything.images)) == N
    tiny = get_strategy("scdc").first_grids(2, first, {"n_annotated": 3})
    assert len(np.unique(tiny.images)) == SIZE


def test_all_images_are_placed_also_those_that_nobody_was_asked_about() -> None:
    memberships = learned().memberships
    assert memberships is not None
    assert len(memberships) == N
    assert memberships.asked.sum() == len(SUBSET)
    unasked = np.flatnonzero(~memberships.asked)
    for kind in range(K):
        votes = np.bincount(memberships.cluster[kind == TRUE])
        assert votes.max() > 0.9 * votes.sum()
    assert len(set(memberships.cluster[unasked].tolist())) == K
    assert (np.diff(np.bincount(memberships.cluster)) <= 0).all()


def test_metrics_tell_clusters_certainty_and_held_out_agreement() -> None:
    metrics = learned().metrics
    assert metrics["clusters"] == pytest.approx(K, abs=1.01)
    assert 0.5 < metrics["certain_share"] <= 1
    assert metrics["held_out_auc"] > 0.9
    assert 0 <= metrics["held_out_auc_error"] < 0.2
    assert metrics["held_out_balanced_accuracy"] > 0.85


def test_annotators_are_told_with_intervals_and_only_those_who_answered() -> None:
    insight = learned().insight
    assert insight is not None
    assert [entry["annotator"] for entry in insight["reliability"]] == [0, 1, 2, 3]
    for entry in insight["reliability"]:
        low, high = entry["sensitivity_interval"]
        assert low <= entry["sensitivity"] <= high
        assert entry["sensitivity"] > 0.8
        assert entry["weight"] > 2
    assert sum(cluster["proportion"] for cluster in insight["clusters"]) == pytest.approx(
        1, abs=0.1
    )


def test_later_rounds_mix_grids_in_the_shares_of_the_settings() -> None:
    grids = learned().select_grids(20, 2)
    assert grids.contents == {"random": 2, "uncertain": 7, "between": 4, "covering": 7}
    assert np.isin(grids.images, SUBSET).all()
    assert all(len(set(grid)) == SIZE for grid in grids.images.tolist())


def test_one_cluster_leaves_nothing_between() -> None:
    nothing = np.random.default_rng(0).normal(size=(N, 2))
    alone = data(features=nothing)
    together = Groupings(
        alone.rounds[0].images, np.zeros_like(alone.rounds[0].groups), np.zeros(24, np.int64), N, 1
    )
    changed = LearningData(**{**vars(alone), "rounds": [together]})
    model = get_strategy("scdc").learn(changed, SETTINGS, lambda _: None)
    grids = model.select_grids(20, 2)
    assert len(grids.images) == 20
    assert np.isfinite(model.embedding).all()


def test_the_other_variant_and_small_images_work() -> None:
    n = 40
    small = np.zeros((n, 8, 8), np.float32)
    small[np.arange(n), TRUE[:n] * 2] = 1.0
    grids = linked_grids(np.arange(n), 8, SIZE, np.random.default_rng(1))
    few = Groupings(grids, TRUE[grids], np.arange(8) % 2, n, 2)
    learning_data = LearningData([few], n, SIZE, 3, 4, SEED, features=small)
    settings = {**SETTINGS, "variant": "scdc", "max_clusters": 3}
    model = get_strategy("scdc").learn(learning_data, settings, lambda _: None)
    assert model.memberships is not None
    assert model.memberships.n_clusters <= 3
    assert model.insight is not None
    assert model.insight["reliability"][0]["sensitivity_interval"] is None


def test_features_are_needed() -> None:
    with pytest.raises(ValueError, match="needs features"):
        get_strategy("scdc").learn(data(features=None), SETTINGS, lambda _: None)


def test_training_that_diverges_is_no_reason_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverged(*_: Any, **__: Any) -> None:
        raise FloatingPointError("training diverged")

    monkeypatch.setattr("learning.semicrowd.BayesianSemiCrowdClustering.fit", diverged)
    with pytest.raises(ValueError, match="can't learn from these features: training diverged"):
        get_strategy("scdc").learn(data(), SETTINGS, lambda _: None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"uncertain_share": 0.7, "between_share": 0.4}, "add up to 1.2"),
        ({"max_clusters": 1}, "max_clusters"),
        ({"n_annotated": 1}, "n_annotated"),
        ({"features": "mood"}, "no features named 'mood'"),
    ],
)
def test_settings_out_of_range_are_refused(
    environment: dict[str, str], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_settings(get_strategy("scdc"), settings)


def test_memberships_number_clusters_from_the_largest_on() -> None:
    table = np.array([[0.1, 0.0, 0.9], [0.2, 0.0, 0.8], [0.6, 0.0, 0.4]])
    memberships, components = memberships_of(table, np.array([True, False, True]))
    assert components.tolist() == [2, 0]
    assert memberships.cluster.tolist() == [0, 0, 1]
    assert memberships.second.tolist() == [1, 1, 0]
    assert memberships.second_probability.tolist() == [0.1, 0.2, 0.4]
    assert memberships.uncertain_first().tolist() == [2, 1, 0]
    again = Memberships.from_bytes(memberships.to_bytes())
    assert np.array_equal(again.probability, memberships.probability)
    with pytest.raises(ValueError, match="not a file of memberships"):
        Memberships.from_bytes(b"nothing")


@pytest.fixture
def played(client: TestClient) -> Campaign:
    """A campaign with two rounds answered and learned; a third of the images is asked about."""
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=45),
        kind="bins",
        strategy="scdc",
        budget=40,
        rounds=3,
        ready_share=0.0,
        grids_per_assignment=90,
        settings={"features": "features", "n_annotated": 18, "effort": "quick", "n_latent": 2},
    )
    who = a_session(client, campaign)
    for n in (14, 13):
        answer(client, who, n)
        run_job()
    sign_in(client, owner)
    return campaign


def test_a_campaign_places_all_images_and_tells_of_it(client: TestClient, played: Campaign) -> None:
    campaign = played
    with transaction() as session:
        asked = {image for grid in session.scalars(select(Grid)) for image in grid.images}
        contents = session.scalars(select(Round.contents).order_by(Round.number)).all()
        models = session.scalars(select(Model).order_by(Model.version)).all()
        n_places = len(session.scalars(select(EmbeddedImage.position)).all())
        stored = session.scalars(select(Clustering).order_by(Clustering.created_at)).all()
        keys = list_objects(models[-1].artifact_key)
    assert len(asked) == 18
    assert set(contents[1] or {}) >= {"covering", "uncertain"}
    assert n_places == 2 * 45
    assert [row.algorithm for row in stored] == ["model", "model"]
    assert "memberships_kept" not in models[0].metrics
    assert 0 < models[1].metrics["memberships_kept"] <= 1
    assert "neighbour_stability" not in models[1].metrics
    assert any(key.endswith("memberships.safetensors") for key in keys)

    base = f"/api/v1/campaigns/{campaign.id}"
    progress = client.get(f"{base}/progress").json()
    assert [model["has_memberships"] for model in progress["models"]] == [True, True]
    assert [model["has_insight"] for model in progress["models"]] == [False, False]
    own = client.get(f"{base}/models/2/own-clusters").json()
    assert own["features"] == "features"
    assert sum(cluster["size"] for cluster in own["clusters"]) == 45
    assert len(own["clusters"][0]["certain"]) == min(8, own["clusters"][0]["size"])
    assert own["annotators"][0]["n_answers"] == 27

    # Among the clusterings that there are: the map's colours, names, merging.
    (summary,) = client.get(f"{base}/models/2/clusterings").json()["items"]
    assert summary["algorithm"] == "model"
    assert summary["name"] == f"The model's own, {len(own['clusters'])} clusters"
    clustering = client.get(f"{base}/models/2/clusterings/{summary['id']}").json()
    lines = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/memberships.csv").text)))
    assert [int(line["cluster"]) for line in lines] == clustering["labels"]
    assert {int(line["image"]) for line in lines if line["asked"] == "True"} == asked
    assert all(0 < float(line["probability"]) <= 1 for line in lines)
    people = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/reliability.csv").text)))
    assert [line["annotator"] for line in people] == ["0"]
    assert float(people[0]["sensitivity_low"]) <= float(people[0]["sensitivity"])
    check_list(client, campaign)
    check_client(client, campaign)


class Direct(Transport):
    """The Python client's requests, to the application in this process."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str, **query: Any) -> Any:
        parameters = {name: value for name, value in query.items() if value is not None}
        return self.client.get(f"/api/v1{path}", params=parameters).json()

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return self.client.post(f"/api/v1{path}", json=body).json()


def check_client(client: TestClient, campaign: Campaign) -> None:
    fields = {"id": str(campaign.id), "name": "", "collection_id": "", "annotator_link": ""}
    client_campaign = ClientCampaign(Direct(client), fields)
    listed = list(client_campaign.memberships(order="uncertain"))
    assert sorted(membership.image for membership in listed) == list(range(45))
    assert listed[0].probability <= listed[-1].probability
    some = list(client_campaign.memberships(1, asked=True))
    assert 0 < len(some) <= 18
    assert all(membership.asked for membership in some)


def check_list(client: TestClient, campaign: Campaign) -> None:
    """Uncertain ones first, in pages, and by cluster."""
    path = f"/api/v1/campaigns/{campaign.id}/models/2/memberships"
    first = client.get(path, params={"order": "uncertain", "limit": 30}).json()
    rest = client.get(path, params={"order": "uncertain", "after": first["next"]}).json()
    everything = [*first["items"], *rest["items"]]
    probabilities = [membership["probability"] for membership in everything]
    assert probabilities == sorted(probabilities)
    assert sorted(membership["image"] for membership in everything) == list(range(45))
    in_order = client.get(path).json()["items"]
    assert [membership["image"] for membership in in_order] == list(range(45))
    some = client.get(path, params={"cluster": 0, "asked": "false"}).json()["items"]
    assert some == [
        membership
        for membership in in_order
        if membership["cluster"] == 0 and not membership["asked"]
    ]
    strange = client.get(path, params={"cluster": 44})
    assert (strange.status_code, strange.json()["code"]) == (422, "unknown_cluster")


def comparable(payload: Any) -> Any:
    """Without keys and addresses, which are a campaign's own."""
    if isinstance(payload, dict):
        own = ("id", "url", "large_url", "created_at")
        return {name: comparable(value) for name, value in payload.items() if name not in own}
    return [comparable(item) for item in payload] if isinstance(payload, list) else payload


def test_names_go_on_to_the_next_model_and_lost_files_are_told(
    client: TestClient, played: Campaign
) -> None:
    campaign = played
    base = f"/api/v1/campaigns/{campaign.id}"
    (summary,) = client.get(f"{base}/models/2/clusterings").json()["items"]
    path = f"{base}/models/2/clusterings/{summary['id']}"
    named = {index: f"kind {index}" for index in range(summary["n_clusters"])}
    before = client.patch(path, json={"names": named}).json()
    own = client.get(f"{base}/models/2/own-clusters").json()
    assert own["clusters"][0]["name"] == "kind 0"
    asked_for = client.post(path.rpartition("/")[0], json={"n_clusters": 2}).json()
    mine = f"{path.rpartition('/')[0]}/{asked_for['id']}"
    client.patch(mine, json={"name": "Mine", "names": {"0": "large", "1": "small"}})
    answer(client, a_session(client, campaign, key="annotator-000002"), 13)
    run_job()
    listed = client.get(f"{base}/models/3/clusterings").json()["items"]
    assert {item["name"] for item in listed} >= {"Mine"}
    assert listed[-1]["algorithm"] == "model"
    after = listed[-1]
    now = client.get(f"{base}/models/3/clusterings/{after['id']}").json()
    kept = [cluster for cluster in now["clusters"] if cluster["name"]]
    assert kept
    assert {cluster["carried_from"] for cluster in kept} == {2}
    for cluster in kept:
        members = [k for k, label in enumerate(now["labels"]) if label == cluster["index"]]
        earlier = [before["labels"][k] for k in members]
        assert before["clusters"][max(set(earlier), key=earlier.count)]["name"] == cluster["name"]

    archive = client.get(f"{base}/export/archive.zip").content
    reply = client.post("/api/v1/campaigns/import", files={"file": ("archive.zip", archive)})
    assert reply.status_code == 201, reply.text
    restored = f"/api/v1/campaigns/{reply.json()['id']}"
    for page in ("memberships", "own-clusters", "clusterings"):
        original, imported = (
            client.get(f"{root}/models/3/{page}").json() for root in (base, restored)
        )
        assert comparable(original) == comparable(imported)

    with transaction() as session:
        model = session.scalars(
            select(Model).where(Model.version == 1, Model.campaign_id == campaign.id)
        ).one()
        delete_objects(list_objects(model.artifact_key))
    lost = client.get(f"{base}/models/1/memberships")
    assert (lost.status_code, "no longer in storage" in lost.json()["detail"]) == (404, True)
    assert client.get(f"{base}/models/1/insight").status_code == 404
    assert client.get(f"{base}/models/1/axes").json()["items"][0]["kind"] == "direction"


def test_a_column_of_noise_however_wide_does_not_destroy_the_clusters() -> None:
    noise = np.random.default_rng(5).normal(size=(N, 1)) * 1e4
    noisy = np.concatenate([FEATURES, noise], axis=1).astype(np.float32)
    known = np.ones(N, np.bool_)
    scores = {}
    for name, features in (
        ("as they are", noisy),
        ("scaled", scaled_table(noisy, known, ["a", "b", "c", "noise"]).values),
    ):
        model = get_strategy("scdc").learn(data(features=features), SETTINGS, lambda _: None)
        assert model.memberships is not None
        labels = model.memberships.cluster
        scores[name] = adjusted_rand_score(TRUE, labels)
    assert scores["scaled"] > 0.85
    assert scores["as they are"] < 0.6
