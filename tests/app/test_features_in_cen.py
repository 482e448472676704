"""Campaigns of Context Embedding Networks that learn from features of the images."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.features import computing, encoder, shards
from app.jobs.models import Job
from app.jobs.service import claim_job, request_job
from app.results import encoding
from app.results.learn import run_learning_job
from app.results.models import EmbeddedImage, Model
from app.strategies import get_strategy
from app.strategies.base import check_settings, features_named, stored_settings
from app.strategies.uncertainty import Uncertainty
from testbed.builders import a_campaign, a_collection, reloaded
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_computed_features import encode_by
from tests.support.feature_sets import a_vector_table, root_of, uploaded

N, SIZE, N_ANSWERS = 200, 10, 14


@pytest.fixture
def collection(client: TestClient, owner: Account) -> Collection:
    """With a feature set whose first column says in which of two groups people put an image."""
    kept = a_collection(owner, N)
    values = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    values[:, 0] += 6 * _side()
    uploaded(client, kept.id, a_vector_table(values), name="clip")
    return kept


def _side() -> Any:
    return np.random.default_rng(1).integers(0, 2, N)


def answered(client: TestClient, owner: Account, collection: Collection, name: str) -> Campaign:
    campaign = a_campaign(
        owner,
        collection,
        budget=N_ANSWERS,
        grid_size=SIZE,
        grids_per_assignment=N_ANSWERS,
        settings={"features": name},
    )
    who = a_session(client, campaign)
    for _ in range(N_ANSWERS):
        lease = a_lease(client, who)
        groups = [int(_side()[shown["image"]]) for shown in lease["images"]]
        assert submit(client, who, lease, groups=groups).json()["status"] == "stored"
    with transaction() as session:
        job_id = session.scalars(
            select(Job.id).where(Job.kind == "learn", Job.state == "queued")
        ).one()
        job = claim_job(session, job_id, "worker")
        assert job is not None
    run_learning_job(job.campaign_id, job.id, job.epoch)
    return reloaded(campaign.id)


def exported(client: TestClient, campaign: Campaign, name: str) -> list[dict[str, str]]:
    text = client.get(f"/api/v1/campaigns/{campaign.id}/export/{name}").text
    return list(csv.DictReader(io.StringIO(text)))


def test_a_campaign_places_the_images_that_nobody_was_asked_about(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    campaign = answered(client, owner, collection, "clip")
    rows = exported(client, campaign, "embedding.csv")
    assert len(rows) == N
    places = np.array([[float(row[f"x{axis}"]) for axis in range(8)] for row in rows])
    error = np.array([[float(row[f"deviation{axis}"]) for axis in range(8)] for row in rows])
    new = np.array([row["by_features"] == "True" for row in rows])
    assert 40 < new.sum() < 150
    assert (np.ptp(places[new], axis=0) > 0).any()
    assert error[new].mean() > error[~new].mean()
    # An image's nearest other image is on its side, also if nobody was asked about it.
    nearest = {int(r["image"]): r for r in exported(client, campaign, "neighbours.csv")
               if r["rank"] == "1"}  # fmt: skip
    right = [
        _side()[int(nearest[k]["neighbour"])] == _side()[k] for k in np.flatnonzero(new).tolist()
    ]
    assert np.mean(right) > 0.9
    assert all(float(row["distance_deviation"]) > 0 for row in nearest.values())
    base = f"/api/v1/campaigns/{campaign.id}"
    insight = client.get(f"{base}/models/1/insight").json()
    assert insight["features"] == "clip"
    assert insight["features_used"]
    assert insight["features_auc"] > 0.8
    assert insight["n_placed"] == new.sum()
    near = client.get(f"{base}/neighbours", params={"image": 0}).json()["neighbours"]
    assert all(neighbour["deviation"] > 0 for neighbour in near)
    with np.load(io.BytesIO(client.get(f"{base}/export/embedding.npz").content)) as stored:
        assert np.array_equal(stored["by_features"], new)
        assert stored["deviation"].shape == stored["embedding"].shape


def test_noise_leaves_the_campaign_as_it_is(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    noise = np.random.default_rng(9).normal(size=(N, 3)).astype(np.float32)
    uploaded(client, collection.id, a_vector_table(noise), name="noise")
    campaigns = [answered(client, owner, collection, name) for name in ("noise", "nothing")]
    vectors = []
    for campaign in campaigns:
        with transaction() as session:
            query = select(EmbeddedImage.vector).join(Model, Model.id == EmbeddedImage.model_id)
            query = query.where(Model.campaign_id == campaign.id).order_by(EmbeddedImage.position)
            vectors.append(np.array(session.scalars(query).all()))
    assert np.array_equal(vectors[0], vectors[1])
    first, second = (
        client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight").json()
        for campaign in campaigns
    )
    assert (first["features_used"], first["n_placed"]) == (False, 0)
    assert (second["features"], second["features_used"]) == (None, None)


def test_features_that_the_collection_does_not_have_are_refused(
    client: TestClient, owner: Account, collection: Collection
) -> None:
    other = a_collection(owner, 20)
    with pytest.raises(InvalidInput, match="'clip'; choose one of: objects, appearance"):
        a_campaign(owner, other, settings={"features": "clip"})
    with pytest.raises(InvalidInput, match=r"no features named 'thoughts'.*clip"):
        a_campaign(owner, collection, settings={"features": "thoughts"})
    assert a_campaign(owner, collection, settings={"features": "clip"}).state == "running"


def test_new_campaigns_use_the_encoder_if_it_is_here(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"cen": "nothing", "scdc": "appearance", "neucrowd": "appearance"}
    for is_here in (True, False):
        monkeypatch.setattr("app.features.sources.is_available", lambda here=is_here: here)
        for name, other in others.items():
            expected = "objects" if is_here else other
            strategy = get_strategy(name)
            assert check_settings(strategy, {})["features"] == expected
            schema = strategy.settings_model.model_json_schema()["properties"]["features"]
            assert schema["default"] == expected
            assert schema["default"] in schema["enum"]
    assert encoder.missing_message()


def test_campaigns_of_earlier_versions_learn_without_features(
    environment: dict[str, str], owner: Account
) -> None:
    strategy, stored = get_strategy("cen"), {"n_dimensions": 4}
    assert features_named(strategy, stored) is None
    checked = check_settings(strategy, stored_settings(strategy, stored))
    assert checked["features"] == "nothing"


def test_uncertainties_of_distances() -> None:
    some = Uncertainty(np.full((3, 2), 0.3, np.float32), np.zeros(3, np.bool_))
    places = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    deviations = some.of_distances(places, 0, np.array([1, 2]))
    assert deviations[0] == pytest.approx(0.3 * 2**0.5)
    assert deviations[1] == pytest.approx(0.6)
    again = Uncertainty.from_bytes(some.to_bytes())
    assert np.array_equal(again.deviation, some.deviation)
    for wrong in (np.full((3, 2), -1.0), np.full((3, 2), np.nan), np.zeros((2, 2))):
        broken = Uncertainty(wrong.astype(np.float32), some.by_features)
        with pytest.raises(ValueError, match="deviation"):
            Uncertainty.from_bytes(broken.to_bytes())


def test_many_images_are_encoded_in_parts_whose_progress_is_shown(
    client: TestClient, owner: Account, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "MANY", N)
    monkeypatch.setattr(shards, "MOST_ROWS", 64)
    seen = []

    def looked_at() -> Any:
        [campaign] = client.get("/api/v1/campaigns").json()["items"]
        return client.get(f"/api/v1/campaigns/{campaign['id']}/progress").json()["looked_at"]

    def encode(images: Sequence[np.ndarray]) -> np.ndarray:
        seen.append(looked_at())
        return np.array([image.mean(axis=(0, 1)) for image in images])

    encode_by(monkeypatch, encode)
    campaign = answered(client, owner, collection, "grey")
    assert seen == [{"done": done, "images": N} for done in range(0, N, computing.BATCH)]
    assert looked_at() is None
    sets = {each["name"]: each for each in client.get(root_of(collection.id)).json()["items"]}
    assert (sets["grey"]["state"], sets["grey"]["n_known"]) == ("done", N)
    # The next training only reads them.
    with transaction() as session:
        job = request_job(session, campaign.id, N_ANSWERS)
    with transaction() as session:
        claimed = claim_job(session, job.id, "worker")
    assert claimed is not None
    run_learning_job(campaign.id, claimed.id, claimed.epoch)
    assert len(seen) == -(-N // computing.BATCH)
