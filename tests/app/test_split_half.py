"""How settled a model's neighbours are: measured by a job after each full round, shown, exported,
and a reason to end a campaign."""

import csv
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import LostLease
from app.core.storage import list_objects
from app.jobs.models import Job
from app.jobs.service import LEARN, SPLIT_HALF, claim_job, jobs_of
from app.results import split_half
from app.results.learn import run_learning_job
from app.results.models import Model
from app.results.publish import FEWEST_ANSWERS
from app.results.split_half import run_split_half
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit

N, ROUND = 40, 60
CROWD = FeatureCrowd(np.random.default_rng(0).random((N, 2)), 5)


def a_bins_campaign(owner: Account, target: float | None = None, **plan: Any) -> Campaign:
    values = {"budget": 3 * ROUND, "rounds": 3, "grids_per_assignment": 500, "kind": "bins"}
    values |= {"strategy": "crowdster", "settings": {"settled_target": target}, **plan}
    return a_campaign(owner, a_collection(owner, n=N), **values)


def by_likeness(images: list[int]) -> list[int]:
    return [int(group) for group in CROWD.answer(0, np.array(images), n_bins=4).groups]


def at_random(images: list[int]) -> list[int]:
    return [int(group) for group in np.random.default_rng(images).integers(0, 4, len(images))]


def answer(
    client: TestClient, who: dict[str, str], n: int, grouped: Callable[[list[int]], list[int]]
) -> None:
    for _ in range(n):
        lease = a_lease(client, who)
        groups = grouped([shown["image"] for shown in lease["images"]])
        assert submit(client, who, lease, groups=groups).json()["status"] == "stored"


def claimed(kind: str) -> Job:
    with transaction() as session:
        query = select(Job.id).where(Job.kind == kind, Job.state == "queued")
        job = claim_job(session, session.scalars(query).one(), "worker")
        assert job is not None
        return job


def learn() -> None:
    job = claimed(LEARN)
    run_learning_job(job.campaign_id, job.id, job.epoch)


def compare() -> None:
    job = claimed(SPLIT_HALF)
    run_split_half(job.campaign_id, job.id, job.epoch)


def states(campaign: Campaign, kind: str = SPLIT_HALF) -> list[str]:
    with transaction() as session:
        jobs = session.scalars(jobs_of(campaign.id).where(Job.kind == kind))
        return [job.state for job in sorted(jobs, key=lambda job: job.created_at)]


def newest(campaign: Campaign) -> Model:
    with transaction() as session:
        query = select(Model).where(Model.campaign_id == campaign.id)
        model = session.scalar(query.order_by(Model.version.desc()).limit(1))
        assert model is not None
        return model


def a_measured_campaign(
    client: TestClient,
    target: float | None = None,
    grouped: Callable[[list[int]], list[int]] = by_likeness,
) -> Campaign:
    """A campaign after its first round, signed in as its owner."""
    owner = an_account()
    campaign = a_bins_campaign(owner, target)
    answer(client, a_session(client, campaign), ROUND, grouped)
    learn()
    compare()
    sign_in(client, owner)
    return campaign


