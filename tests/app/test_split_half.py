"""How settled a model's neighbours are: measured by a job after each full round, shown, exported,
and a reason to end a campaign."""

import csv
import io
import json
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
from app.core.storage import delete_objects
from app.jobs.models import Job
from app.jobs.service import SPLIT_HALF, jobs_of
from app.results import split_half
from app.results.models import Model
from app.results.publish import FEWEST_ANSWERS
from app.results.split_half import run_split_half
from app.strategies import get_strategy
from app.strategies.base import check_settings
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.archives import archive_of, bring, packed, unpacked
from tests.support.asked import claimed, learn

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


def test_a_lease_that_is_lost_at_the_end_stores_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_bins_campaign(an_account(), target=0.2)
    answer(client, a_session(client, campaign), ROUND, by_likeness)
    learn()
    job = claimed(SPLIT_HALF)

    def taken_over(*_: Any) -> None:
        with transaction() as session:
            session.get_one(Job, job.id).epoch += 1

    monkeypatch.setattr(split_half, "put_object", taken_over)
    with pytest.raises(LostLease):
        run_split_half(campaign.id, job.id, job.epoch)
    assert newest(campaign).settled is None
    assert reloaded(campaign.id).state == "running"


def test_a_model_that_is_published_meanwhile_is_measured_next(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_bins_campaign(an_account())
    who = a_session(client, campaign)
    answer(client, who, ROUND, by_likeness)
    learn()

    def another_round() -> None:
        monkeypatch.undo()
        answer(client, who, ROUND, by_likeness)
        learn()

    during_the_comparison(monkeypatch, another_round)
    compare()
    assert states(campaign) == ["done", "queued"]
    compare()
    measured = newest(campaign)
    assert measured.version == 2
    assert measured.settled is not None
    assert states(campaign) == ["done", "done"]


def test_the_reason_outlives_places_that_are_asked_again(client: TestClient) -> None:
    owner = an_account()
    campaign = a_bins_campaign(owner, target=0.2)
    answer(client, a_session(client, campaign, "somebody-else-01"), 10, at_random)
    answer(client, a_session(client, campaign), ROUND - 10, by_likeness)
    learn()
    sign_in(client, owner)
    path = f"/api/v1/campaigns/{campaign.id}"
    leave_out = f"{path}/annotators/0/actions/leave_out"
    assert client.post(leave_out, json={"reason": "Random."}).status_code == 204
    learn()
    compare()
    now = reloaded(campaign.id)
    assert (now.state, now.reopened_only, now.n_reopened) == ("running", True, 10)
    answer(client, a_session(client, campaign, "somebody-else-02"), 10, by_likeness)
    learn()
    assert reloaded(campaign.id).state == "finished"
    alerts = client.get(f"{path}/progress").json()["monitor"]["alerts"]
    assert [each["code"] for each in alerts if each["level"] == "note"] == ["good_enough"]


def test_answers_that_are_left_out_later_are_measured_again(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    path = f"/api/v1/campaigns/{campaign.id}/annotators/0/actions/leave_out"
    answer(client, a_session(client, campaign, "somebody-else-01"), ROUND, by_likeness)
    learn()
    compare()
    assert client.post(path, json={"reason": "Random.", "ask_again": False}).status_code == 204
    learn()
    assert states(campaign) == ["done", "done", "queued"]
    compare()
    settled = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()["settled"]
    assert (settled["version"], settled["n_answers"]) == (3, ROUND)


def test_a_new_target_may_be_reached_already(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    path = f"/api/v1/campaigns/{campaign.id}"
    assert client.patch(path, json={"settings": {"settled_target": 0.2}}).status_code == 200
    compare()
    assert reloaded(campaign.id).state == "finished"


def test_answers_that_are_left_out_do_not_count_as_given(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    path = f"/api/v1/campaigns/{campaign.id}/progress"
    before = client.get(path).json()["settled"]["needed"]["answers"]
    assert before > 0
    with transaction() as session:
        model = session.get_one(Model, newest(campaign).id)
        assert model.settled is not None
        model.settled = {**model.settled, "n_finished": model.settled["n_finished"] - 10}
    assert client.get(path).json()["settled"]["needed"]["answers"] == before - 10


def test_a_lost_file_hides_nothing_else(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    api, model = f"/api/v1/campaigns/{campaign.id}", newest(campaign)
    assert model.settled is not None
    delete_objects([f"{model.artifact_key}/{model.settled['file']}"])
    reply = client.get(f"{api}/models/1/neighbours", params={"image": 3})
    assert (reply.status_code, reply.json()["kept"]) == (200, None)
    assert client.get(f"{api}/export/embedding.csv").status_code == 200
    assert client.get(f"{api}/models/1/map/settled").status_code == 404


@pytest.mark.parametrize("strategy", ["crowdster", "cen", "scdc"])
def test_only_a_chosen_target_is_stored(environment: dict[str, str], strategy: str) -> None:
    """The previous release refuses settings that it does not know."""
    chosen = get_strategy(strategy)
    assert "settled_target" not in check_settings(chosen, {})
    assert "settled_target" not in check_settings(chosen, {"settled_target": None})
    assert check_settings(chosen, {"settled_target": 0.6})["settled_target"] == 0.6


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


def test_it_goes_into_archives_and_back(client: TestClient) -> None:
    campaign = a_measured_campaign(client)
    again = bring(client, archive_of(client, campaign)).json()
    there = f"/api/v1/campaigns/{again['id']}"
    assert client.get(f"{there}/progress").json()["settled"]["n_answers"] == ROUND
    here = f"/api/v1/campaigns/{campaign.id}"
    tables = [client.get(f"{path}/export/embedding.csv").text for path in (here, there)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    "changes", [{"n_neighbors": "x"}, {"file": "../x"}, {"share": 7}, {"more": 1}]
)
def test_what_cannot_be_read_is_refused_in_archives(
    client: TestClient, changes: dict[str, Any]
) -> None:
    campaign = a_measured_campaign(client)
    members = unpacked(archive_of(client, campaign))
    name = next(name for name in members if name.endswith("model.jsonl"))
    model = json.loads(members[name])
    model["settled"] |= changes
    members[name] = (json.dumps(model) + "\n").encode()
    refused = bring(client, packed(members))
    assert refused.status_code == 422
    assert "kept neighbours of model 1" in refused.text or "progress" in refused.text
