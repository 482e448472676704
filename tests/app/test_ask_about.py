"""Campaigns that ask about a part of their images: how these are chosen, and by whom."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.campaigns.changes import ACTIONS, clone_campaign
from app.campaigns.choosing import run_choosing
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import Conflict, InvalidInput, LostLease, NoRoom
from app.core.settings import get_settings
from app.features import computing, shards
from app.features.computing import requeue_lost_sets
from app.features.models import FeatureSet
from app.features.reading import read_set
from app.jobs import encoding
from app.jobs.models import Job
from app.jobs.service import CHOOSE, fail_job, requeue_lost_jobs
from app.recruitment.models import Recruitment
from app.recruitment.service import problems_before_opening
from learning.coverage import cover
from testbed.builders import (
    a_collection,
    a_draft,
    a_recruitment,
    reloaded,
)
from tests.app.test_annotation import a_lease, a_session
from tests.app.test_computed_features import Encoder, encode_by
from tests.support.asked import (
    M,
    N,
    a_partial_campaign,
    act,
    asked_of,
    choose,
    claimed,
    computed_sets,
    progress,
    shown_in,
)


def test_no_grid_is_shown_before_the_images_are_chosen(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    who = a_session(client, campaign)
    now = progress(client, campaign)
    assert (now["state"], now["choosing"]["kind"], now["choosing"]["state"]) == (
        "running",
        "choose",
        "queued",
    )
    assert (now["asked_images"], now["images"]) == (M, N)
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "wait"
    assert shown_in(campaign) == set()
    choose()
    assert progress(client, campaign)["choosing"] is None
    lease = a_lease(client, who)
    assert {shown["image"] for shown in lease["images"]} <= set(asked_of(campaign))


def test_the_chosen_images_are_those_of_the_cover_each_time(owner: Account) -> None:
    campaign = a_partial_campaign(owner, ask_about=12, ask_by="appearance", seed=0)
    choose()
    with transaction() as session:
        read = read_set(session, session.get_one(Campaign, campaign.id), "appearance")
    assert asked_of(campaign) == cover(read().values, 12, 0).tolist()
    again = a_partial_campaign(owner, ask_about=12, ask_by="appearance", seed=0)
    choose()
    assert asked_of(again) == asked_of(campaign)


def test_features_are_computed_once_and_stay_with_the_collection(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    [stored] = computed_sets()
    assert (stored.name, stored.state, stored.n_known) == ("grey", "done", N)
    act(owner, campaign, "pause")
    with transaction() as session:
        draft = clone_campaign(session, owner, campaign.id)
        assert (draft.ask_about, draft.ask_by) == (M, "grey")
        ACTIONS["start"](session, owner, draft.id)
    choose()
    assert [feature_set.id for feature_set in computed_sets()] == [stored.id]


def test_features_of_the_table_are_read(owner: Account) -> None:
    campaign = a_partial_campaign(owner, ask_by="features")
    choose()
    assert len(asked_of(campaign)) == M


def test_a_part_that_is_all_needs_no_features(owner: Account) -> None:
    campaign = a_partial_campaign(owner, ask_about=500)
    choose()
    assert asked_of(campaign) == list(range(N))
    assert reloaded(campaign.id).ask_about == N
    assert computed_sets() == []


def test_a_lost_worker_stores_nothing(owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    job = claimed(CHOOSE)
    with transaction() as session:
        fail_job(session, job.id, job.epoch, "gone", retry=True)
    with pytest.raises(LostLease):
        run_choosing(campaign.id, job.id, job.epoch)
    assert asked_of(campaign) == []
    choose()
    assert len(asked_of(campaign)) == M


def test_a_failed_choice_is_shown_and_can_be_repeated(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    job = claimed(CHOOSE)
    with transaction() as session:
        fail_job(session, job.id, job.epoch, "ValueError: no memory", retry=False)
    now = progress(client, campaign)
    assert (now["choosing"]["state"], now["choosing"]["can_retry"]) == ("failed", True)
    assert "choice_failed" in [alert["code"] for alert in now["monitor"]["alerts"]]
    reply = client.post(f"/api/v1/campaigns/{campaign.id}/actions/retry")
    assert reply.status_code == 200, reply.text
    assert reply.json()["choosing"]["state"] == "queued"
    choose()
    assert client.post(f"/api/v1/campaigns/{campaign.id}/actions/retry").status_code == 409


def test_a_campaign_that_is_paused_or_finished_meanwhile(owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    act(owner, campaign, "pause")
    act(owner, campaign, "resume")
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 1
    act(owner, campaign, "finish")
    choose()
    act(owner, campaign, "reopen")
    assert reloaded(campaign.id).state == "running"
    assert shown_in(campaign) <= set(asked_of(campaign))
    assert shown_in(campaign)


def test_wrong_parts_are_refused(owner: Account) -> None:
    collection = a_collection(owner, N)
    for plan, code in (
        ({"ask_about": -1}, "bad_ask_about"),
        ({"ask_about": 5}, "bad_ask_about"),
        ({"ask_about": M, "ask_by": "nothing"}, "bad_ask_by"),
        ({"ask_about": M, "ask_by": "clip"}, "bad_ask_by"),
        ({"ask_about": M, "ask_by": "x" * 101}, "bad_ask_by"),
    ):
        with pytest.raises(InvalidInput) as raised:
            a_draft(owner, collection, **plan)
        assert raised.value.code == code, plan
    whole = a_draft(owner, collection, ask_by="clip")
    assert (whole.ask_about, whole.ask_by) == (0, "")
    part = a_draft(owner, collection, ask_about=M)
    assert part.ask_by in ("objects", "appearance")


def test_a_started_campaign_keeps_its_part(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    reply = client.patch(f"/api/v1/campaigns/{campaign.id}", json={"ask_about": 30})
    assert (reply.status_code, reply.json()["code"]) == (409, "frozen")


def test_sets_by_which_images_are_being_chosen_cannot_be_deleted(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner, ask_by="features")
    sets = f"/api/v1/collections/{campaign.collection_id}/feature-sets"
    [listed] = client.get(sets).json()["items"]
    reply = client.delete(f"{sets}/{listed['id']}")
    assert (reply.status_code, reply.json()["code"]) == (409, "feature_set_in_use")
    choose()
    assert client.delete(f"{sets}/{listed['id']}").status_code in (200, 204)
    with pytest.raises(Conflict):
        act(owner, campaign, "start")


def test_nobody_is_recruited_before_the_images_are_chosen(owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    recruitment = a_recruitment(owner, campaign)
    with transaction() as session:
        problems = problems_before_opening(session, session.get_one(Recruitment, recruitment.id))
    assert any("still being chosen" in problem for problem in problems)
    choose()
    with transaction() as session:
        problems = problems_before_opening(session, session.get_one(Recruitment, recruitment.id))
    assert not any("still being chosen" in problem for problem in problems)


def test_a_choice_continues_where_a_killed_worker_stopped(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MOST_ROWS", 8)
    monkeypatch.setattr(computing, "BATCH", 4)
    encode_by(monkeypatch, Encoder(dies_at=30))
    campaign = a_partial_campaign(owner)
    with pytest.raises(KeyboardInterrupt):
        choose()
    [stored] = computed_sets()
    assert 0 < stored.n_known < N
    with transaction() as session:
        session.execute(update(Job).values(lease_until=func.now()))
        session.execute(update(FeatureSet).values(lease_until=func.now()))
    with transaction() as session:
        assert requeue_lost_jobs(session) == 1
        assert requeue_lost_sets(session) == 1
    encoder = Encoder()
    encode_by(monkeypatch, encoder)
    choose()
    assert encoder.n_encoded == N - stored.n_known
    assert len(asked_of(campaign)) == M


def test_attempts_that_store_a_part_do_not_count(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice that takes longer than its time limit goes on, as long as it gets on."""
    monkeypatch.setattr(shards, "MOST_ROWS", 8)
    monkeypatch.setattr(computing, "BATCH", 4)
    monkeypatch.setattr(encoding, "_REPORT_SECONDS", 0.0)
    campaign = a_partial_campaign(owner)

    def interrupted(dies_at: int) -> tuple[int, str]:
        encode_by(monkeypatch, Encoder(dies_at=dies_at))
        with pytest.raises(KeyboardInterrupt):
            choose()
        with transaction() as session:
            session.execute(update(Job).values(lease_until=func.now()))
            session.execute(update(FeatureSet).values(lease_until=func.now()))
        with transaction() as session:
            requeue_lost_jobs(session)
            requeue_lost_sets(session)
            job = session.scalars(select(Job)).one()
            return job.attempts, job.state

    most = get_settings().job_max_attempts
    assert [interrupted(12) for _ in range(most + 1)] == [(1, "queued")] * (most + 1)
    [stored] = computed_sets()
    assert stored.n_known == 8 * (most + 1) < N
    encode_by(monkeypatch, Encoder())
    choose()
    assert len(asked_of(campaign)) == M


