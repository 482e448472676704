"""Alignments as leased work: turns, a killed worker, features that are still being computed."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, update

from app.accounts.models import Account
from app.alignments import learning, stored
from app.alignments.learning import requeue_lost_alignments
from app.alignments.models import Alignment
from app.alignments.service import ALIGN_TASK
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import NoRoom
from app.core.settings import get_settings
from app.core.storage import list_objects
from app.features.computing import run_feature_set
from app.features.stored_rows import reduced_rows
from tests.support.aligned_campaigns import (
    alignments_of,
    answered_campaign,
    clip_of,
    learn_quickly,
    read,
    request,
    row_of,
    run,
    with_features,
)
from workers.turns import next_messages


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments of few fits, because these tests are about other things."""
    learn_quickly(monkeypatch)


@pytest.fixture
def campaign(client: TestClient, owner: Account) -> Campaign:
    campaign = answered_campaign(owner, n_grids=60)
    with_features(client, campaign, clip=clip_of())
    return campaign


def requested(client: TestClient, campaign: Campaign, name: str = "clip") -> dict[str, Any]:
    reply = request(client, campaign, name)
    assert reply.status_code == 202, reply.text
    items = {item["features"]: item for item in reply.json()["items"]}
    alignment: dict[str, Any] = items[name]
    return alignment


def lose_worker() -> int:
    with transaction() as session:
        session.execute(update(Alignment).values(lease_until=func.now()))
    with transaction() as session:
        return requeue_lost_alignments(session)


def claim(alignment_id: str) -> None:
    """As a worker that is killed right after."""
    from app.core import leased

    with transaction() as session:
        assert leased.claim(session, Alignment, UUID(alignment_id)) is not None


def test_the_next_worker_starts_again_after_a_killed_one(
    client: TestClient, campaign: Campaign
) -> None:
    alignment = requested(client, campaign)
    claim(alignment["id"])
    # Nobody else gets it while the lease lasts.
    run(alignment)
    assert read(client, campaign, alignment["id"])["state"] == "running"
    assert lose_worker() == 1
    run(alignment)
    done = read(client, campaign, alignment["id"])
    assert (done["state"], done["used"], done["progress"]) == ("done", True, 1.0)


def test_a_worker_that_is_killed_each_time_fails(client: TestClient, campaign: Campaign) -> None:
    alignment = requested(client, campaign)
    for _ in range(get_settings().job_max_attempts):
        claim(alignment["id"])
        lose_worker()
    failed = read(client, campaign, alignment["id"])
    assert failed["state"] == "failed"
    assert "The worker stopped" in failed["error"]
    # It can be requested again.
    assert requested(client, campaign)["state"] == "queued"


def test_a_worker_that_lost_its_lease_writes_nothing(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    alignment = requested(client, campaign)
    reduced = reduced_rows

    def slow(rows: Any) -> Any:
        lose_worker()
        claim(alignment["id"])
        return reduced(rows)

    monkeypatch.setattr(learning, "reduced_rows", slow)
    run(alignment)
    row = row_of(alignment["id"])
    assert (row.state, row.key, row.figures, row.error) == ("running", "", None, None)
    assert list_objects(f"features/{campaign.collection_id}/sets/{row.set_id}/alignments") == []


def test_what_was_stored_under_a_lost_lease_is_removed(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    alignment = requested(client, campaign)
    store = stored.store

    def slow(*args: Any) -> str:
        sha256 = store(*args)
        lose_worker()
        claim(alignment["id"])
        return sha256

    monkeypatch.setattr(learning, "store", slow)
    run(alignment)
    row = row_of(alignment["id"])
    assert (row.state, row.key) == ("running", "")
    assert list_objects(f"features/{campaign.collection_id}/sets/{row.set_id}/alignments") == []


def test_it_waits_until_the_features_are_computed(client: TestClient, campaign: Campaign) -> None:
    alignment = requested(client, campaign, "appearance")
    assert alignment["waits_for_features"]
    run(alignment)
    waiting = read(client, campaign, alignment["id"])
    assert (waiting["state"], waiting["waits_for_features"]) == ("queued", True)
    assert row_of(alignment["id"]).attempts == 0
    run_feature_set(UUID(alignment["set_id"]), lambda: False)
    run(alignment)
    done = read(client, campaign, alignment["id"])
    assert (done["state"], done["waits_for_features"]) == ("done", False)


def test_an_account_aligns_one_at_a_time(client: TestClient, campaign: Campaign) -> None:
    noise = np.random.default_rng(0).normal(size=clip_of().shape).astype(np.float32)
    with_features(client, campaign, noise=noise)
    assert client.post(alignments_of(campaign), json={"features": ["clip", "noise"]}).is_success
    with transaction() as session:
        messages = next_messages(session, 100)
        assert [message.task for message in messages].count(ALIGN_TASK) == 1


def test_an_alignment_waits_while_the_disk_is_full(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = requested(client, campaign)

    def is_full(key: str, data: bytes) -> None:
        raise NoRoom

    with monkeypatch.context() as patched:
        patched.setattr("app.alignments.stored.put_object", is_full)
        run(clip)
    waiting = read(client, campaign, clip["id"])
    assert waiting["state"] == "queued"
    assert "disk is full" in waiting["error"]
    run(clip)
    done = read(client, campaign, clip["id"])
    assert (done["state"], done["error"]) == ("done", None)
