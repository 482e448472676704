"""Webhooks: signed, of events that happened, for who may see the campaign; the API and the page."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign, Share
from app.campaigns.service import finish_campaign
from app.core.database import locked, session_factory, transaction
from app.core.security import decrypt
from app.jobs.service import claim_job, fail_job, request_job
from app.webhooks.delivery import deliver_next
from app.webhooks.models import Delivery, Webhook
from app.webhooks.service import PURPOSE
from app.webhooks.signing import signature
from likewise.client import BadSignature, verify_webhook
from testbed.builders import a_campaign, a_webhook, an_account, an_api_token, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.receiver import Receiver
from tests.support.webhooks import a_local_receiver, deliveries

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def receiver(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with a_local_receiver(monkeypatch) as running:
        yield running


# --- signatures ------------------------------------------------------------------------------


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of the Standard Webhooks reference libraries."""
    secret, message = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signed = signature(secret, message, 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_takes_what_is_signed_and_nothing_else(
    client: TestClient, receiver: Receiver
) -> None:
    client.headers["Authorization"] = f"Bearer {an_api_token(an_account())}"
    body = {"url": receiver.url, "events": ["job.failed"]}
    webhook = client.post("/api/v1/webhooks", json=body).json()
    address = f"/api/v1/webhooks/{webhook['id']}"
    assert client.post(f"{address}/ping").status_code == 202
    assert deliver_next()
    ((headers, content),) = receiver.came
    message = verify_webhook(headers, content, webhook["secret"])
    assert message["type"] == "ping"
    assert message["data"] == {"webhook": {"id": webhook["id"]}}
    assert "secret" not in client.get(address).json()
    for bad_headers, bad_content, bad_secret in (
        (headers, content + b" ", webhook["secret"]),
        (headers, content, "whsec_" + "A" * 44),
        ({**headers, "webhook-id": "msg_x"}, content, webhook["secret"]),
        ({**headers, "webhook-timestamp": "1"}, content, webhook["secret"]),
        ({**headers, "webhook-signature": "v2,x"}, content, webhook["secret"]),
        ({}, content, webhook["secret"]),
    ):
        with pytest.raises(BadSignature):
            verify_webhook(bad_headers, bad_content, bad_secret)
    renewed = client.post(f"{address}/secret").json()["secret"]
    client.post(f"{address}/ping")
    assert deliver_next()
    headers, content = receiver.came[-1]
    assert verify_webhook(headers, content, renewed)["type"] == "ping"
    with pytest.raises(BadSignature):
        verify_webhook(headers, content, webhook["secret"])
    with transaction() as session:
        (stored,) = session.scalars(select(Webhook.secret))
    assert renewed.encode() not in stored


# --- events ----------------------------------------------------------------------------------


def test_rounds_and_campaigns_that_finish_and_jobs_that_fail_are_told(
    client: TestClient, receiver: Receiver
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=4, rounds=2)
    a_webhook(owner, receiver.url)
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who))
    assert deliveries() == []
    submit(client, who, a_lease(client, who))
    fail_the_job(campaign, retry=True)
    assert [row.event for row in deliveries()] == ["round.finished"]
    fail_the_job(campaign, retry=False)
    with transaction() as session:
        finish_campaign(session, session.get_one(Account, owner.id), campaign.id)
    while deliver_next():
        pass
    messages = [verify(content) for _, content in receiver.came]
    assert [message["type"] for message in messages] == [
        "round.finished", "job.failed", "campaign.finished",
    ]  # fmt: skip
    assert {message["data"]["campaign"]["id"] for message in messages} == {str(campaign.id)}
    assert messages[0]["data"]["round"] == {"number": 1, "answers": 2}
    assert messages[1]["data"]["job"]["error"] == "because"
    assert messages[2]["data"]["answers"] == 2
    assert messages[2]["data"]["campaign"]["state"] == "finished"


def verify(content: bytes) -> dict[str, Any]:
    with transaction() as session:
        (sealed,) = session.scalars(select(Webhook.secret))
    secret = decrypt(PURPOSE, sealed)
    assert secret is not None
    headers = {"webhook-id": "x", "webhook-timestamp": str(int(datetime.now(UTC).timestamp()))}
    signed = signature(secret.decode(), "x", int(headers["webhook-timestamp"]), content)
    return verify_webhook({**headers, "webhook-signature": signed}, content, secret.decode())


def fail_the_job(campaign: Campaign, *, retry: bool) -> None:
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job = request_job(session, campaign.id, 1)
        session.flush()
        claimed = claim_job(session, job.id, "worker")
        assert claimed is not None
        fail_job(session, claimed.id, claimed.epoch, "because", retry=retry)


