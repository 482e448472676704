"""A requester's links, the people who come in by them, and what they are owed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Payment
from testbed.builders import a_campaign, an_account, an_api_token
from tests.app.test_annotation import a_lease, submit

Result = TypeVar("Result")
Json = dict[str, Any]


@pytest.fixture
def owner(client: TestClient) -> Account:
    """Requester's calls come with this account's token."""
    account = an_account()
    client.headers["Authorization"] = f"Bearer {an_api_token(account)}"
    return account


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=40, grids_per_assignment=3, reward_cents=100)


def links_of(campaign: Campaign) -> str:
    return f"/api/v1/campaigns/{campaign.id}/links"


def a_link(client: TestClient, campaign: Campaign, **body: Any) -> Json:
    reply = client.post(links_of(campaign), json=body)
    assert reply.status_code == 201, reply.text
    link: Json = reply.json()
    return link


def end_of(address: str) -> str:
    return address.rpartition("/a/")[2]


def come(client: TestClient, address: str, browser: str = "browser-a", **body: Any) -> Any:
    body = {"link": end_of(address), "annotator_key": f"{browser:-<20}", **body}
    return client.post("/api/v1/annotate/sessions", json=body)


def code_of(reply: Any) -> str:
    assert reply.status_code == 403, (reply.status_code, reply.text)
    return str(reply.json()["code"])


def token_of(reply: Any) -> dict[str, str]:
    """The bearer header of somebody who came in, ready for grids."""
    assert reply.status_code == 201, reply.text
    return {"Authorization": f"Bearer {reply.json()['token']}"}


def answer(client: TestClient, who: dict[str, str], n: int) -> Json:
    """Do n grids; the next handout."""
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    for _ in range(n):
        assert submit(client, who, a_lease(client, who)).status_code == 200
    handout: Json = client.post("/api/v1/annotate/leases", headers=who).json()
    return handout


def at_once(n: int, do: Callable[[int], Result]) -> list[Result]:
    together = threading.Barrier(n)

    def task(number: int) -> Result:
        together.wait()
        return do(number)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(task, range(n)))


def payments() -> list[tuple[str, str, int, str]]:
    with transaction() as session:
        rows = session.scalars(select(Payment).order_by(Payment.id)).all()
        return [
            (payment.kind, payment.rule, payment.amount_cents, payment.state) for payment in rows
        ]
