"""Campaigns: creating them, their states, and whose they are."""

import json
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.campaigns.models import Campaign, Grid
from app.collections.models import Collection
from app.core.database import transaction
from app.kinds import Kind, all_kinds, get_kind
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in


def create(client: TestClient, collection: Collection, **changes: Any) -> Any:
    body = {"name": "Birds", "collection_id": str(collection.id), "grid_size": 6, **changes}
    # As ASCII text, in which JSON can say what UTF-8 cannot: half surrogate pairs.
    headers = {"content-type": "application/json"}
    return client.post("/api/v1/campaigns", content=json.dumps(body), headers=headers)


def test_defaults_come_from_kind_and_strategy(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner)
    reply = create(client, collection, kind="bins", strategy="crowdster", grid_size=None)
    assert reply.status_code == 201, reply.text
    campaign = reply.json()
    assert (campaign["grid_size"], campaign["max_groups"], campaign["rounds"]) == (20, 4, 5)
    assert campaign["settings"]["beta"] == 4.0
    assert reply.headers["location"] == f"/api/v1/campaigns/{campaign['id']}"


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_a_campaign_without_a_question_gets_that_of_its_kind(
    client: TestClient, owner: Account, kind: Kind
) -> None:
    plan = {
        "kind": kind.name,
        "strategy": kind.strategy,
        "grid_size": kind.grid_size,
        "classes": ["red", "blue"] if kind.asks_for_classes else [],
    }
    collection = a_collection(owner)
    for without in ({}, {"question": None}):
        reply = create(client, collection, **plan, **without)
        assert reply.status_code == 201, reply.text
        assert reply.json()["question"] == kind.question
    own = create(client, collection, **plan, question=" Which? ")
    assert own.json()["question"] == "Which?"


def test_a_draft_of_another_kind_keeps_a_question_of_its_own(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner)
    other = {"kind": "select", "strategy": "neucrowd"}
    for given, expected in (({}, get_kind("select").question), ({"question": "Why?"}, "Why?")):
        campaign = create(client, collection, **given).json()
        changed = client.patch(f"/api/v1/campaigns/{campaign['id']}", json=other)
        assert changed.json()["question"] == expected


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"grid_size": 31}, 409, "collection_too_small"),
        ({"grid_size": 1}, 422, "bad_grid_size"),
        ({"budget": 0}, 422, "bad_budget"),
        ({"budget": 3, "rounds": 4}, 422, "bad_budget"),
        ({"budget": 10, "answers_per_grid": 6, "rounds": 2}, 422, "bad_budget"),
        ({"max_groups": 11}, 422, "bad_max_groups"),
        ({"name": "  "}, 422, "bad_name"),
        ({"kind": "triplets"}, 422, "invalid_input"),
        ({"strategy": "magic"}, 422, "invalid_input"),
        ({"settings": {"n_dimensions": 0}}, 422, "bad_settings"),
        ({"settings": {"typo": 1}}, 422, "bad_settings"),
        ({"budget": "many"}, 422, "invalid_request"),
        ({"budget": 2**40}, 422, "bad_budget"),
        ({"budget": 10**30}, 422, "invalid_request"),
        ({"name": "a\0b"}, 422, "cannot_be_stored"),
        ({"question": "half a pair: \ud800"}, 422, "invalid_request"),
    ],
)
def test_a_plan_that_cannot_work_gets_a_clear_error_and_makes_nothing(
    client: TestClient, owner: Account, changes: dict[str, Any], status: int, code: str
) -> None:
    reply = create(client, a_collection(owner), **changes)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert len(reply.json()["detail"]) > 20
    assert client.get("/api/v1/campaigns").json()["items"] == []


def test_the_page_for_a_new_campaign_is_the_wizard_over_the_chosen_collection(
    client: TestClient, owner: Account
) -> None:
    assert "Create a collection first" in client.get("/campaigns/new").text
    collection = a_collection(owner)
    page = client.get(f"/campaigns/new?collection={collection.id}").text
    assert f'data-island="wizard" data-collection-id="{collection.id}"' in page
    assert "needs JavaScript" in page
    assert "<form" not in page.partition("<main")[2]


def act(client: TestClient, campaign: str, action: str) -> Any:
    return client.post(f"/api/v1/campaigns/{campaign}/actions/{action}")


def test_a_campaign_goes_through_its_states_and_refuses_wrong_steps(
    client: TestClient, owner: Account
) -> None:
    campaign = create(client, a_collection(owner), budget=7, rounds=2).json()["id"]
    assert act(client, campaign, "pause").json()["code"] == "bad_state"
    assert act(client, campaign, "start").json()["state"] == "running"
    again = act(client, campaign, "start")
    assert (again.status_code, again.json()["code"]) == (409, "bad_state")
    assert act(client, campaign, "pause").json()["state"] == "paused"
    assert act(client, campaign, "resume").json()["state"] == "running"
    assert act(client, campaign, "retry").status_code == 409
    assert act(client, campaign, "finish").json()["state"] == "finished"
    with transaction() as session:
        grids = session.scalars(select(Grid)).all()
        actions = session.scalars(select(AuditEvent.action).order_by(AuditEvent.id)).all()
    # Seven answers in two rounds: four grids in the first, three ready for the second.
    assert len(grids) == 7
    assert all(len(set(grid.images)) == 6 for grid in grids)
    assert actions[-4:] == [
        "campaign.running",
        "campaign.paused",
        "campaign.running",
        "campaign.finished",
    ]


def test_every_route_of_somebody_elses_campaign_is_not_found(
    client: TestClient, owner: Account
) -> None:
    campaign: Campaign = a_campaign(owner)
    sign_in(client, an_account("eve@example.org"))
    base = f"/api/v1/campaigns/{campaign.id}"
    paths = ["", "/progress", "/events", "/models/1/map", "/models/1/neighbours?image=0"]
    exports = ("answers.csv", "answers.jsonl", "embedding.csv", "embedding.npz")
    for path in [*paths, *(f"/export/{name}" for name in exports)]:
        assert client.get(base + path).status_code == 404, path
    for action in ("start", "pause", "resume", "finish", "retry"):
        assert act(client, str(campaign.id), action).status_code == 404
    assert client.get(f"/campaigns/{campaign.id}").status_code == 404
    assert reloaded(campaign.id).state == "running"


def test_a_drafts_link_leads_nowhere_and_pages_carry_a_strict_policy(
    client: TestClient, owner: Account
) -> None:
    campaign = create(client, a_collection(owner)).json()
    path = campaign["annotator_link"].removeprefix("http://testserver")
    assert client.get(path).status_code == 404
    act(client, campaign["id"], "start")
    page = client.get(path)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert re.search("script-src 'nonce-[\\w-]{43}' 'strict-dynamic' 'self';", policy)
    assert "frame-ancestors 'none'" in policy
    home = client.get("/").headers["content-security-policy"]
    assert "frame-ancestors 'none'" in home


def test_the_address_of_all_campaigns_leads_to_the_list(client: TestClient) -> None:
    sent_on = client.get("/campaigns", follow_redirects=False)
    assert sent_on.headers["location"] == "/"
