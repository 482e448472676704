"""Changing, copying and putting away campaigns."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.changes import change_campaign, reopen_campaign
from app.campaigns.models import Campaign, Round
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import (
    create_campaign,
    finish_campaign,
    start_campaign,
)
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.jobs.models import Job
from app.jobs.service import claim_job
from testbed.builders import a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job

pytestmark = pytest.mark.usefixtures("environment")


def a_draft(owner: Account, **plan: Any) -> Campaign:
    collection = a_collection(owner, n=24)
    values = {
        "name": "Draft", "kind": "bins", "strategy": "crowdster", "budget": 12, "rounds": 2,
        "grid_size": 6, "seed": 0, "ready_share": 0.0, "grids_per_assignment": 100, **plan,
    }  # fmt: skip
    with transaction() as session:
        return create_campaign(session, owner, CampaignPlan(collection_id=collection.id, **values))


def test_anything_of_a_draft_can_change(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    changed = client.patch(root, json={"kind": "grid", "strategy": "cen", "name": " Anew "}).json()
    # Another kind and strategy bring their own sizes and settings.
    assert (changed["name"], changed["grid_size"], changed["max_groups"]) == ("Anew", 24, 10)
    assert changed["rounds"] == 2
    assert "n_dimensions" in changed["settings"]
    assert "beta" not in changed["settings"]
    assert changed["question"] == campaign.question
    part = client.patch(root, json={"annotation": {"thanks": "Bye"}, "plan": {"target": 0.5}})
    assert part.json()["annotation"]["thanks"] == "Bye"
    assert client.patch(root, json={"plan": {"platform": "prolific"}}).json()["plan"] == {
        "platform": "prolific", "fee_percent": None, "seconds_per_grid": None, "target": 0.5,
    }  # fmt: skip
    refused = client.patch(root, json={"grid_size": 100})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_grid_size")
    assert client.get(root).json()["grid_size"] == 24
    assert client.patch(root, json={"colour": 1}).status_code == 422


def test_what_answers_mean_cannot_change_once_there_may_be_some(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    for field, value in (("question", "Other?"), ("grid_size", 8), ("strategy", "cen")):
        refused = client.patch(root, json={field: value})
        assert (refused.status_code, refused.json()["code"]) == (409, "frozen")
        assert "Clone" in refused.json()["detail"]
    kept = client.patch(root, json={"question": campaign.question, "name": "Better name"})
    assert kept.json()["name"] == "Better name"
    assert client.patch(root, json={"settings": {"random_share": 0.5}}).status_code == 200
    settings = reloaded(campaign.id).settings
    assert settings["random_share"] == 0.5
    assert settings["algorithm"] == "likelihood"
    assert client.patch(root, json={"settings": {"random_share": 2}}).status_code == 422
    assert reloaded(campaign.id).settings["random_share"] == 0.5


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"budget": 5}, "budget can't be below"),
        ({"rounds": 1, "budget": 40}, "Add a round"),
        ({"budget": 7, "rounds": 5}, "would not get a grid each"),
    ],
)
def test_a_budget_must_fit_the_rounds_that_stand(values: dict[str, int], complaint: str) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    with pytest.raises(InvalidInput, match=complaint), transaction() as session:
        change_campaign(session, owner, campaign.id, values)
    assert reloaded(campaign.id).budget == 12


def answer_round(client: TestClient, who: dict[str, str], n: int) -> None:
    for _ in range(n):
        submit(client, who, a_lease(client, who))
    run_job()


def test_more_budget_goes_on_after_the_end(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    who = a_session(client, campaign)
    answer_round(client, who, 6)
    with transaction() as session:
        # Both rounds stand: four more answers are a round of their own.
        changed = change_campaign(session, owner, campaign.id, {"budget": 16})
        assert (changed.rounds, changed.laid_out) == (3, [6, 6])
    answer_round(client, who, 6)
    answer_round(client, who, 4)
    assert reloaded(campaign.id).state == "finished"
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    refused = client.post(f"{root}/actions/reopen")
    assert (refused.status_code, refused.json()["code"]) == (409, "budget_spent")
    assert client.patch(root, json={"budget": 22, "rounds": 5}).json()["rounds"] == 5
    assert client.post(f"{root}/actions/reopen").json()["state"] == "running"
    run_job()
    for _ in range(2):
        answer_round(client, a_session(client, campaign), 3)
    assert reloaded(campaign.id).state == "finished"
    with transaction() as session:
        rounds = session.scalars(select(Round).order_by(Round.number)).all()
        assert [row.n_answers for row in rounds] == [6, 6, 4, 3, 3]
        assert reloaded(campaign.id).n_answers == 22


def test_a_campaign_ended_early_goes_on_where_it_was(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/actions"
    client.post(f"{root}/start")
    who = a_session(client, campaign)
    for _ in range(2):
        submit(client, who, a_lease(client, who))
    client.post(f"{root}/finish")
    run_job()
    with transaction() as session:
        reopen_campaign(session, owner, campaign.id)
    run_job()
    answer_round(client, a_session(client, campaign), 4)
    answer_round(client, a_session(client, campaign), 6)
    assert reloaded(campaign.id).state == "finished"


def test_a_copy_is_a_draft_of_its_own(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner, annotation={"known_attribute": "colour", "practice": 1})
    sign_in(client, owner)
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/start")
    client.post(f"/api/v1/campaigns/{campaign.id}/focus", json={"images": [1]})
    copy = client.post(f"/api/v1/campaigns/{campaign.id}/clone")
    assert copy.status_code == 201
    body = copy.json()
    assert (body["state"], body["name"], body["n_answers"]) == ("draft", "Draft (copy)", 0)
    assert body["annotation"]["practice"] == 1
    assert body["settings"]["focus_images"] == []
    assert body["seed"] != campaign.seed
    assert client.get(copy.headers["location"]).json()["budget"] == 12
    again = client.post(f"/api/v1/campaigns/{campaign.id}/clone").json()
    assert again["name"] == "Draft (copy 2)"


def test_campaigns_are_put_away_and_drafts_deleted(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    assert client.post(f"{root}/actions/archive").status_code == 200
    assert client.get("/api/v1/campaigns").json()["items"] == []
    (away,) = client.get("/api/v1/campaigns?archived=true").json()["items"]
    assert away["id"] == str(campaign.id)
    client.post(f"{root}/actions/unarchive")
    client.post(f"{root}/actions/start")
    assert client.post(f"{root}/actions/archive").status_code == 409
    assert client.delete(root).status_code == 409
    other = client.post(f"{root}/clone").json()["id"]
    assert client.delete(f"/api/v1/campaigns/{other}").status_code == 204
    assert client.get(f"/api/v1/campaigns/{other}").status_code == 404


def test_settings_of_a_draft_change_one_by_one(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    client.patch(root, json={"settings": {"random_share": 0.5}})
    client.patch(root, json={"settings": {"beta": 3}})
    settings = reloaded(campaign.id).settings
    assert (settings["random_share"], settings["beta"]) == (0.5, 3.0)


def test_known_answers_of_a_list_hold_the_grids_as_they_are(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    other = a_collection(owner, n=12)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    rows = "\n".join(f"1,image-{k:03d}.png,{k % 2}" for k in range(6))
    table = f"grid,filename,group\n{rows}".encode()
    assert client.post(f"{root}/known-answers", files={"file": ("k.csv", table)}).is_success
    for change in ({"collection_id": str(other.id)}, {"grid_size": 4}, {"kind": "grid"}):
        refused = client.patch(root, json=change)
        assert (refused.status_code, refused.json()["code"]) == (409, "known_answers"), change
    assert client.patch(root, json={"name": "Same grids"}).is_success
    assert client.delete(f"{root}/known-answers").status_code == 204
    assert client.patch(root, json={"collection_id": str(other.id)}).is_success


def test_only_the_owner_chooses_the_collection_of_a_draft(client: TestClient) -> None:
    owner, friend = an_account(), an_account("friend@example.org")
    campaign = a_draft(owner)
    theirs = a_collection(friend, n=12)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    client.put(f"{root}/shares", json={"email": "friend@example.org", "access": "edit"})
    sign_in(client, friend)
    assert client.patch(root, json={"question": "Which?"}).is_success
    refused = client.patch(root, json={"collection_id": str(theirs.id)})
    assert refused.status_code == 403
    assert reloaded(campaign.id).collection_id == campaign.collection_id


def claimed(campaign: Campaign) -> Job:
    with transaction() as session:
        job_id = session.scalars(
            select(Job.id).where(Job.kind == "learn", Job.state == "queued")
        ).one()
        job = claim_job(session, job_id, "worker")
        assert job is not None
        return job


def learn_while(job: Job, change: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A job in whose midst, after it has read its campaign, something is changed."""
    from app.results import learn

    trained = learn._trained

    def slow(*args: Any) -> Any:
        change()
        return trained(*args)

    monkeypatch.setattr(learn, "_trained", slow)
    learn.run_learning_job(job.campaign_id, job.id, job.epoch)
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("plan", "values", "ends"),
    [
        ({"budget": 6, "rounds": 1}, {"budget": 12}, 12),
        ({"budget": 12, "rounds": 2}, {"budget": 20}, 20),
        ({"budget": 12, "rounds": 2}, {"budget": 6, "rounds": 1}, 6),
    ],
)
def test_a_budget_changed_while_a_model_is_learned(
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    plan: dict[str, int],
    values: dict[str, int],
    ends: int,
) -> None:
    owner = an_account()
    campaign = a_draft(owner, **plan)
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
    who = a_session(client, campaign)
    for _ in range(6):
        submit(client, who, a_lease(client, who))

    def change() -> None:
        with transaction() as session:
            change_campaign(session, owner, campaign.id, values)

    learn_while(claimed(campaign), change, monkeypatch)
    while (state := reloaded(campaign.id)).state != "finished":
        if queued_jobs():
            run_job()
            continue
        submit(client, who, a_lease(client, a_session(client, campaign)))
    assert state.n_answers == ends
    with transaction() as session:
        full = select(Round).where(Round.n_answers < Round.n_wanted)
        assert session.scalars(full).all() == []


def queued_jobs() -> int:
    with transaction() as session:
        return len(session.scalars(select(Job.id).where(Job.state == "queued")).all())


def test_reopening_without_answers_learns_nothing(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    with transaction() as session:
        start_campaign(session, owner, campaign.id)
        finish_campaign(session, owner, campaign.id)
        reopen_campaign(session, owner, campaign.id)
    assert queued_jobs() == 0
    submit(client, who := a_session(client, campaign), a_lease(client, who))
    assert reloaded(campaign.id).n_answers == 1


def test_an_archived_draft_that_starts_is_listed_again(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/actions"
    client.post(f"{root}/archive")
    assert client.post(f"{root}/start").is_success
    assert [item["id"] for item in client.get("/api/v1/campaigns").json()["items"]] == [
        str(campaign.id)
    ]
