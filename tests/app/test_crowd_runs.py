"""A simulated crowd answers a campaign as a job: by the rules that people have, and to its end."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, event, func, select, update

from app.accounts.models import Account
from app.annotation.models import Answer, Assignment
from app.core.database import get_engine, transaction
from app.core.outbox import OutboxMessage
from app.jobs.models import Job
from app.jobs.service import SIMULATE_TASK, requeue_lost_jobs
from app.planning.crowd_play import PATIENCE, run_crowd
from app.planning.crowd_record import CrowdRecord
from app.recruitment.models import Payment
from testbed.builders import COLOURS, a_campaign, reloaded
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.support.crowds import (
    crowd_job,
    crowd_path,
    expire_lease,
    finished_grids,
    one_turn,
    shown,
    started,
)
from tests.support.kinds import PLANS
from tests.support.questions import AGE


class Killed(BaseException):
    """What no code of the worker can catch."""


def be_killed() -> None:
    raise Killed


@contextmanager
def before_answers(after: int, do: Callable[[], None]) -> Iterator[None]:
    """Do something between a lease and its answer, each time after so many answers: when a
    transaction begins and there is a lease."""
    is_looking = False

    def look(_: Connection) -> None:
        nonlocal is_looking
        if is_looking:
            return
        is_looking = True
        try:
            with transaction() as session:
                states = Counter(session.scalars(select(Answer.state)))
            if states["leased"] and states["submitted"] == after:
                do()
        finally:
            is_looking = False

    event.listen(get_engine(), "begin", look)
    try:
        yield
    finally:
        event.remove(get_engine(), "begin", look)


def messages(job: Job) -> int:
    query = select(func.count()).where(OutboxMessage.job_id == job.id)
    with transaction() as session:
        return session.scalar(query) or 0


def test_a_crowd_gives_the_answers_that_it_was_asked_for(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=40, reward_cents=100, grids_per_assignment=3)
    options = client.get(crowd_path(campaign)).json()
    assert options == {
        "refusal": None, "choices": ["colour", "features"], "one_only": False,
        "usual_by": ["features"], "usual_answers": 4, "usual_annotators": 8, "usual_noise": 0.1,
        "fewest_annotators": 1, "most_annotators": 200, "left": 40, "has_people": False,
        "run": None,
    }  # fmt: skip
    run = started(client, campaign, annotators=3, noise=0.0, answers=13)
    assert (run["state"], run["message"]) == (
        "queued",
        "It waits for a free worker. Only one simulated crowd of an account answers at a time.",
    )
    with transaction() as session:
        tasks = session.scalars(select(OutboxMessage.task)).all()
    assert tasks == [SIMULATE_TASK]
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["surplus"]) == ("done", 13, 0)
    assert run["message"] == "It gave all its answers."
    assert reloaded(campaign.id).n_answers == 13
    progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    assert progress["simulated"] == {"annotators": 3, "answers": 13}
    assert progress["leases"] == 0
    with transaction() as session:
        # All annotators take turns, and take on more assignments.
        assert set(session.scalars(select(Assignment.channel))) == {"simulated"}
        per_person = select(func.count()).where(Answer.state == "submitted")
        counts = session.scalars(per_person.group_by(Answer.annotator_id)).all()
        assert sorted(counts) == [4, 4, 5]
        assert session.scalars(select(Answer.elapsed_ms).distinct()).all() == [None]
        assert session.scalar(select(func.count()).select_from(Payment)) == 0
        words = set(session.scalars(select(func.unnest(Answer.descriptions))))
    assert words
    assert words <= set(COLOURS)


@pytest.mark.parametrize("kind", PLANS)
def test_a_crowd_answers_campaigns_of_every_kind(
    client: TestClient, owner: Account, kind: str
) -> None:
    plan: dict[str, Any] = {"kind": kind, "budget": 12, **PLANS[kind]}
    if "classes" in plan:
        plan["classes"] = list(COLOURS)
    by = "colour"
    if kind == "select":
        by = "colour=red"
        plan["annotation"] = {"known_attribute": "colour", "known_value": "red"}
    campaign = a_campaign(owner, **plan)
    options = client.get(crowd_path(campaign)).json()
    assert by in options["choices"]
    started(client, campaign, by=[by], annotators=4, noise=0.0, answers=12)
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["message"]) == ("done", "It gave all its answers.")
    assert reloaded(campaign.id).n_answers == 12


def test_a_crowd_reads_practises_and_is_checked_as_people_are(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(
        owner,
        budget=30,
        annotation={
            "consent": "I take part.", "instructions": "Sort them.", "show_instructions": True,
            "known_attribute": "colour", "practice": 1, "gold_share": 0.2, "repeat_share": 0.2,
        },
    )  # fmt: skip
    started(client, campaign, annotators=2, noise=0.0, answers=16)
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"]) == ("done", 16)
    roles = Counter(role for _, role, _ in finished_grids(campaign))
    assert roles["ask"] == 16
    assert roles["gold"] >= 2
    assert roles["repeat"] >= 1
    assert run["checks"] == roles["gold"] + roles["repeat"]
    with transaction() as session:
        practised = session.scalars(select(Answer.agreement).where(Answer.agreement.is_not(None)))
        # They sort by the known attribute, without noise.
        assert set(practised) == {1.0}


def test_a_killed_worker_loses_and_repeats_no_answer(client: TestClient, owner: Account) -> None:
    """It is killed between a lease and its answer, where most can go wrong."""
    campaign = a_campaign(owner, budget=40, grids_per_assignment=40)
    started(client, campaign, annotators=4, answers=20)
    job = crowd_job(campaign)

    with before_answers(after=7, do=be_killed), pytest.raises(Killed):
        run_crowd(job.id, lambda: False)
    assert CrowdRecord.of(crowd_job(campaign)).stored == reloaded(campaign.id).n_answers == 7
    one_turn(campaign)
    assert crowd_job(campaign).state == "running"
    expire_lease(job.id)
    with transaction() as session:
        assert requeue_lost_jobs(session) == 1
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["surplus"]) == ("done", 20, 0)
    assert reloaded(campaign.id).n_answers == 20
    grids = [grid_id for grid_id, _, _ in finished_grids(campaign)]
    assert len(grids) == len(set(grids)) == 20
    # The lease of the killed worker was continued, not left behind.
    assert client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()["leases"] == 0


def test_a_worker_that_lost_its_job_stores_nothing_more(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=20)
    job = crowd_job(campaign)
    asked = 0

    def taken_over() -> bool:
        nonlocal asked
        asked += 1
        if asked == 6:
            expire_lease(job.id)
            with transaction() as session:
                requeue_lost_jobs(session)
        return False

    run_crowd(job.id, taken_over)
    assert reloaded(campaign.id).n_answers == 5
    assert crowd_job(campaign).state == "queued"


def test_a_stopping_worker_returns_the_job_at_once(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=20)
    answers = iter([False, False, False])
    run_crowd(crowd_job(campaign).id, lambda: next(answers, True))
    job = crowd_job(campaign)
    assert (job.state, job.attempts, messages(job)) == ("queued", 0, 2)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["message"]) == ("running", 3, "")
    one_turn(campaign)
    assert shown(client, campaign)["stored"] == 20


def test_a_crowd_lets_others_have_the_worker(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.planning.crowd_player.TURN_SECONDS", 0.0)
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=3)
    one_turn(campaign)
    job = crowd_job(campaign)
    assert (job.state, messages(job)) == ("queued", 2)
    monkeypatch.undo()
    one_turn(campaign)
    assert shown(client, campaign)["state"] == "done"


def test_a_requester_stops_a_crowd(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=20)
    asked = 0

    def stopped_after_four() -> bool:
        nonlocal asked
        asked += 1
        if asked == 5:
            assert client.post(f"{crowd_path(campaign)}/stop").status_code == 200
        return False

    run_crowd(crowd_job(campaign).id, stopped_after_four)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["message"]) == ("done", 4, "It was stopped.")
    again = client.post(f"{crowd_path(campaign)}/stop")
    assert again.status_code == 200
    one_turn(campaign)
    assert reloaded(campaign.id).n_answers == 4
    # The same crowd goes on with the same annotators; another one is new.
    started(client, campaign, answers=2)
    one_turn(campaign)
    progress = f"/api/v1/campaigns/{campaign.id}/progress"
    assert client.get(progress).json()["simulated"]["annotators"] == 4
    started(client, campaign, answers=2, noise=0.5)
    one_turn(campaign)
    assert client.get(progress).json()["simulated"]["annotators"] == 6


def test_an_answer_under_way_is_stored_when_a_crowd_is_stopped(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=20)

    def stop() -> None:
        assert client.post(f"{crowd_path(campaign)}/stop").status_code == 200

    with before_answers(after=2, do=stop):
        one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["message"]) == ("done", 3, "It was stopped.")
    assert client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()["leases"] == 0


@pytest.mark.parametrize("action", ["pause", "finish"])
def test_a_crowd_ends_with_its_campaign(client: TestClient, owner: Account, action: str) -> None:
    campaign = a_campaign(owner, budget=40)
    started(client, campaign, answers=20)
    asked = 0

    def acted_after_two() -> bool:
        nonlocal asked
        asked += 1
        if asked == 3:
            path = f"/api/v1/campaigns/{campaign.id}/actions/{action}"
            assert client.post(path).status_code == 200
        return False

    run_crowd(crowd_job(campaign).id, acted_after_two)
    run = shown(client, campaign)
    assert (run["state"], run["stored"]) == ("done", 2)
    assert {"pause": "paused", "finish": "finished"}[action] in run["message"]
    assert client.get(crowd_path(campaign)).json()["refusal"] is not None
    assert client.post(crowd_path(campaign), json={"by": ["colour"]}).status_code == 409


def test_a_crowd_waits_for_the_model_without_a_worker(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(
        owner, kind="bins", strategy="crowdster", budget=8, rounds=2, ready_share=0.0
    )
    started(client, campaign, answers=8)
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"]) == ("waiting", 4)
    assert "when the model has learned" in run["message"]
    job = crowd_job(campaign)
    assert (job.state, job.attempts, messages(job)) == ("queued", 0, 1)
    # Looking again in vain costs nothing.
    one_turn(campaign)
    assert shown(client, campaign)["state"] == "waiting"
    with transaction() as session:
        learn = session.scalars(select(Job.id).where(Job.kind == "learn")).one()
        session.execute(update(Job).where(Job.id == job.id).values(state="done"))
    run_job()
    with transaction() as session:
        assert session.get_one(Job, learn).state == "done"
        session.execute(update(Job).where(Job.id == job.id).values(state="queued"))
        # Its message counts as lost, and it gets another one.
        session.execute(update(OutboxMessage).values(dispatched_at=func.to_timestamp(0)))
    with transaction() as session:
        assert requeue_lost_jobs(session) >= 1
    assert messages(job) == 2
    one_turn(campaign)
    run = shown(client, campaign)
    assert (run["state"], run["stored"], run["message"]) == ("done", 8, "It gave all its answers.")
    assert reloaded(campaign.id).n_answers == 8


def test_a_crowd_does_not_wait_for_a_training_that_failed(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(
        owner, kind="bins", strategy="crowdster", budget=8, rounds=2, ready_share=0.0
    )
    started(client, campaign, answers=8)
    one_turn(campaign)
    with transaction() as session:
        failed = {"state": "failed", "error": "No memory."}
        session.execute(update(Job).where(Job.kind == "learn").values(**failed))
    one_turn(campaign)
    run = shown(client, campaign)
    assert run["state"] == "failed"
    assert run["message"].endswith("a job of the campaign has failed: No memory.")


def test_a_crowd_does_not_wait_forever_for_others(client: TestClient, owner: Account) -> None:
    """Somebody holds the last grid."""
    campaign = a_campaign(owner, budget=3, grids_per_assignment=3)
    started(client, campaign, annotators=2, answers=3)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    one_turn(campaign)
    assert shown(client, campaign)["state"] == "waiting"
    assert shown(client, campaign)["stored"] == 2
    job = crowd_job(campaign)
    with transaction() as session:
        row = session.get_one(Job, job.id)
        record = CrowdRecord.of(row)
        assert record.waiting_since is not None
        record.waiting_since -= 2 * PATIENCE
        record.keep(row)
    one_turn(campaign)
    run = shown(client, campaign)
    assert run["state"] == "done"
    assert "no more grids for its annotators" in run["message"]
    submit(client, who, lease)
    assert reloaded(campaign.id).n_answers == 3


def test_questions_that_are_added_later_end_a_crowd_in_words(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=20)
    started(client, campaign, answers=10)
    annotation = {"questions_before": [AGE]}
    path = f"/api/v1/campaigns/{campaign.id}/annotation"
    assert client.patch(path, json=annotation).status_code == 200
    one_turn(campaign)
    run = shown(client, campaign)
    assert run["state"] == "failed"
    assert "asks questions" in run["message"]


def test_an_unexpected_error_is_shown_and_tried_again(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=20)
    started(client, campaign, answers=10)

    def break_down() -> bool:
        raise RuntimeError("the crowd has left")

    run_crowd(crowd_job(campaign).id, break_down)
    run = shown(client, campaign)
    assert run["state"] == "queued"
    assert run["message"] == "It is tried again: RuntimeError: the crowd has left"
    for _ in range(2):
        run_crowd(crowd_job(campaign).id, break_down)
    run = shown(client, campaign)
    assert run["state"] == "failed"
    assert run["message"] == "RuntimeError: the crowd has left"
    started(client, campaign, answers=10)
    one_turn(campaign)
    assert shown(client, campaign)["stored"] == 10
