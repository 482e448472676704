"""Idempotency keys: a request that is sent again gets the reply of the first and does nothing."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.collections import service as collections
from app.collections.models import Collection
from app.core import idempotency
from app.core.database import transaction
from app.core.idempotency import StoredResponse, forget_old_replies
from testbed.builders import a_campaign, a_png, an_account, an_api_token


@pytest.fixture
def owner(client: TestClient) -> Account:
    """Calls come with this account's token."""
    account = an_account()
    client.headers["Authorization"] = f"Bearer {an_api_token(account)}"
    return account


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def another(client: TestClient) -> TestClient:
    """One test client answers one request at a time; this one answers beside it."""
    return TestClient(client.app, headers=dict(client.headers))


def count_collections() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Collection)) or 0


@pytest.mark.usefixtures("owner")
def test_the_same_request_again_gets_the_same_reply_and_does_nothing(client: TestClient) -> None:
    headers, body = key(), {"name": "Once"}
    first = client.post("/api/v1/collections", json=body, headers=headers)
    again = client.post("/api/v1/collections", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert count_collections() == 1
    other = client.post("/api/v1/collections", json={"name": "Other"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert client.post("/api/v1/collections", json=body, headers=key()).status_code == 201
    assert count_collections() == 2


def test_a_key_belongs_to_one_account_and_one_address(client: TestClient, owner: Account) -> None:
    headers, body = key(), {"name": "Mine"}
    mine = client.post("/api/v1/collections", json=body, headers=headers).json()
    stranger = f"Bearer {an_api_token(an_account('eve@example.org'))}"
    theirs = client.post(
        "/api/v1/collections", json=body, headers={**headers, "Authorization": stranger}
    ).json()
    assert theirs["id"] != mine["id"]
    campaign = a_campaign(owner)
    act = f"/api/v1/campaigns/{campaign.id}/actions"
    assert client.post(f"{act}/pause", headers=headers).status_code == 200
    # A repetition long after: the campaign goes on, and is not paused again.
    assert client.post(f"{act}/resume", headers=key()).status_code == 200
    assert client.post(f"{act}/pause", headers=headers).json()["state"] == "paused"
    assert client.get(f"/api/v1/campaigns/{campaign.id}").json()["state"] == "running"


@pytest.mark.usefixtures("owner")
def test_an_upload_is_known_by_its_files_not_by_its_boundary(client: TestClient) -> None:
    collection = client.post("/api/v1/collections", json={"name": "Files"}).json()["id"]
    address, headers = f"/api/v1/collections/{collection}/files", key()
    first = client.post(address, files=[("files", ("a.png", a_png(1)))], headers=headers)
    again = client.post(address, files=[("files", ("a.png", a_png(1)))], headers=headers)
    assert first.json()["added"] == again.json()["added"] == [{"filename": "a.png", "position": 0}]
    other = client.post(address, files=[("files", ("a.png", a_png(2)))], headers=headers)
    assert other.json()["code"] == "idempotency_key_reused"
    renamed = client.post(address, files=[("files", ("b.png", a_png(1)))], headers=headers)
    assert renamed.json()["code"] == "idempotency_key_reused"


@pytest.mark.usefixtures("owner")
def test_a_request_that_failed_is_tried_anew(client: TestClient) -> None:
    headers = key()
    for _ in range(2):
        refused = client.post("/api/v1/collections", json={"name": ""}, headers=headers)
        assert refused.json()["code"] == "bad_name"
    good = client.post("/api/v1/collections", json={"name": "Good"}, headers=headers)
    assert good.status_code == 201


@pytest.mark.usefixtures("owner")
def test_of_many_at_once_one_is_done(client: TestClient) -> None:
    headers, body = key(), {"name": "Race"}
    together = threading.Barrier(8)

    def send(_: int) -> tuple[int, str]:
        own = another(client)
        together.wait()
        reply = own.post("/api/v1/collections", json=body, headers=headers)
        return reply.status_code, reply.json().get("id") or reply.json()["code"]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(send, range(8)))
    done = {collection_id for status, collection_id in replies if status == 201}
    refused = {code for status, code in replies if status == 409}
    assert len(done) == 1
    assert refused <= {"idempotency_key_in_flight"}
    assert len(replies) == sum(status in (201, 409) for status, _ in replies)
    assert count_collections() == 1
    assert client.post("/api/v1/collections", json=body, headers=headers).json()["id"] in done


@pytest.mark.usefixtures("owner")
def test_while_the_first_is_at_work_the_second_is_told_so(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, begun, go_on = collections.create_collection, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Collection:
        begun.set()
        assert go_on.wait(20)
        return create(*arguments)

    monkeypatch.setattr(collections, "create_collection", slowly)
    headers, body = key(), {"name": "Slow"}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/api/v1/collections", json=body, headers=headers)
        assert begun.wait(20)
        second = another(client).post("/api/v1/collections", json=body, headers=headers)
        go_on.set()
        assert first.result().status_code == 201
    assert (second.status_code, second.json()["code"]) == (409, "idempotency_key_in_flight")
    assert count_collections() == 1


@pytest.mark.usefixtures("owner")
def test_effect_and_kept_reply_are_one_transaction(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two: as the reply is being kept, after the collection was made."""
    from app.accounts import api

    def crash(*_: Any) -> None:
        raise RuntimeError("crash")

    headers, body = key(), {"name": "Crash"}
    with monkeypatch.context() as broken:
        broken.setattr(api, "keep_reply", crash)
        with pytest.raises(RuntimeError):
            client.post("/api/v1/collections", json=body, headers=headers)
    assert count_collections() == 0
    assert client.post("/api/v1/collections", json=body, headers=headers).status_code == 201
    assert client.post("/api/v1/collections", json=body, headers=headers).status_code == 201
    assert count_collections() == 1


@pytest.mark.usefixtures("owner")
def test_replies_are_kept_for_a_day_and_sealed(client: TestClient) -> None:
    headers = key()
    body = {"url": "https://example.org/x", "events": ["job.failed"]}
    first = client.post("/api/v1/webhooks", json=body, headers=headers).json()
    assert client.post("/api/v1/webhooks", json=body, headers=headers).json() == first
    with transaction() as session:
        (kept,) = session.scalars(select(StoredResponse)).all()
        assert b"whsec_" not in kept.body
        assert first["secret"].encode() not in kept.body
        forget_old_replies(session)
        assert session.scalar(select(func.count()).select_from(StoredResponse)) == 1
        long_ago = datetime.now(UTC) - idempotency.KEPT - timedelta(seconds=1)
        session.execute(update(StoredResponse).values(created_at=long_ago))
    anew = client.post("/api/v1/webhooks", json=body, headers=headers).json()
    assert anew["id"] != first["id"]
    with transaction() as session:
        session.execute(update(StoredResponse).values(created_at=long_ago))
        forget_old_replies(session)
        assert session.scalar(select(func.count()).select_from(StoredResponse)) == 0


@pytest.mark.usefixtures("owner")
def test_a_key_is_of_a_sensible_length(client: TestClient) -> None:
    for bad in ("short", "x" * 101):
        reply = client.post(
            "/api/v1/collections", json={"name": "x"}, headers={"Idempotency-Key": bad}
        )
        assert reply.status_code == 422
    assert count_collections() == 0
