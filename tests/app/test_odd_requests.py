"""Requests that once made the application fail, or that it took though its document says no."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections.media import image_url
from app.collections.models import Image
from app.core.database import transaction
from emulators.mturk.server import running as running_emulator
from testbed.builders import a_campaign, a_personal_link, an_account
from testbed.recruits import SECRET, an_account_on
from tests.conftest import forget_settings


@pytest.fixture
def on_platform(owner: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[uuid.UUID]:
    """An account on a platform that answers."""
    with running_emulator() as running:
        monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", running.endpoint_url)
        monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", running.endpoint_url)
        forget_settings()
        yield an_account_on(owner, "mturk", SECRET).id


@pytest.mark.parametrize("signed", ["é", "%ED%A0%80", "%00", "١", ""])
def test_an_image_whose_signature_is_no_ascii_is_not_there(
    client: TestClient, owner: Account, signed: str
) -> None:
    a_campaign(owner)
    with transaction() as session:
        path = image_url(session.query(Image).first()).partition("?")[0]  # type: ignore[arg-type]
    assert client.get(f"{path}?s={signed}").status_code == 404


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("origin", ["http://[::1", "http://[", "null", "http://testserver.evil"])
def test_an_origin_that_is_no_address_is_another_site(client: TestClient, origin: str) -> None:
    body = {"name": "Mine"}
    refused = client.post("/api/v1/collections", json=body, headers={"Origin": origin})
    assert (refused.status_code, refused.json()["code"]) == (403, "cross_site_request")


def test_a_key_also_counts_where_a_platform_is_waited_for(
    client: TestClient, on_platform: uuid.UUID
) -> None:
    path = f"/api/v1/channel-accounts/{on_platform}/check"
    headers = {"Idempotency-Key": "checked-once"}
    first = client.post(path, headers=headers)
    assert first.status_code == 200, first.text
    again = client.post(path, headers=headers)
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (first.json(), "true")


def test_a_thousand_mistakes_are_not_all_told(client: TestClient, owner: Account) -> None:
    body: dict[str, Any] = {f"{k}{'x' * 1000}": None for k in range(900)}
    reply = client.patch(f"/api/v1/campaigns/{a_campaign(owner).id}", json=body)
    assert reply.status_code == 422
    assert len(reply.json()["errors"]) == 100
    assert len(reply.content) < 60_000


def test_a_long_list_of_mistakes_is_left_at_the_first(client: TestClient, owner: Account) -> None:
    """Made out one by one, a million would take a gigabyte."""
    path = f"/api/v1/campaigns/{a_campaign(owner).id}/models/1/map/selection.csv"
    reply = client.post(path, json={"images": ["x"] * 1_000})
    assert reply.status_code == 422
    assert [error["where"] for error in reply.json()["errors"]] == ["body.images.0"]


def test_a_parameter_given_twice_counts_once_and_none_moves_a_path(
    client: TestClient, owner: Account
) -> None:
    own, other = a_campaign(owner), a_campaign(an_account("eve@example.org"))
    images = f"/api/v1/collections/{own.collection_id}/images"
    for first, last in ((1, 2), (2, 1)):
        items = client.get(f"{images}?limit={first}&limit={last}").json()["items"]
        assert len(items) == last
    # What is checked is what is used.
    assert client.get(f"{images}?limit=1&limit=100000").status_code == 422
    for name in ("campaign_id", "collection_id", "owner_id", "account_id", "owner"):
        moved = {name: str(getattr(other, name, other.owner_id))}
        for address in (f"/api/v1/campaigns/{own.id}", images):
            reply = client.get(address, params=moved)
            assert reply.content == client.get(address).content, (name, address)
            headers = {name: moved[name], "X-Original-URL": f"/api/v1/campaigns/{other.id}"}
            assert client.get(address, headers=headers).content == reply.content
        theirs = client.get(f"/api/v1/campaigns/{other.id}", params={name: str(own.id)})
        assert theirs.status_code == 404


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("campaign", ["\\", "00000", "0" * 32])
def test_a_webhook_of_no_campaign_is_refused(client: TestClient, campaign: str) -> None:
    form = {"url": "https://example.org/hook", "events": "job.failed", "campaign": campaign}
    assert client.post("/account/webhooks", data=form).status_code == 404


@pytest.mark.parametrize("reward", [True, False, "5", 5.5])
def test_what_is_no_number_is_no_money(client: TestClient, owner: Account, reward: object) -> None:
    campaign = a_campaign(owner)
    link, _ = a_personal_link(owner, campaign)
    path = f"/api/v1/campaigns/{campaign.id}/links/{link.id}"
    assert client.patch(path, json={"reward_cents": reward}).status_code == 422
    assert client.patch(path, json={"reward_cents": 5}).status_code == 200


def test_what_takes_no_null_says_so(client: TestClient) -> None:
    """An address, a header and a form hold text: nothing in them is null."""
    document = client.get("/api/v1/openapi.json").json()
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                assert "null" not in str(parameter["schema"]), parameter
    for name, schema in document["components"]["schemas"].items():
        assert not (name.startswith("Body_") and "'null'" in str(schema["properties"])), name
