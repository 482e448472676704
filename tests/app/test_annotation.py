"""Leases and answers: handed out once, kept for ever."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, text, update

from app.annotation import sessions
from app.annotation.models import Annotator, Answer, Assignment
from app.annotation.sessions import AnnotatorSession, new_assignment, token_of
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid
from app.core.database import locked, transaction
from app.jobs.models import Job
from app.results.service import read_progress
from testbed.builders import a_campaign, reloaded
from testbed.system import wait_until


def a_session(
    client: TestClient, campaign: Campaign, key: str = "annotator-000001"
) -> dict[str, str]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    opened = client.post("/api/v1/annotate/sessions", json={"link": link, "annotator_key": key})
    assert opened.status_code == 201, opened.text
    return {"Authorization": f"Bearer {opened.json()['token']}"}


def a_lease(client: TestClient, who: dict[str, str]) -> dict[str, Any]:
    handout = client.post("/api/v1/annotate/leases", headers=who).json()
    assert handout["status"] == "leased", handout
    lease: dict[str, Any] = handout["lease"]
    return lease


def an_answer(lease: dict[str, Any], **changes: Any) -> dict[str, Any]:
    images = [shown["image"] for shown in lease["images"]]
    groups = [index % 2 for index in range(len(images))]
    return {"images": images, "groups": groups, "descriptions": ["a", "b"], **changes}


def submit(
    client: TestClient, who: dict[str, str], lease: dict[str, Any], key: str = "", **changes: Any
) -> Any:
    return client.post(
        f"/api/v1/annotate/leases/{lease['id']}/answer",
        json=an_answer(lease, **changes),
        headers={**who, "Idempotency-Key": key or str(uuid.uuid4())},
    )


def expire(lease: dict[str, Any]) -> None:
    with transaction() as session:
        session.execute(
            update(Answer)
            .where(Answer.id == uuid.UUID(lease["id"]))
            .values(lease_expires_at=datetime.now(UTC) - timedelta(seconds=1))
        )


def test_an_answer_is_stored_aligned_with_the_grid(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    body = an_answer(lease)
    order = list(reversed(range(len(body["images"]))))
    reply = submit(
        client,
        who,
        lease,
        images=[body["images"][at] for at in order],
        groups=[body["groups"][at] for at in order],
    )
    stored = {"status": "stored", "answered": 1, "target": 10, "seconds_spent": 0.0, "next": None}
    assert reply.json() == stored
    with transaction() as session:
        answer = session.scalars(select(Answer)).one()
        grid = session.get_one(Grid, answer.grid_id)
        assert grid.images == body["images"]
        assert answer.groups == body["groups"]


def test_the_time_that_an_answer_adds_to_is_that_of_its_own_assignment(client: TestClient) -> None:
    """A page may have kept it until after another assignment was begun."""
    campaign = a_campaign()
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who), elapsed_ms=30_000)
    lease = a_lease(client, who)
    with transaction() as session:
        first = session.scalars(select(Assignment)).one()
        annotator = session.get_one(Annotator, first.annotator_id)
        first.state = "completed"
        session.flush()
        session.add(second := new_assignment(campaign, annotator, "link"))
        session.flush()
        token = token_of(AnnotatorSession(campaign, annotator, second))
    reply = submit(client, {"Authorization": f"Bearer {token}"}, lease, elapsed_ms=5_000).json()
    assert (reply["answered"], reply["seconds_spent"]) == (2, 35.0)


def test_who_has_no_session_is_told_that_first(client: TestClient) -> None:
    """And not what is wrong with a body."""
    for headers in ({}, {"Authorization": "Bearer forged"}):
        reply = client.post("/api/v1/annotate/steps", json={"step": 1}, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (401, "bad_token")


def test_the_same_annotator_gets_the_live_lease_again(client: TestClient) -> None:
    campaign = a_campaign()
    first = a_lease(client, a_session(client, campaign))
    again = a_lease(client, a_session(client, campaign))
    assert first["id"] == again["id"]


def test_an_abandoned_lease_returns_to_the_pool(client: TestClient) -> None:
    campaign = a_campaign(budget=1)
    first = a_session(client, campaign, "annotator-first-one")
    second = a_session(client, campaign, "annotator-second-one")
    lease = a_lease(client, first)
    assert client.post("/api/v1/annotate/leases", headers=second).json()["status"] == "wait"
    expire(lease)
    assert a_lease(client, second)["grid_id"] == lease["grid_id"]


def test_a_late_answer_fills_a_place_that_is_still_free(client: TestClient) -> None:
    campaign = a_campaign(budget=1)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    expire(lease)
    assert submit(client, who, lease).json()["status"] == "stored"
    assert reloaded(campaign.id).n_answers == 1


def test_a_late_answer_to_a_filled_grid_is_kept_as_surplus_and_counted(
    client: TestClient,
) -> None:
    campaign = a_campaign(budget=1)
    late = a_session(client, campaign, "annotator-who-is-late")
    quick = a_session(client, campaign, "annotator-who-is-quick")
    lease = a_lease(client, late)
    expire(lease)
    assert submit(client, quick, a_lease(client, quick)).json()["status"] == "stored"
    reply = submit(client, late, lease)
    assert (reply.status_code, reply.json()["status"], reply.json()["answered"]) == (
        200,
        "surplus",
        1,
    )
    after = reloaded(campaign.id)
    assert (after.n_answers, after.n_surplus) == (1, 1)


def test_the_same_submission_again_gets_the_same_reply(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    replies = [submit(client, who, lease, key="one-key-0001") for _ in range(3)]
    assert [reply.json() for reply in replies] == [replies[0].json()] * 3
    assert reloaded(campaign.id).n_answers == 1


def test_one_answer_is_stored_when_fifty_arrive_at_once(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    with ThreadPoolExecutor(20) as pool:
        replies = list(
            pool.map(lambda _: submit(client, who, lease, key="one-key-0001"), range(50))
        )
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply.text for reply in replies}) == 1
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Answer)) == 1
        assert session.get_one(Campaign, campaign.id).n_answers == 1


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"images": [0, 1, 2, 3, 4, 999], "groups": [0] * 6}, 422, "unknown_images"),
        ({"images": [0, 1], "groups": [0, 0]}, 422, "unknown_images"),
        ({"groups": [0, 0]}, 422, "bad_groups"),
        ({"groups": [0, 0, 0, 0, 0, 10]}, 422, "bad_groups"),
        ({"groups": [0, 0, 0, 0, 0, -2]}, 422, "bad_groups"),
        ({"descriptions": ["x" * 501]}, 422, "invalid_request"),
        ({"groups": [0, 0, 0, 0, 0, 10**30]}, 422, "invalid_request"),
        ({"trace": [[0, "assign", "\0"]]}, 422, "cannot_be_stored"),
    ],
)
def test_a_bad_answer_gets_a_clear_error_and_changes_nothing(
    client: TestClient, changes: dict[str, Any], status: int, code: str
) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    reply = submit(client, who, lease, **changes)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert len(reply.json()["detail"]) > 20
    assert reloaded(campaign.id).n_answers == 0
    assert submit(client, who, lease).status_code == 200


def test_another_submission_of_a_finished_grid_is_refused(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    assert submit(client, who, lease, key="first-key").status_code == 200
    other_key = submit(client, who, lease, key="second-key")
    assert (other_key.status_code, other_key.json()["code"]) == (409, "already_submitted")
    other_body = submit(client, who, lease, key="first-key", descriptions=["changed"])
    assert (other_body.status_code, other_body.json()["code"]) == (422, "idempotency_mismatch")


def test_somebody_elses_lease_is_not_found(client: TestClient) -> None:
    campaign = a_campaign()
    lease = a_lease(client, a_session(client, campaign))
    stranger = a_session(client, campaign, "annotator-stranger")
    reply = submit(client, stranger, lease)
    assert (reply.status_code, reply.json()["code"]) == (404, "lease_not_found")


def test_a_forged_token_and_a_forged_link_are_refused(client: TestClient) -> None:
    a_campaign()
    forged = {"Authorization": "Bearer WyJhIiwiYiJd.aaaa.bbbb"}
    assert client.post("/api/v1/annotate/leases", headers=forged).status_code == 401
    body = {"link": "ImFiYyI.forged", "annotator_key": "x" * 20}
    assert client.post("/api/v1/annotate/sessions", json=body).status_code == 404


def test_an_annotators_token_runs_out(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    who = a_session(client, a_campaign())
    assert client.post("/api/v1/annotate/leases", headers=who).status_code == 200
    monkeypatch.setattr(sessions, "TOKEN_SECONDS", -1)
    refused = client.post("/api/v1/annotate/leases", headers=who)
    assert refused.status_code == 401
    assert "expired" in refused.json()["detail"]


def test_a_draft_is_kept_and_an_older_one_is_refused(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    path = f"/api/v1/annotate/leases/{lease['id']}/draft"
    draft = {"version": 3, "groups": [0, -1, -1, -1, -1, 1], "descriptions": ["a"]}
    assert client.put(path, json=draft, headers=who).json()["version"] == 3
    stale = client.put(path, json={**draft, "version": 2, "groups": [1]}, headers=who)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_draft")
    again = a_lease(client, who)
    assert again["draft"] == {"groups": draft["groups"], "descriptions": ["a"]}
    assert again["draft_version"] == 3


def test_an_annotator_never_gets_a_returned_or_answered_grid_again(client: TestClient) -> None:
    campaign = a_campaign(budget=3, answers_per_grid=1)
    who = a_session(client, campaign)
    seen = []
    lease = a_lease(client, who)
    seen.append(lease["grid_id"])
    client.post(f"/api/v1/annotate/leases/{lease['id']}/return", headers=who)
    for _ in range(2):
        lease = a_lease(client, who)
        seen.append(lease["grid_id"])
        submit(client, who, lease)
    assert len(set(seen)) == 3
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "done"


def test_a_full_round_and_every_n_answers_ask_for_learning_once(client: TestClient) -> None:
    campaign = a_campaign(budget=6, learn_every=2)
    who = a_session(client, campaign)
    for _ in range(6):
        submit(client, who, a_lease(client, who))
    with transaction() as session:
        jobs = session.scalars(select(Job)).all()
    # Nobody took the job, so the later wishes went into the one that waits.
    assert [(job.state, job.watermark) for job in jobs] == [("queued", 6)]


def test_a_paused_campaign_hands_out_nothing_but_takes_answers(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    with transaction() as session:
        session.get_one(Campaign, campaign.id).state = "paused"
    stranger = a_session(client, campaign, "annotator-stranger")
    assert client.post("/api/v1/annotate/leases", headers=stranger).json()["status"] == "paused"
    assert submit(client, who, lease).json()["status"] == "stored"


def test_an_assignment_ends_at_its_target_with_a_code(client: TestClient) -> None:
    campaign = a_campaign(budget=5, grids_per_assignment=2)
    who = a_session(client, campaign)
    for _ in range(2):
        submit(client, who, a_lease(client, who))
    done = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (done["status"], done["answered"]) == ("done", 2)
    assert len(done["completion_code"]) == 9
    assert a_session(client, campaign) != who


def test_an_answer_counts_where_its_lease_has_gone_meanwhile(client: TestClient) -> None:
    campaign = a_campaign(budget=5, grids_per_assignment=3)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    with ThreadPoolExecutor() as pool:
        with transaction() as session:
            answer = session.get_one(Answer, uuid.UUID(lease["id"]))
            left = answer.assignment_id
            later = Assignment(
                campaign_id=campaign.id,
                annotator_id=answer.annotator_id,
                channel="link",
                state="returned",
                target=3,
                completion_code="ABCD-EFGH",
            )
            session.add(later)
            session.flush()
            answer.assignment_id = later.id
            session.flush()
            sending = pool.submit(submit, client, who, lease)
            wait_until("the answer to wait for its row", lambda: waiting() == 1)
        assert sending.result().json()["status"] == "stored"
    with transaction() as session:
        counted = {
            assignment.id: assignment.n_answered
            for assignment in session.scalars(select(Assignment))
        }
    assert counted == {left: 0, later.id: 1}


def test_newcomers_do_not_wait_for_the_campaign_and_count_once_they_answer(
    client: TestClient,
) -> None:
    """They would have it while a grid is chosen for them, and submissions wait for it."""
    campaign = a_campaign(budget=20)
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        who = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(3)]
    assert reloaded(campaign.id).n_annotators == 0
    for k in (1, 0):
        submit(client, who[k], a_lease(client, who[k]))
        assert reloaded(campaign.id).n_annotators == 2
    with transaction() as session:
        assert read_progress(session, session.get_one(Campaign, campaign.id)).n_annotators == 3


def test_newcomers_at_once_are_numbered_without_gaps(client: TestClient) -> None:
    campaign = a_campaign(budget=60)
    keys = [f"annotator-{k // 2:06d}" for k in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: a_session(client, campaign, key), keys))
    with transaction() as session:
        assert sorted(session.scalars(select(Annotator.position))) == list(range(12))


def waiting() -> int:
    """Statements that wait for a row."""
    waits = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with transaction() as session:
        return int(session.execute(waits).scalar_one())