def test_a_full_round_is_measured_and_shown(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    api = f"/api/v1/campaigns/{campaign.id}"
    progress = client.get(f"{api}/progress").json()
    settled = progress["settled"]
    assert settled["version"] == 1
    assert settled["n_answers"] == ROUND
    assert settled["chance"] < settled["low"] < settled["share"] < settled["high"] <= 1
    assert settled["predicts"] is True
    assert (settled["target"], settled["aim"]) == (None, 0.8)
    least, some, most = (settled[f"needed{end}"]["answers"] for end in ("_least", "", "_most"))
    assert least <= some
    assert most is None or some <= most
    assert progress["models"][0]["has_settled"] is True
    kept = client.get(f"{api}/models/1/neighbours", params={"image": 3}).json()["kept"]
    assert kept["of"] == settled["n_neighbors"]
    assert 0 <= kept["low"] <= kept["expected"] <= kept["high"] <= kept["of"]
    column = client.get(f"{api}/models/1/map/settled").json()
    shown = [float(column["values"][code]) for code in column["codes"] if code >= 0]
    assert len(shown) == N
    assert np.mean(shown) == pytest.approx(100 * settled["share"], abs=10)


def test_it_is_exported(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    path = f"/api/v1/campaigns/{campaign.id}/export"
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/embedding.csv").text)))
    kept = [[float(row[name]) for name in ("kept_low", "kept", "kept_high")] for row in rows]
    assert np.array(kept).shape == (N, 3)
    assert (np.diff(kept, axis=1) >= 0).all()
    arrays = np.load(io.BytesIO(client.get(f"{path}/embedding.npz").content))
    assert arrays["kept"].tolist() == pytest.approx([row[1] for row in kept], abs=0.01)
    assert {int(row["kept_of"]) for row in rows} == {int(arrays["kept_of"])}


def test_a_model_that_is_not_measured_says_so(client: TestClient) -> None:
    owner = an_account()
    campaign = a_bins_campaign(owner)
    answer(client, a_session(client, campaign), ROUND, by_likeness)
    learn()
    sign_in(client, owner)
    api = f"/api/v1/campaigns/{campaign.id}"
    assert client.get(f"{api}/progress").json()["settled"] is None
    assert client.get(f"{api}/models/1/neighbours", params={"image": 3}).json()["kept"] is None
    reply = client.get(f"{api}/models/1/map/settled")
    assert (reply.status_code, "not measured" in reply.text) == (404, True)
    table = csv.DictReader(io.StringIO(client.get(f"{api}/export/embedding.csv").text))
    assert {row["kept"] for row in table} == {""}


def test_a_campaign_ends_when_its_target_is_reached(client: TestClient) -> None:
    campaign = a_measured_campaign(client, target=0.2)
    now = reloaded(campaign.id)
    assert (now.state, now.n_answers) == ("finished", ROUND)
    progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    (alert,) = (each for each in progress["monitor"]["alerts"] if each["code"] == "good_enough")
    assert "the target is 20%" in alert["text"]
    assert f"{2 * ROUND} answers were not needed" in alert["text"]
    # It would end again.
    again = client.post(f"/api/v1/campaigns/{campaign.id}/actions/reopen")
    assert (again.status_code, again.json()["code"]) == (409, "good_enough")


@pytest.mark.parametrize("target", [None, 0.99])
def test_it_goes_on_without_a_target_and_below_it(client: TestClient, target: float | None) -> None:
    campaign = a_measured_campaign(client, target)
    assert reloaded(campaign.id).state == "running"
    assert newest(campaign).settled is not None


def test_it_never_ends_on_noise(client: TestClient) -> None:
    campaign = a_measured_campaign(client, target=0.2, grouped=at_random)
    assert reloaded(campaign.id).state == "running"
    settled = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()["settled"]
    assert settled["predicts"] is False


def during_the_comparison(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen when the answers have been read."""
    read = split_half._read

    def and_then(*arguments: Any) -> Any:
        given = read(*arguments)
        happens()
        return given

    monkeypatch.setattr(split_half, "_read", and_then)


def test_a_target_that_is_changed_during_the_comparison_does_not_end_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = an_account()
    campaign = a_bins_campaign(owner, target=0.2)
    answer(client, a_session(client, campaign), ROUND, by_likeness)
    learn()

    def raise_target() -> None:
        with transaction() as session:
            now = session.get_one(Campaign, campaign.id)
            now.settings = {**now.settings, "settled_target": 0.9}

    during_the_comparison(monkeypatch, raise_target)
    compare()
    assert reloaded(campaign.id).state == "running"


def test_somebody_left_out_during_the_comparison_repeats_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = an_account()
    campaign = a_bins_campaign(owner, target=0.2)
    answer(client, a_session(client, campaign), ROUND - 10, by_likeness)
    answer(client, a_session(client, campaign, "somebody-else-01"), 10, at_random)
    learn()
    sign_in(client, owner)

    def without_the_second() -> None:
        path = f"/api/v1/campaigns/{campaign.id}/annotators/1/actions/leave_out"
        assert client.post(path, json={"reason": "Random."}).status_code == 204

    during_the_comparison(monkeypatch, without_the_second)
    compare()
    assert reloaded(campaign.id).state == "running"
    assert states(campaign) == ["done", "queued"]


def test_a_lost_lease_stores_nothing(client: TestClient) -> None:
    campaign = a_bins_campaign(an_account(), target=0.2)
    answer(client, a_session(client, campaign), ROUND, by_likeness)
    learn()
    job = claimed(SPLIT_HALF)
    with pytest.raises(LostLease):
        run_split_half(campaign.id, job.id, job.epoch - 1)
    assert newest(campaign).settled is None
    assert reloaded(campaign.id).state == "running"


def test_few_answers_are_not_halved(client: TestClient) -> None:
    campaign = a_bins_campaign(an_account(), budget=FEWEST_ANSWERS - 1, rounds=1)
    answer(client, a_session(client, campaign), FEWEST_ANSWERS - 1, by_likeness)
    learn()
    assert states(campaign) == []


def test_answers_from_which_nothing_can_be_learned_are_no_failure(client: TestClient) -> None:
    def all_left_over(images: list[int]) -> list[int]:
        return [-1] * (len(images) - 2) + [0, 0]

    campaign = a_measured_campaign(client, target=0.2, grouped=all_left_over)
    assert states(campaign) == ["done"]
    assert reloaded(campaign.id).state == "running"


def test_labels_by_votes_have_no_neighbours_to_settle(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner, a_collection(owner, n=24), kind="select", strategy="neucrowd", budget=48, rounds=1,
        grids_per_assignment=100, grid_size=12,
    )  # fmt: skip
    who = a_session(client, campaign)
    for _ in range(48):
        lease = a_lease(client, who)
        groups = [shown["image"] % 2 - 1 for shown in lease["images"]]
        assert submit(client, who, lease, groups=groups).status_code < 300
        if reloaded(campaign.id).n_left == 0:
            break
    learn()
    assert states(campaign) == []


def test_its_file_goes_with_the_model(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    model = newest(campaign)
    assert model.settled is not None
    files = list_objects(model.artifact_key)
    assert f"{model.artifact_key}/{model.settled['file']}" in files