def test_attempts_that_store_nothing_are_limited(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_REPORT_SECONDS", 0.0)
    a_partial_campaign(owner)
    for attempt in range(1, get_settings().job_max_attempts + 1):
        encode_by(monkeypatch, Encoder(dies_at=0))
        with pytest.raises(KeyboardInterrupt):
            choose()
        with transaction() as session:
            session.execute(update(Job).values(lease_until=func.now()))
            # As if the set had not been begun by the same worker.
            session.execute(update(FeatureSet).values(state="queued", attempts=0))
        with transaction() as session:
            requeue_lost_jobs(session)
            job = session.scalars(select(Job)).one()
            assert job.attempts == attempt
    assert job.state == "failed"


def test_a_worker_does_not_wait_while_the_disk_is_full(
    owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode_by(monkeypatch, Encoder())
    campaign = a_partial_campaign(owner)

    def is_full(key: str, data: bytes) -> None:
        raise NoRoom

    with monkeypatch.context() as patched:
        patched.setattr("app.features.shards.put_object", is_full)
        # The job is postponed, because the worker also removes what makes room.
        with pytest.raises(NoRoom, match="disk is full"):
            choose()
    with transaction() as session:
        job = session.scalars(select(Job)).one()
        fail_job(session, job.id, job.epoch, "NoRoom", retry=True)
    choose()
    assert len(asked_of(campaign)) == M


def test_encoding_that_fails_is_the_reason(owner: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(images: Any) -> Any:
        raise ValueError("the weights are damaged")

    encode_by(monkeypatch, fail)
    campaign = a_partial_campaign(owner)
    with pytest.raises(ValueError, match="the weights are damaged"):
        choose()
    assert asked_of(campaign) == []
    encode_by(monkeypatch, Encoder())
    with transaction() as session:
        job = session.scalars(select(Job)).one()
        fail_job(session, job.id, job.epoch, "ValueError: the weights are damaged", retry=False)
    act(owner, campaign, "retry")
    choose()
    assert len(asked_of(campaign)) == M
