"""Answers that are left out are asked again: exactly those, of others, within the budget."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import transaction
from app.jobs.models import Job
from app.results.dataset import load_learning_data
from testbed.builders import a_campaign, a_collection, reloaded
from testbed.invariants import INVARIANTS, broken_invariants
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_rounds import learned
from tests.support.asked import learn

SPAMMER, HONEST, OTHER = "annotator-000001", "annotator-000002", "annotator-000003"
# The tests leave jobs and messages that no worker is there for.
CHECKED = {
    sentence: query
    for sentence, query in INVARIANTS.items()
    if not {"job", "outbox", "waits"} & set(sentence.split())
}


def answer(client: TestClient, campaign: Campaign, key: str, n: int) -> dict[str, str]:
    """Let somebody answer so many grids."""
    who = a_session(client, campaign, key)
    for _ in range(n):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"
    return who


def decide(
    client: TestClient, campaign: Campaign, decision: str, position: int = 0, **body: Any
) -> None:
    address = f"/api/v1/campaigns/{campaign.id}/annotators/{position}/actions/{decision}"
    reply = client.post(address, json=body)
    assert reply.status_code == 204, reply.text
    assert not broken_invariants(CHECKED)


def price(client: TestClient, campaign: Campaign, position: int = 0) -> dict[str, Any]:
    address = f"/api/v1/campaigns/{campaign.id}/annotators/{position}/ask-again"
    found: dict[str, Any] = client.get(address).json()
    return found


def status(client: TestClient, who: dict[str, str]) -> str:
    return str(client.post("/api/v1/annotate/leases", headers=who).json()["status"])


def marks() -> list[tuple[int, str, bool, int | None]]:
    """Of each finished answer: its annotator, state, whether its place was opened again, and whose
    answer it replaces."""
    with transaction() as session:
        numbers = {each.id: each.position for each in session.scalars(select(Annotator))}
        answers = session.scalars(
            select(Answer).where(Answer.submitted_at.is_not(None)).order_by(Answer.submitted_at)
        ).all()
        whose = {each.id: numbers[each.annotator_id] for each in answers}
        return [
            (
                whose[each.id],
                each.state,
                each.reopened_at is not None,
                None if each.replaces is None else whose[each.replaces],
            )
            for each in answers
        ]


def counts(campaign: Campaign) -> tuple[str, int, int, int]:
    now = reloaded(campaign.id)
    return now.state, now.n_answers, now.n_surplus, now.n_reopened


def a_campaign_of(owner: Account, **plan: Any) -> Campaign:
    return a_campaign(owner, a_collection(owner), grids_per_assignment=20, **plan)


def test_left_out_answers_are_asked_again_of_others_and_no_more(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=10, rounds=1)
    answer(client, campaign, SPAMMER, 3)
    answer(client, campaign, HONEST, 2)
    decide(client, campaign, "leave_out", reason="Random answers.")
    assert counts(campaign) == ("running", 2, 3, 3)
    # The same decision twice opens nothing twice.
    decide(client, campaign, "leave_out")
    assert counts(campaign) == ("running", 2, 3, 3)
    answer(client, campaign, HONEST, 8)
    assert counts(campaign) == ("running", 10, 3, 0)
    found = marks()
    assert [mark for mark in found if mark[0] == 0] == [(0, "surplus", True, None)] * 3
    assert sum(mark == (1, "submitted", False, 0) for mark in found) == 3
    with transaction() as session:
        (data,) = load_learning_data(session, reloaded(campaign.id)).rounds
        assert len(data.images) == 10
        assert set(data.annotators) == {1}


def test_the_spammer_gets_no_more_and_what_they_still_send_fills_no_place(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 1)
    who = a_session(client, campaign, SPAMMER)
    lease = a_lease(client, who)
    decide(client, campaign, "leave_out")
    # Their lease is free for others at once, and a draft does not take it back.
    draft = {"version": 1, "draft": {"groups": []}}
    client.put(f"/api/v1/annotate/leases/{lease['id']}/draft", json=draft, headers=who)
    answer(client, campaign, HONEST, 4)
    assert counts(campaign) == ("running", 4, 1, 0)
    reply = submit(client, who, lease)
    assert reply.json()["status"] == "surplus"
    assert counts(campaign) == ("running", 4, 2, 0)
    assert status(client, who) == "stopped"
    with transaction() as session:
        first = session.scalars(select(Assignment).order_by(Assignment.id)).first()
        assert first is not None
        assert first.n_answered == 2
    assert not broken_invariants(CHECKED)


def test_a_late_answer_of_the_spammer_leaves_the_place_to_others(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=2, rounds=1)
    who = answer(client, campaign, SPAMMER, 1)
    lease = a_lease(client, who)
    decide(client, campaign, "leave_out")
    assert submit(client, who, lease).json()["status"] == "surplus"
    assert counts(campaign) == ("running", 0, 2, 1)
    answer(client, campaign, HONEST, 2)
    assert counts(campaign) == ("running", 2, 2, 0)


def test_an_answer_that_lost_its_place_is_acknowledged_as_before(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner)
    who = a_session(client, campaign, SPAMMER)
    lease = a_lease(client, who)
    before = submit(client, who, lease, "the-key-of-it").json()
    decide(client, campaign, "leave_out")
    assert submit(client, who, lease, "the-key-of-it").json() == before


def test_leaving_out_without_asking_again_and_asking_later(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 4)
    decide(client, campaign, "leave_out", ask_again=False)
    assert counts(campaign) == ("running", 4, 0, 0)
    assert price(client, campaign)["answers"] == 4
    decide(client, campaign, "leave_out", ask_again=True)
    assert counts(campaign) == ("running", 0, 4, 4)
    (score,) = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert (score["asked_again"], score["asked_again_open"]) == (4, 4)
    assert score["asked_again_at"] is not None


def test_a_finished_campaign_runs_again_for_these_places_only_and_ends(
    client: TestClient, owner: Account
) -> None:
    # It was finished early: three grids were never answered, and stay so.
    campaign = a_campaign_of(owner, budget=8, rounds=2)
    answer(client, campaign, SPAMMER, 2)
    answer(client, campaign, HONEST, 3)
    other = a_session(client, campaign, OTHER)
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    assert status(client, other) == "done"
    decide(client, campaign, "leave_out")
    assert counts(campaign) == ("running", 3, 2, 2)
    learn()
    assert counts(campaign)[0] == "running"
    answer(client, campaign, HONEST, 2)
    assert counts(campaign) == ("running", 5, 2, 0)
    assert status(client, a_session(client, campaign, OTHER)) == "done"
    learn()
    assert counts(campaign) == ("finished", 5, 2, 0)
    now = reloaded(campaign.id)
    assert now.budget == 8
    assert now.finished_at is not None
    assert not now.reopened_only
    assert not broken_invariants(CHECKED)
    with transaction() as session:
        events = set(session.scalars(select(AuditEvent.action)))
        assert {"campaign.reopened", "campaign.asked_again"} <= events
        assert not session.scalars(select(Job).where(Job.state == "queued")).all()


def test_two_people_get_one_place_of_a_grid_that_wants_more(
    client: TestClient, owner: Account
) -> None:
    """In a campaign that was finished early, a grid may lack more than what is asked again."""
    campaign = a_campaign_of(owner, budget=6, rounds=1, answers_per_grid=3)
    answer(client, campaign, SPAMMER, 1)
    answer(client, campaign, HONEST, 1)
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    decide(client, campaign, "leave_out")
    people = [a_session(client, campaign, f"annotator-00001{k}") for k in range(3)]
    assert [status(client, who) for who in people] == ["leased", "wait", "wait"]
    submit(client, people[0], a_lease(client, people[0]))
    assert status(client, people[1]) == "done"
    assert counts(campaign) == ("running", 2, 1, 0)


def test_rounds_that_were_full_are_asked_again_while_the_next_goes_on(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=9, rounds=3)
    answer(client, campaign, SPAMMER, 3)
    learned(campaign, 1)
    answer(client, campaign, HONEST, 1)
    decide(client, campaign, "leave_out")
    with transaction() as session:
        states = select(Round.state, Round.n_answers).order_by(Round.number)
        assert session.execute(states).first() == ("reopened", 0)
        data = load_learning_data(session, reloaded(campaign.id))
        assert data.n_full == 1
    # The first grids that others get are those that are asked again.
    answer(client, campaign, OTHER, 3)
    assert counts(campaign)[3] == 0
    with transaction() as session:
        numbers = select(Round.number).join(Grid).join(Answer).where(Answer.replaces.is_not(None))
        assert list(session.scalars(numbers)) == [1, 1, 1]
        assert session.execute(states).first() == ("closed", 3)
    assert not broken_invariants(CHECKED)


def test_a_campaign_that_is_good_enough_asks_for_lost_places_only(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=9, rounds=3)
    answer(client, campaign, SPAMMER, 3)
    learned(campaign, 1)
    decide(client, campaign, "leave_out")
    learned(campaign, 1, enough=True)
    assert counts(campaign) == ("running", 0, 3, 3)
    answer(client, campaign, OTHER, 3)
    assert [replaced is not None for *_, replaced in marks()].count(True) == 3
    # Nothing else was agreed to.
    assert status(client, a_session(client, campaign, HONEST)) != "leased"
    learned(campaign, 1)
    assert counts(campaign) == ("finished", 3, 3, 0)
    assert not broken_invariants(CHECKED)


def test_the_last_model_waits_for_what_is_asked_again(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_of(owner, budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 2)
    answer(client, campaign, HONEST, 2)
    decide(client, campaign, "leave_out")
    # It was requested when the round was full.
    learned(campaign, 1)
    assert counts(campaign)[0] == "running"
    answer(client, campaign, HONEST, 2)
    learned(campaign, 1)
    assert counts(campaign)[0] == "finished"


@pytest.mark.parametrize("n_again", [0, 1])
def test_taking_the_annotator_back_withdraws_what_nobody_has_claimed(
    client: TestClient, owner: Account, n_again: int
) -> None:
    campaign = a_campaign_of(owner, budget=5, rounds=1)
    answer(client, campaign, SPAMMER, 4)
    decide(client, campaign, "leave_out")
    honest = answer(client, campaign, HONEST, n_again)
    lease = a_lease(client, honest)
    decide(client, campaign, "restore")
    # One place was answered or not, and one is claimed.
    assert counts(campaign) == ("running", 3, 1 + n_again, 1)
    submit(client, honest, lease)
    assert counts(campaign) == ("running", 4, 1 + n_again, 0)
    # Left out once more, only what still has its place is asked again.
    decide(client, campaign, "leave_out")
    assert counts(campaign) == ("running", 1 + n_again, 4, 3 - n_again)


def test_taking_back_ends_a_campaign_that_ran_for_nothing_else(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 4)
    learned(campaign, 1)
    assert counts(campaign) == ("finished", 4, 0, 0)
    decide(client, campaign, "leave_out")
    assert counts(campaign) == ("running", 0, 4, 4)
    decide(client, campaign, "restore")
    assert counts(campaign) == ("finished", 4, 0, 0)
    assert marks() == [(0, "submitted", False, None)] * 4


def test_someone_who_filled_the_places_may_be_left_out_in_turn(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign_of(owner, budget=2, rounds=1)
    for position, key in enumerate((SPAMMER, HONEST, OTHER)):
        answer(client, campaign, key, 2)
        if key != OTHER:
            decide(client, campaign, "leave_out", position)
    assert counts(campaign) == ("running", 2, 4, 0)
    replaced = [whose for *_, whose in marks()]
    assert replaced == [None, None, 0, 0, 1, 1]


def test_what_it_costs_is_known_before(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, budget=25, rounds=1, reward_cents=60, grids_per_assignment=10)
    for key in (SPAMMER, HONEST):
        answer(client, campaign, key, 10)
    expected = {"answers": 10, "open": 0, "reopens": False, "cost_cents": 60, "currency": "USD"}
    assert price(client, campaign) == expected
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    assert price(client, campaign) == {**expected, "reopens": True}
    decide(client, campaign, "leave_out")
    assert price(client, campaign)["answers"] == 0
    progress = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()
    assert (progress["asked_again"], progress["asked_again_open"]) == (10, 10)
    client.post(f"/api/v1/campaigns/{campaign.id}/actions/finish")
    # What is still open would be asked again, too.
    answers = {**expected, "reopens": True, "open": 10, "cost_cents": 120}
    assert price(client, campaign, 1) == answers
    address = f"/api/v1/campaigns/{campaign.id}/annotators/7/ask-again"
    assert client.get(address).status_code == 404
