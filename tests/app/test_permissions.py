"""Who sees and changes whose things: shared campaigns, the ids of others, annotators' tokens."""

import uuid

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import select

from app.alignments.models import Alignment
from app.campaigns.pages import SECTIONS
from app.collections.models import CollectionImport, Image
from app.core.database import transaction
from app.core.settings import get_settings
from app.features.models import FeatureSet
from testbed.builders import (
    a_campaign,
    a_delivery,
    a_payment,
    a_personal_link,
    a_read_only_link,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
    an_api_token,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.accounts import another_browser
from tests.support.requests_of_routes import body_of, query_of


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    """Attempts are counted in Valkey, which outlives a test."""
    Redis.from_url(get_settings().redis_url).flushdb()


def test_a_shared_campaign_is_looked_at_or_worked_on(client: TestClient) -> None:
    owner, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(owner)
    address = f"/api/v1/campaigns/{campaign.id}"
    with another_browser() as other:
        sign_in(client, owner)
        sign_in(other, friend)
        assert other.get(address).status_code == 404
        body = {"email": "friend@example.org", "access": "view"}
        assert client.put(f"{address}/shares", json=body).status_code == 204
        assert other.get(address).status_code == 200
        assert other.get(f"/campaigns/{campaign.id}").status_code == 200
        assert other.get(f"{address}/annotators").status_code == 200
        assert [item["id"] for item in other.get("/api/v1/campaigns").json()["items"]] == [
            str(campaign.id)
        ]
        for refused in (
            other.post(f"{address}/actions/pause"),
            other.patch(f"{address}/annotation", json={"thanks": "x"}),
            other.post(f"{address}/focus", json={"attribute": None}),
            other.post(f"{address}/annotators/0/actions/stop"),
            other.put(f"{address}/shares", json=body),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "may_not_change")
        client.put(f"{address}/shares", json={**body, "access": "edit"})
        assert other.post(f"{address}/actions/pause").status_code == 200
        assert other.patch(f"{address}/annotation", json={"thanks": "x"}).status_code == 200
        assert other.delete(f"{address}/shares/{friend.id}").status_code == 403
        assert client.delete(f"{address}/shares/{friend.id}").status_code == 204
        assert other.get(address).status_code == 404
    missing = client.put(f"{address}/shares", json={**body, "email": "who@example.org"})
    assert missing.status_code == 404
    own = client.put(f"{address}/shares", json={**body, "email": "ada@example.org"})
    assert own.json()["code"] == "already_yours"


@pytest.mark.parametrize("by", ["cookie", "write", "read"])
def test_nothing_of_anothers_is_reached_by_any_route(client: TestClient, by: str) -> None:
    """All routes of the OpenAPI document, with the ids of somebody else's things: signed in, or by
    a token that may read and write, or only read."""
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who))
    webhook = a_webhook(owner)
    recruitment = a_recruitment(owner, campaign)
    submission = a_submission(recruitment)
    link, invitation = a_personal_link(owner, campaign)
    stranger = an_account("stranger@example.org")
    if by == "cookie":
        sign_in(client, stranger)
    else:
        client.headers["Authorization"] = f"Bearer {an_api_token(stranger, by)}"
    with transaction() as session:
        begun = CollectionImport(collection_id=campaign.collection_id, kind="prefix", source="s3:")
        feature_set = FeatureSet(collection_id=campaign.collection_id, name="clip", kind="uploaded")
        session.add_all([begun, feature_set])
        session.flush()
        alignment = Alignment(campaign_id=campaign.id, set_id=feature_set.id)
        session.add(alignment)
        sha256 = session.scalar(select(Image.sha256).limit(1))
    values = {
        "campaign_id": campaign.id,
        "collection_id": campaign.collection_id,
        "version": 1,
        "position": 0,
        "index": 0,
        "account_id": owner.id,
        "decision": "stop",
        "action": "pause",
        "file": "answers.csv",
        "clustering_id": uuid.uuid4(),
        "key": "age",
        "channel": "prolific",
        "answer_id": uuid.uuid4(),
        "webhook_id": webhook.id,
        "delivery_id": a_delivery(webhook),
        "level": 0,
        "column": 0,
        "row": 0,
        "size": "small",
        "sha256": sha256,
        "import_id": begun.id,
        "set_id": feature_set.id,
        "alignment_id": alignment.id,
        "channel_account_id": recruitment.channel_account_id,
        "recruitment_id": recruitment.id,
        "submission_id": submission.id,
        "payment_id": a_payment(recruitment, submission).id,
        "link_id": link.id,
        "invitation_id": invitation.id,
        "read_only_link_id": a_read_only_link(owner, campaign)[0].id,
        "assignment_id": uuid.uuid4(),
    }
    walked = 0
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    for path, methods in paths.items():
        if "{" not in path or path.startswith("/api/v1/annotate"):
            continue
        decision = "release" if "/payments/" in path else values["decision"]
        address = path.format(**{**values, "decision": decision})
        address += query_of(path)
        for method in methods:
            options = body_of(path, values)
            reply = client.request(method.upper(), address, **options)
            expected = 403 if by == "read" and method != "get" else 404
            assert reply.status_code == expected, (
                method,
                path,
                reply.status_code,
                reply.text[:200],
            )
            assert "Campaign" not in reply.text.replace("campaign", "")
            walked += 1
    assert walked >= 33
    own = {
        "/api/v1/campaigns", "/api/v1/collections", "/api/v1/webhooks", "/api/v1/channel-accounts",
    }  # fmt: skip
    for path in own:
        assert client.get(path).json()["items"] == []
    if by != "cookie":
        return
    assert walked >= 38
    for page in (f"/campaigns/{campaign.id}", f"/campaigns/{campaign.id}/annotation",
                 f"/campaigns/{campaign.id}/edit", f"/campaigns/{campaign.id}/preview",
                 *(f"/campaigns/{campaign.id}/{name}" for name in SECTIONS),
                 f"/collections/{campaign.collection_id}",
                 f"/collections/{campaign.collection_id}/delete"):  # fmt: skip
        assert client.get(page).status_code == 404
    for action in ("ping", "disable", "secret", "delete", f"deliveries/{values['delivery_id']}"):
        assert client.post(f"/account/webhooks/{webhook.id}/{action}").status_code == 404
    assert "example.org/hook" not in client.get("/account/webhooks").text
    form = {"url": "https://example.org/x", "events": "job.failed", "campaign": str(campaign.id)}
    assert client.post("/account/webhooks", data=form).status_code == 404


def test_an_annotators_token_opens_nothing_of_others(client: TestClient) -> None:
    first, second = a_campaign(), a_campaign(an_account("two@example.org"))
    intruder, holder = a_session(client, first), a_session(client, second, "annotator-000002")
    lease = a_lease(client, holder)
    for reply in (
        submit(client, intruder, lease),
        client.get(f"/api/v1/annotate/leases/{lease['id']}/images/small", headers=intruder),
        client.post(f"/api/v1/annotate/leases/{lease['id']}/return", headers=intruder),
        client.get(f"/api/v1/annotate/leases/{uuid.uuid4()}/images/small", headers=intruder),
    ):
        assert reply.status_code == 404
    assert client.get("/api/v1/campaigns", headers=intruder).status_code == 401
