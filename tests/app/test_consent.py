"""Consent: each agreement is to one text, and a text that has changed is asked again."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.models import ConsentAgreement, ConsentText
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, sign_in
from tests.app.test_annotation import submit

FIRST, SECOND = "Be *kind*.", "Be kind, and rest."


def a_session(client: TestClient, campaign: Campaign, number: int = 1) -> dict[str, Any]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    body = {"link": link, "annotator_key": f"annotator-{number:06d}"}
    opened: dict[str, Any] = client.post("/api/v1/annotate/sessions", json=body).json()
    return opened


def step(client: TestClient, opened: dict[str, Any], **body: Any) -> Any:
    return client.post(
        "/api/v1/annotate/steps", json={"step": "consent", **body}, headers=as_annotator(opened)
    )


def as_annotator(opened: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {opened['token']}"}


def agree(client: TestClient, campaign: Campaign, number: int = 1) -> dict[str, Any]:
    opened = a_session(client, campaign, number)
    reply = step(client, opened, consent_key=opened["campaign"]["consent_key"])
    assert reply.json()["stage"] != "consent", reply.text
    return opened


def lease(client: TestClient, opened: dict[str, Any]) -> Any:
    return client.post("/api/v1/annotate/leases", headers=as_annotator(opened))


def change(client: TestClient, campaign: Campaign, text: str) -> None:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    reply = client.patch(f"/api/v1/campaigns/{campaign.id}/annotation", json={"consent": text})
    assert reply.status_code == 200, reply.text


def exported(client: TestClient, campaign: Campaign, name: str) -> str:
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/{name}")
    assert reply.status_code == 200, reply.text
    return reply.text


def agreements(client: TestClient, campaign: Campaign) -> list[tuple[int, int]]:
    rows = csv.DictReader(io.StringIO(exported(client, campaign, "consent.csv")))
    return [(int(row["annotator"]), int(row["version"])) for row in rows]


@pytest.fixture
def campaign(environment: dict[str, str]) -> Campaign:
    return a_campaign(budget=40, annotation={"consent": FIRST})


def test_a_changed_text_is_asked_again_and_both_agreements_are_kept(
    client: TestClient, campaign: Campaign
) -> None:
    opened = agree(client, campaign)
    begun = lease(client, opened).json()["lease"]
    change(client, campaign, SECOND)
    # Work that was begun is taken; the next grid waits for the new text.
    assert submit(client, as_annotator(opened), begun).status_code == 200
    refused = lease(client, opened)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared")
    again = a_session(client, campaign)
    assert again["stage"] == "consent"
    assert again["campaign"]["consent_html"] == f"<p>{SECOND}</p>\n"
    agree(client, campaign)
    assert lease(client, opened).status_code == 200
    agree(client, campaign, 2)
    assert agreements(client, campaign) == [(0, 1), (0, 2), (1, 2)]
    lines = exported(client, campaign, "consent_texts.jsonl").splitlines()
    texts = [json.loads(line) for line in lines]
    assert [(text["version"], text["text"], text["n_agreed"]) for text in texts] == [
        (1, FIRST, 1),
        (2, SECOND, 2),
    ]
    assert [text["sha256"] for text in texts][1] == again["campaign"]["consent_key"]


def test_nobody_agrees_to_a_text_that_their_page_does_not_show(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    change(client, campaign, SECOND)
    refused = step(client, opened, consent_key=opened["campaign"]["consent_key"])
    assert (refused.status_code, refused.json()["code"]) == (409, "consent_changed")
    assert agreements(client, campaign) == []
    assert lease(client, opened).json()["code"] == "not_prepared"


def test_a_text_that_comes_back_is_the_version_it_was(
    client: TestClient, campaign: Campaign
) -> None:
    agree(client, campaign, 1)
    change(client, campaign, SECOND)
    agree(client, campaign, 2)
    change(client, campaign, FIRST)
    assert a_session(client, campaign, 1)["stage"] != "consent"
    agree(client, campaign, 2)
    assert agreements(client, campaign) == [(0, 1), (1, 2), (1, 1)]


def test_without_a_text_nobody_is_asked_and_a_new_text_asks_everyone(client: TestClient) -> None:
    campaign = a_campaign(budget=40)
    opened = a_session(client, campaign)
    assert opened["stage"] != "consent"
    assert lease(client, opened).status_code == 200
    change(client, campaign, FIRST)
    assert a_session(client, campaign)["stage"] == "consent"
    change(client, campaign, "  \n")
    assert a_session(client, campaign)["stage"] != "consent"


def test_agreeing_twice_and_at_once_is_one_agreement_each(
    client: TestClient, campaign: Campaign
) -> None:
    people = [a_session(client, campaign, number % 4) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda opened: step(client, opened), people))
    assert {reply.status_code for reply in replies} == {200}
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(ConsentText)) == 1
        assert session.scalar(select(func.count()).select_from(ConsentAgreement)) == 4