def test_who_may_see_the_campaign_is_told_and_nobody_else() -> None:
    owner, friend, stranger = (an_account(f"{name}@example.org") for name in "ofs")
    campaign, other = a_campaign(owner), a_campaign(owner, collection=None, name="Other")
    with transaction() as session:
        session.add(Share(campaign_id=campaign.id, account_id=friend.id, access="view"))
    expected = {
        a_webhook(owner).id,
        a_webhook(owner, campaign_id=campaign.id).id,
        a_webhook(friend).id,
        a_webhook(friend, events=["job.failed"]).id,
    }
    a_webhook(owner, campaign_id=other.id)
    a_webhook(stranger)
    a_webhook(owner, events=["round.finished"])
    off = a_webhook(owner)
    with transaction() as session:
        session.execute(
            update(Webhook).where(Webhook.id == off.id).values(disabled_at=datetime.now(UTC))
        )
    fail_the_job(campaign, retry=False)
    assert {row.webhook_id for row in deliveries()} == expected


def test_an_event_is_told_only_if_it_happened() -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    a_webhook(owner)
    with session_factory()() as session:
        finish_campaign(session, session.get_one(Account, owner.id), campaign.id)
        session.flush()
        assert session.scalars(select(Delivery)).all()
        session.rollback()
    assert deliveries() == []


# --- API and page ----------------------------------------------------------------------------


def test_webhooks_are_changed_switched_and_deleted(client: TestClient, receiver: Receiver) -> None:
    owner = an_account()
    client.headers["Authorization"] = f"Bearer {an_api_token(owner)}"
    campaign = a_campaign(owner)
    body = {"url": receiver.url, "events": ["round.finished"], "campaign_id": str(campaign.id)}
    created = client.post("/api/v1/webhooks", json=body)
    address = created.headers["location"]
    assert client.get(address).json()["campaign_id"] == str(campaign.id)
    changed = client.patch(address, json={"events": ["job.failed", "campaign.finished"]}).json()
    assert changed["events"] == ["campaign.finished", "job.failed"]
    ping = client.post(f"{address}/ping").json()
    assert client.patch(address, json={"enabled": False}).json()["enabled"] is False
    assert not deliver_next(), "what waits, waits"
    refused = client.post(f"{address}/ping")
    assert (refused.status_code, refused.json()["code"]) == (409, "webhook_disabled")
    client.patch(address, json={"enabled": True})
    assert deliver_next()
    item = client.get(f"{address}/deliveries/{ping['id']}").json()
    assert (item["state"], item["attempts"][0]["status"], item["due_at"]) == (
        "delivered",
        204,
        None,
    )
    assert client.get(f"{address}/deliveries").json()["items"] == [item]
    wrong: list[dict[str, Any]] = [{"events": []}, {"events": ["x"]}, {"url": "x"}, {"secret": ""}]
    for bad in wrong:
        assert client.patch(address, json=bad).status_code == 422
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404
    assert deliveries() == []


def test_an_account_has_twenty_webhooks_at_most(client: TestClient) -> None:
    owner = an_account()
    for _ in range(20):
        a_webhook(owner)
    client.headers["Authorization"] = f"Bearer {an_api_token(owner)}"
    body = {"url": "https://example.org/x", "events": ["job.failed"]}
    assert client.post("/api/v1/webhooks", json=body).status_code == 409


def test_the_page_shows_the_secret_once_and_the_log(client: TestClient, receiver: Receiver) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    form = {"url": receiver.url, "events": ["job.failed"], "campaign": str(campaign.id)}
    bad = client.post("/account/webhooks", data={**form, "events": []})
    assert bad.status_code == 422
    assert receiver.url in bad.text
    assert "whsec_" in client.post("/account/webhooks", data=form).text
    page = client.get("/account/webhooks").text
    assert "whsec_" not in page
    assert "job.failed · Campaign" in page
    with transaction() as session:
        (webhook_id,) = session.scalars(select(Webhook.id))
    address = f"/account/webhooks/{webhook_id}"
    receiver.statuses, receiver.reply = [503], b"<script>alert(1)</script>"
    client.post(f"{address}/ping")
    assert deliver_next()
    page = client.get("/account/webhooks").text
    assert "503" in page
    assert "<script>alert" not in page
    (row,) = deliveries()
    fail = update(Delivery).values(state="failed")
    with transaction() as session:
        session.execute(fail)
    receiver.statuses = [204]
    client.post(f"{address}/deliveries/{row.id}")
    assert deliver_next()
    assert "delivered" in client.get("/account/webhooks").text
    client.post(f"{address}/disable")
    assert "disabled" in client.get("/account/webhooks").text
    assert "whsec_" in client.post(f"{address}/secret").text
    client.post(f"{address}/delete")
    assert receiver.url not in client.get("/account/webhooks").text
    assert client.post(f"/account/webhooks/{UUID(int=0)}/ping").status_code == 404
