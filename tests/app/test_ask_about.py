"""Campaigns that ask about a part of their images: the choice, the grids, and more images."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update

from app.accounts.models import Account, AuditEvent
from app.campaigns.changes import ACTIONS, clone_campaign
from app.campaigns.choosing import run_choosing
from app.campaigns.models import AskedImage, Campaign, Grid, Round
from app.collections.models import Collection
from app.collections.service import add_files, get_collection
from app.core.database import transaction
from app.core.errors import Conflict, InvalidInput, LostLease
from app.core.storage import put_object
from app.features import computing, shards
from app.features.computing import requeue_lost_sets
from app.features.models import OF_TABLE, FeatureSet
from app.features.reading import read_set
from app.jobs.models import Job
from app.jobs.service import CHOOSE, LEARN, claim_job, fail_job, requeue_lost_jobs
from app.recruitment.models import Recruitment
from app.recruitment.service import problems_before_opening
from app.results import suggested
from app.results.learn import run_learning_job
from learning.coverage import cover
from learning.feature_map import feature_map
from likewise.client.campaigns import Campaign as ClientCampaign
from testbed.builders import (
    a_campaign,
    a_collection,
    a_draft,
    a_png,
    a_recruitment,
    an_account,
    reloaded,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_computed_features import Encoder, encode_by
from tests.app.test_scdc_strategy import Direct
from tests.support.archives import archive_of, bring, packed, unpacked

N, M = 60, 20


@pytest.fixture
def owner(client: TestClient) -> Account:
    account = an_account()
    sign_in(client, account)
    return account


def a_partial_campaign(owner: Account, n: int = N, **plan: Any) -> Campaign:
    values = {"ask_about": M, "ask_by": "grey", "kind": "bins", "strategy": "crowdster"}
    values |= {"budget": 40, "rounds": 2, "grids_per_assignment": 40, **plan}
    return a_campaign(owner, a_collection(owner, n), **values)


def claimed(kind: str) -> Job:
    with transaction() as session:
        query = select(Job.id).where(Job.kind == kind, Job.state == "queued")
        job = claim_job(session, session.scalars(query).one(), "worker")
        assert job is not None
        return job


def choose() -> None:
    job = claimed(CHOOSE)
    run_choosing(job.campaign_id, job.id, job.epoch)


def learn() -> None:
    job = claimed(LEARN)
    run_learning_job(job.campaign_id, job.id, job.epoch)


def asked_of(campaign: Campaign) -> list[int]:
    with transaction() as session:
        query = select(AskedImage.position).where(AskedImage.campaign_id == campaign.id)
        return list(session.scalars(query.order_by(AskedImage.position)))


def computed_sets() -> list[FeatureSet]:
    with transaction() as session:
        return list(session.scalars(select(FeatureSet).where(FeatureSet.kind != OF_TABLE)))


def shown_in(campaign: Campaign) -> set[int]:
    with transaction() as session:
        query = select(func.unnest(Grid.images)).where(Grid.campaign_id == campaign.id)
        return set(session.scalars(query))


def progress(client: TestClient, campaign: Campaign) -> dict[str, Any]:
    result: dict[str, Any] = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    return result


def act(owner: Account, campaign: Campaign, action: Any) -> None:
    with transaction() as session:
        ACTIONS[action](session, owner, campaign.id)


def answer_all(client: TestClient, who: dict[str, str], n: int) -> None:
    for _ in range(n):
        lease = a_lease(client, who)
        groups = [shown["image"] % 3 for shown in lease["images"]]
        assert submit(client, who, lease, groups=groups).json()["status"] == "stored"


# --- the choice ----------------------------------------------------------------------------------


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


# --- grids and results ---------------------------------------------------------------------------


def test_all_rounds_show_only_asked_images_and_all_images_get_places(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    who = a_session(client, campaign)
    for _ in range(2):
        answer_all(client, who, 20)
        learn()
    assert reloaded(campaign.id).state == "finished"
    assert shown_in(campaign) <= set(asked_of(campaign))
    table = client.get(f"/api/v1/campaigns/{campaign.id}/export/embedding.csv").text
    assert len(list(csv.reader(io.StringIO(table)))) == N + 1


# --- more images ---------------------------------------------------------------------------------


def add_images(owner: Account, collection_id: UUID, n: int) -> None:
    files = [(f"more-{index}.png", a_png(1_000 + index)) for index in range(n)]
    with transaction() as session:
        collection: Collection = get_collection(session, owner, collection_id)
        add_files(session, owner, collection, files)


def ask_about(client: TestClient, campaign: Campaign, images: list[int]) -> Any:
    address = f"/api/v1/campaigns/{campaign.id}/asked-images"
    return client.post(address, json={"images": images})


def test_new_images_take_part_but_are_not_asked_about(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    add_images(owner, campaign.collection_id, 5)
    act(owner, campaign, "admit")
    before = asked_of(campaign)
    now = progress(client, campaign)
    assert (now["asked_images"], now["images"], len(before)) == (M, N + 5, M)
    answer_all(client, a_session(client, campaign), 20)
    learn()
    assert shown_in(campaign) <= set(before)
    # The requester says so.
    reply = ask_about(client, campaign, [N, N + 1, N, before[0]])
    assert reply.json() == {"added": 2, "asked_images": M + 2, "images": N + 5}
    assert set(asked_of(campaign)) == {*before, N, N + 1}
    listed = client.get(f"/api/v1/campaigns/{campaign.id}/asked-images?limit=200").json()["items"]
    origins = {image["image"]: image["origin"] for image in listed}
    assert origins == {**dict.fromkeys(before, "chosen"), N: "added", N + 1: "added"}
    with transaction() as session:
        events = session.scalars(
            select(AuditEvent).where(AuditEvent.action == "campaign.images_asked")
        ).all()
        assert [event.details for event in events] == [{"images": 2}]


def test_added_images_are_shown_in_the_next_rounds(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner, rounds=3, budget=60, ready_share=0.0)
    choose()
    more = sorted(set(range(N)) - set(asked_of(campaign)))[:6]
    assert ask_about(client, campaign, more).json()["added"] == 6
    answer_all(client, a_session(client, campaign), 20)
    learn()
    assert set(more) <= shown_in(campaign) <= set(asked_of(campaign))


def test_images_to_add_are_checked(client: TestClient, owner: Account) -> None:
    whole = a_campaign(owner, a_collection(owner, N))
    reply = ask_about(client, whole, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "asks_about_all")
    campaign = a_partial_campaign(owner)
    reply = ask_about(client, campaign, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "choosing")
    choose()
    for wrong in ([N], [-1], [2**40]):
        reply = ask_about(client, campaign, wrong)
        assert (reply.status_code, reply.json()["code"]) == (422, "unknown_images"), wrong
    assert ask_about(client, campaign, []).status_code == 422
    act(owner, campaign, "finish")
    reply = ask_about(client, campaign, [1])
    assert (reply.status_code, reply.json()["code"]) == (409, "bad_state")


def test_the_same_images_added_at_once_count_once(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    others = sorted(set(range(N)) - set(asked_of(campaign)))
    parts = [others[:8], others[4:12], others[:8], others[8:16]]
    with ThreadPoolExecutor(len(parts)) as pool:
        replies = list(pool.map(lambda part: ask_about(client, campaign, part), parts))
    assert [reply.status_code for reply in replies] == [200] * 4
    assert sum(reply.json()["added"] for reply in replies) == 16
    assert len(asked_of(campaign)) == reloaded(campaign.id).ask_about == M + 16


def test_the_least_certain_of_the_others_are_suggested(client: TestClient, owner: Account) -> None:
    settings = {"features": "features", "effort": "quick", "max_clusters": 5, "n_latent": 2}
    campaign = a_partial_campaign(owner, strategy="scdc", settings=settings)
    address = f"/api/v1/campaigns/{campaign.id}/suggested-images"
    assert client.get(address).json() == {"version": None, "certainty_of": None, "images": []}
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    reply = client.get(f"{address}?limit=10").json()
    assert (reply["version"], reply["certainty_of"]) == (1, "cluster")
    certainties = [image["certainty"] for image in reply["images"]]
    assert len(certainties) == 10
    assert certainties == sorted(certainties)
    images = [image["image"] for image in reply["images"]]
    assert not set(images) & set(asked_of(campaign))
    assert ask_about(client, campaign, images).json()["added"] == 10
    later = client.get(f"{address}?limit=200").json()["images"]
    assert len(later) == N - M - 10
    assert not {image["image"] for image in later} & set(images)


def test_models_that_state_no_certainty_suggest_nothing(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/suggested-images").json()
    assert reply == {"version": 1, "certainty_of": None, "images": []}


# --- plans ---------------------------------------------------------------------------------------


def test_plans_count_only_asked_images(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, N)
    whole = a_draft(owner, collection, budget=100)
    part = a_draft(owner, collection, budget=100, ask_about=M)

    def views(campaign: Campaign) -> float:
        plan = client.get(f"/api/v1/campaigns/{campaign.id}/plan").json()
        return float(plan["effort"]["views_per_image"])

    assert views(part) == pytest.approx(3 * views(whole))
    dry_run = client.post(f"/api/v1/campaigns/{part.id}/dry-runs", json={}).json()["dry_run"]
    assert (dry_run["n_images"], dry_run["n_simulated"]) == (M, M)


def test_rounds_of_campaigns_about_all_images_are_as_ever(owner: Account) -> None:
    campaign = a_campaign(owner, a_collection(owner, N))
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Round)) == 1
        assert session.scalar(select(func.count()).select_from(Job)) == 0
    assert asked_of(campaign) == []
    assert np.all(np.array(sorted(shown_in(campaign))) < N)


def test_a_started_campaign_whose_part_is_unknown_never_draws_from_all(owner: Account) -> None:
    from app.campaigns.rounds import open_first_round

    campaign = a_partial_campaign(owner)
    with pytest.raises(ValueError, match="not chosen yet"), transaction() as session:
        open_first_round(session, session.get_one(Campaign, campaign.id))


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


def test_the_client_asks_about_suggested_images(client: TestClient, owner: Account) -> None:
    settings = {"features": "features", "effort": "quick", "max_clusters": 5, "n_latent": 2}
    campaign = a_partial_campaign(owner, strategy="scdc", settings=settings)
    choose()
    answer_all(client, a_session(client, campaign), 20)
    learn()
    sign_in(client, owner)
    fields = client.get(f"/api/v1/campaigns/{campaign.id}").json()
    from_client = ClientCampaign(Direct(client), fields)
    images = from_client.suggested_images(5)
    assert len(images) == 5
    assert from_client.ask_about(image.image for image in images) == 5
    assert from_client.ask_about([images[0].image]) == 0


def archived(client: TestClient, campaign: Campaign) -> Campaign:
    reply = bring(client, archive_of(client, campaign))
    assert reply.status_code == 201, reply.text
    return reloaded(UUID(reply.json()["id"]))


def test_archives_have_the_asked_images(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    copy = archived(client, campaign)
    assert (copy.state, copy.ask_about, copy.ask_by) == ("paused", M, "grey")
    assert asked_of(copy) == asked_of(campaign)
    act(owner, copy, "resume")
    assert progress(client, copy)["choosing"] is None


def test_an_archive_made_before_the_choice_chooses_when_it_is_resumed(
    client: TestClient, owner: Account
) -> None:
    copy = archived(client, a_partial_campaign(owner))
    with transaction() as session:
        session.execute(delete(Job))
    act(owner, copy, "resume")
    choose()
    assert len(asked_of(copy)) == M
    assert shown_in(copy) <= set(asked_of(copy))


@pytest.mark.parametrize("wrong", ["too few", "beyond", "none"])
def test_archives_with_other_images_are_refused(
    client: TestClient, owner: Account, wrong: str
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    members = unpacked(archive_of(client, campaign))
    name = "tables/asked_image.jsonl"
    lines = members[name].decode().splitlines()
    row = json.loads(lines[-1])
    changed = {
        "too few": lines[:-1],
        "beyond": [*lines[:-1], json.dumps({**row, "position": N})],
        "none": [],
    }[wrong]
    members[name] = "".join(f"{line}\n" for line in changed).encode()
    reply = bring(client, packed(members))
    assert reply.status_code == 422, reply.text


# --- a map before the first answer ---------------------------------------------------------------


def test_a_map_by_features_is_there_before_the_first_answer(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    address = f"/api/v1/campaigns/{campaign.id}/feature-map"
    assert client.get(address).json() == {"by": "grey", "images": N, "points": []}
    choose()
    reply = client.get(address).json()
    assert {point["image"] for point in reply["points"]} == set(range(N))
    assert [point["image"] for point in reply["points"] if point["asked"]] == asked_of(campaign)
    with transaction() as session:
        read = read_set(session, session.get_one(Campaign, campaign.id), "grey")
    places = feature_map(read().values)
    for point in reply["points"]:
        assert (point["x"], point["y"]) == pytest.approx(places[point["image"]], abs=1e-4)


def test_a_large_map_shows_an_even_part_of_the_others(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    monkeypatch.setattr(suggested, "MOST_PLACED", 30)
    points = client.get(f"/api/v1/campaigns/{campaign.id}/feature-map").json()["points"]
    assert len({point["image"] for point in points}) == 30
    assert sum(point["asked"] for point in points) == M


@pytest.mark.parametrize("damaged", [b"", b"x" * 20])
def test_a_damaged_map_is_none(client: TestClient, owner: Account, damaged: bytes) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    put_object(f"maps/{campaign.id}/features.safetensors", damaged)
    assert client.get(f"/api/v1/campaigns/{campaign.id}/feature-map").json()["points"] == []


# --- encoding that is interrupted ----------------------------------------------------------------


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
