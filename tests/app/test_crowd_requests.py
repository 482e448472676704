"""Who can let a simulated crowd answer a campaign, with which wishes, and what is kept of it."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.accounts import another_browser
from tests.support.archives import archive_of, bring
from tests.support.crowds import (
    crowd_path,
    one_turn,
    shown,
    started,
)
from tests.support.kinds import PLANS
from tests.support.questions import AGE


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"by": ["shape"]}, "not 'shape'"),
        ({"by": []}, "by"),
        ({"by": ["colour", "colour"]}, "colour, features"),
        ({"by": ["colour", "features"]}, "one thing"),
        ({"by": ["imagined"]}, "not 'imagined'"),
        ({"annotators": 0}, "annotators"),
        ({"annotators": 201}, "annotators"),
        ({"annotators": 2}, "3 to 200 annotators"),
        ({"answers": 0}, "answers"),
        ({"answers": 31}, "30 answers left"),
        ({"noise": 1.5}, "noise"),
        ({"noise": "nan"}, "noise"),
        ({"pace": 1}, "pace"),
    ],
)
def test_what_makes_no_crowd_is_refused(
    client: TestClient, owner: Account, body: dict[str, Any], what: str
) -> None:
    campaign = a_campaign(owner, budget=30, answers_per_grid=3)
    reply = client.post(crowd_path(campaign), json={"by": ["colour"], **body})
    assert reply.status_code == 422, reply.text
    assert what in reply.text
    with transaction() as session:
        assert session.scalar(select(func.count()).where(Job.kind == "simulate")) == 0


def test_classes_need_an_attribute_whose_values_they_are(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, kind="classify", **PLANS["classify"] | {"classes": ["cat", "dog"]})
    reply = client.post(crowd_path(campaign), json={"by": ["colour"]})
    assert reply.status_code == 422
    assert "colour" in reply.json()["detail"]


def test_one_crowd_at_a_time(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=30)
    assert started(client, campaign)["answers"] == 3
    second = client.post(crowd_path(campaign), json={"by": ["colour"]})
    assert (second.status_code, second.json()["code"]) == (409, "simulation_runs")


def test_a_campaign_says_why_no_crowd_can_answer_it(client: TestClient, owner: Account) -> None:
    def refusal(campaign: Campaign) -> str:
        said = client.get(crowd_path(campaign)).json()["refusal"]
        reply = client.post(crowd_path(campaign), json={"by": ["colour"]})
        assert (reply.status_code, reply.json()["code"]) == (409, "cannot_simulate")
        assert reply.json()["detail"] == said
        return str(said)

    table = "\n".join(["filename,name", *(f"image-{k:03d}.png,name {k}" for k in range(40))])
    names = a_collection(owner, n=40, table=table.encode())
    assert "no attribute that a crowd could use" in refusal(a_campaign(owner, names, name="A"))
    asks = a_campaign(owner, name="B", annotation={"questions_before": [AGE]})
    assert "questions" in refusal(asks)


def test_people_who_answered_are_mentioned(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=30)
    started(client, campaign)
    one_turn(campaign)
    assert client.get(crowd_path(campaign)).json()["has_people"] is False
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who))
    assert client.get(crowd_path(campaign)).json()["has_people"] is True


def test_only_who_may_change_a_campaign_lets_a_crowd_answer_it(client: TestClient) -> None:
    owner, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(owner, budget=30)
    path = crowd_path(campaign)
    with another_browser() as other:
        sign_in(client, owner)
        sign_in(other, friend)
        shares = f"/api/v1/campaigns/{campaign.id}/shares"
        for reply in (
            other.get(path),
            other.post(path, json={"by": ["colour"]}),
            other.post(f"{path}/stop"),
        ):
            assert reply.status_code == 404
        body = {"email": "friend@example.org", "access": "view"}
        assert client.put(shares, json=body).status_code == 204
        assert other.get(path).status_code == 200
        for refused in (other.post(path, json={"by": ["colour"]}), other.post(f"{path}/stop")):
            assert (refused.status_code, refused.json()["code"]) == (403, "may_not_change")
        client.put(shares, json={**body, "access": "edit"})
        assert other.post(path, json={"by": ["colour"]}).status_code == 201
        assert other.post(f"{path}/stop").status_code == 200
    assert shown(client, campaign)["message"] == "It was stopped."


def test_a_crowd_is_in_the_archive(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=30)
    started(client, campaign, annotators=3, answers=5)
    one_turn(campaign)
    reply = bring(client, archive_of(client, campaign))
    assert reply.status_code == 201, reply.text
    restored = reloaded(UUID(reply.json()["id"]))
    run = shown(client, restored)
    assert (run["state"], run["stored"], run["by"]) == ("done", 5, ["colour"])
    act = f"/api/v1/campaigns/{restored.id}/actions/resume"
    assert client.post(act).status_code == 200
    started(client, restored, answers=5)
    one_turn(restored)
    assert shown(client, restored)["stored"] == 5
    progress = client.get(f"/api/v1/campaigns/{restored.id}/progress").json()
    assert progress["simulated"]["answers"] == 10


def test_a_record_that_was_changed_is_not_shown(client: TestClient, owner: Account) -> None:
    """An imported archive may contain anything."""
    campaign = a_campaign(owner, budget=30)
    started(client, campaign)
    with transaction() as session:
        broken = {"state": "done", "metrics": {"by": 3}}
        session.execute(update(Job).where(Job.kind == "simulate").values(**broken))
    options = client.get(crowd_path(campaign))
    assert options.status_code == 200
    assert options.json()["run"] is None
    assert options.json()["refusal"] is None
