"""Gold grids, hidden repeats, and what is done about careless annotators."""

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.accounts.models import AuditEvent
from app.annotation.checks import due
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Campaign, Grid
from app.core.database import locked, transaction
from app.jobs.models import Job
from app.jobs.service import active_job, claim_job, complete_job, request_job
from app.results.dataset import load_learning_data
from app.results.models import Model
from testbed.builders import COLOURS, a_campaign, a_model, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, expire, submit

CHECKS = {"known_attribute": "colour", "gold_share": 0.2, "repeat_share": 0.2}


def a_checked_campaign(**changes: Any) -> Campaign:
    annotation = {**CHECKS, **changes.pop("annotation", {})}
    values = {"budget": 200, "grid_size": 12, "grids_per_assignment": 60, **changes}
    return a_campaign(annotation=annotation, **values)


def work(
    client: TestClient, campaign: Campaign, n_grids: int, kind: str, key: str = "annotator-000001"
) -> dict[str, str]:
    """Answer grids by colour, at random, or all in one group."""
    who = a_session(client, campaign, key)
    rng = np.random.default_rng(7)
    for _ in range(n_grids):
        handout = client.post("/api/v1/annotate/leases", headers=who).json()
        if handout["status"] == "warning":
            client.post("/api/v1/annotate/steps", json={"step": "warning"}, headers=who)
            handout = client.post("/api/v1/annotate/leases", headers=who).json()
        if handout["status"] != "leased":
            return who
        lease = handout["lease"]
        images = [shown["image"] for shown in lease["images"]]
        groups = {
            "honest": [image % len(COLOURS) for image in images],
            "random": [int(group) for group in rng.integers(0, 4, len(images))],
            "lazy": [0] * len(images),
        }[kind]
        reply = submit(client, who, lease, groups=groups, descriptions=[], elapsed_ms=30_000)
        assert reply.status_code == 200, reply.text
    return who


def the_annotator(position: int = 0) -> Annotator:
    with transaction() as session:
        return session.scalars(select(Annotator).where(Annotator.position == position)).one()


def roles() -> list[str]:
    with transaction() as session:
        query = select(Grid.role).join(Answer).order_by(Answer.submitted_at)
        return list(session.scalars(query))


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.5])
def test_checks_are_due_at_their_share_at_places_nobody_can_guess(share: float) -> None:
    places = Counter[int]()
    for _ in range(40):
        who = uuid.uuid4()
        had = 0
        for index in range(200):
            now = due(who, "gold", share, index)
            assert now - had in (0, 1)
            if now > had:
                places[index % round(1 / share)] += 1
            had = now
        assert abs(had - 200 * share) <= 1
    assert len(places) >= 0.5 / share
    assert due(uuid.uuid4(), "gold", 0, 100) == 0


def test_checks_are_mixed_in_hidden_and_outside_of_budget_and_learning(client: TestClient) -> None:
    campaign = a_checked_campaign()
    who = work(client, campaign, 30, "honest")
    counted = Counter(roles())
    assert counted["gold"] == 6
    assert counted["repeat"] == 6
    now = reloaded(campaign.id)
    assert now.n_answers == counted["ask"] == 18
    with transaction() as session:
        data = load_learning_data(session, now)
        assert sum(len(groupings.images) for groupings in data.rounds) == 18
        assert data.begun is not None
        assert len(data.begun) == 18
        assignment = session.scalars(select(Assignment)).one()
        assert assignment.n_answered == 30
    lease = a_lease(client, who)
    assert not {"role", "truth", "repeats"} & set(lease)


def test_a_repeat_shows_an_earlier_grid_in_other_places(client: TestClient) -> None:
    campaign = a_checked_campaign(annotation={"gold_share": 0})
    work(client, campaign, 20, "honest")
    with transaction() as session:
        repeats = session.scalars(select(Grid).where(Grid.role == "repeat")).all()
        assert len({repeat.repeats for repeat in repeats}) == len(repeats) == 4
        for repeat in repeats:
            earlier = session.get_one(Grid, repeat.repeats)
            assert sorted(repeat.images) == sorted(earlier.images)
            assert repeat.images != earlier.images
        answers = session.scalars(select(Answer).where(Answer.agreement.is_not(None)))
        assert [answer.agreement for answer in answers] == [1.0] * 4


def test_a_repeat_names_the_answer_that_it_repeats(client: TestClient) -> None:
    owner = an_account()
    campaign = a_checked_campaign(owner=owner, annotation={"gold_share": 0})
    work(client, campaign, 20, "honest")
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/answers"
    answers = client.get(f"{base}?replay=true").json()["items"]
    repeats = [answer for answer in answers if answer["role"] == "repeat"]
    assert len(repeats) == 4
    assert {answer["replay"]["repeats"] for answer in answers if answer not in repeats} == {None}
    for repeat in repeats:
        earlier = client.get(f"{base}/{repeat['replay']['repeats']}").json()
        assert sorted(earlier["images"]) == sorted(repeat["images"])
        assert (earlier["role"], earlier["annotator"]) == ("ask", repeat["annotator"])


@pytest.mark.parametrize(
    ("kind", "verdicts", "is_stopped"),
    # Which grids are checks is chance: after the measures, another may blur what was plain before.
    [
        ("honest", ("good",), False),
        ("random", ("chance", "unknown"), True),
        ("lazy", ("one_group",), True),
    ],
)
def test_careless_annotators_are_stopped_warned_and_left_out_and_still_paid(
    client: TestClient, kind: str, verdicts: tuple[str, ...], is_stopped: bool
) -> None:
    owner = an_account()
    campaign = a_checked_campaign(
        owner=owner, annotation={"measures": ["warn", "stop", "leave_out"]}
    )
    # Random groups may agree by luck for some time: work ends once the annotator is stopped.
    who = work(client, campaign, 60 if is_stopped else 30, kind)
    person = the_annotator()
    for at in (person.warned_at, person.stopped_at, person.left_out_at):
        assert (at is not None) == is_stopped
    handout = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (handout["status"] == "stopped") == is_stopped
    sign_in(client, owner)
    (score,) = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert score["verdict"] in verdicts
    exported = client.get(f"/api/v1/campaigns/{campaign.id}/export/quality.csv").text.splitlines()
    assert exported[1].startswith(f"0,{score['n_answers']},{score['verdict']},")
    if is_stopped:
        assert handout["completion_code"]
        with transaction() as session:
            assignment = session.scalars(select(Assignment)).one()
            assert (assignment.state, assignment.n_answered) == ("completed", score["n_answers"])
            with pytest.raises(ValueError, match="no answers"):
                load_learning_data(session, reloaded(campaign.id))


def test_what_was_done_can_be_taken_back_and_the_requesters_word_stands(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_checked_campaign(owner=owner, annotation={"measures": ["leave_out", "stop"]})
    who = work(client, campaign, 30, "random")
    assert the_annotator().left_out_at is not None
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/annotators/0/actions"
    assert client.post(f"{address}/restore").status_code == 204
    person = the_annotator()
    assert (person.stopped_at, person.left_out_at) == (None, None)
    with transaction() as session:
        assert load_learning_data(session, reloaded(campaign.id)).rounds
        assert session.scalars(select(Job)).all()
    work(client, campaign, 15, "random")
    assert the_annotator().stopped_at is None
    assert client.post(f"{address}/stop").status_code == 204
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "stopped"
    assert client.post(f"{address.replace('/0/', '/9/')}/stop").status_code == 404
    assert client.post(f"{address}/sack").status_code == 422


def test_a_warning_is_shown_once_and_may_be_given_again(client: TestClient) -> None:
    owner = an_account()
    campaign = a_checked_campaign(owner=owner)
    who = a_session(client, campaign)
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/annotators/0/actions"
    for _ in range(2):
        client.post(f"{address}/warn")
        reply = client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
        assert reply.json()["stage"] == "warning"
        reply = client.post("/api/v1/annotate/steps", json={"step": "warning"}, headers=who)
        assert reply.json()["stage"] == "work"
        client.post(f"{address}/restore")


def test_others_at_the_same_grid_are_a_measure_too(client: TestClient) -> None:
    owner = an_account()
    campaign = a_checked_campaign(
        owner=owner, budget=30, answers_per_grid=3, annotation={"gold_share": 0, "repeat_share": 0}
    )
    for k, kind in enumerate(("honest", "honest", "random")):
        work(client, campaign, 10, kind, f"annotator-00000{k}")
    sign_in(client, owner)
    scores = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    honest, _, random = (score["consensus"] for score in scores)
    assert honest["mean"] > 0.4 > honest["band"]
    assert random["mean"] < 0.2
    assert honest["n"] == random["n"] == 20


def test_hasty_annotators_are_seen(client: TestClient) -> None:
    owner = an_account()
    campaign = a_checked_campaign(owner=owner)
    for k, milliseconds in enumerate((30_000, 32_000, 2_000)):
        who = a_session(client, campaign, f"annotator-00000{k}")
        submit(client, who, a_lease(client, who), elapsed_ms=milliseconds)
    sign_in(client, owner)
    scores = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert [score["hasty"] for score in scores] == [False, False, True]
    assert [score["seconds"] for score in scores] == [30.0, 32.0, 2.0]


def test_honest_single_groups_stop_nobody_who_answers_gold_rightly(client: TestClient) -> None:
    campaign = a_checked_campaign(annotation={"measures": ["warn", "stop", "leave_out"]})
    who = a_session(client, campaign)
    for _ in range(25):
        lease = a_lease(client, who)
        images = [shown["image"] for shown in lease["images"]]
        with transaction() as session:
            answer = session.get_one(Answer, uuid.UUID(lease["id"]))
            is_gold = session.get_one(Grid, answer.grid_id).role == "gold"
        groups = [image % len(COLOURS) if is_gold else 0 for image in images]
        submit(client, who, lease, groups=groups, descriptions=[])
    person = the_annotator()
    assert (person.warned_at, person.stopped_at, person.left_out_at) == (None, None, None)


def test_a_warning_comes_before_the_next_grid(client: TestClient) -> None:
    campaign = a_checked_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    body = {"version": 1, "groups": [0] * 12, "descriptions": []}
    client.put(f"/api/v1/annotate/leases/{lease['id']}/draft", json=body, headers=who)
    with transaction() as session:
        session.scalars(select(Annotator)).one().warned_at = datetime.now(UTC)
    reply = client.post("/api/v1/annotate/leases", headers=who).json()
    assert reply["status"] == "leased", "what is at work is finished first"
    submit(client, who, reply["lease"])
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "warning"
    client.post("/api/v1/annotate/steps", json={"step": "warning"}, headers=who)
    a_lease(client, who)


def test_annotators_at_the_same_moment_get_the_same_gold_grid(client: TestClient) -> None:
    campaign = a_checked_campaign(annotation={"gold_share": 0.5, "repeat_share": 0})
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(12)]
    for _ in range(2):
        with ThreadPoolExecutor(12) as pool:
            leases = list(pool.map(lambda who: a_lease(client, who), people))
        for who, lease in zip(people, leases, strict=True):
            submit(client, who, lease)
    with transaction() as session:
        golds = session.scalars(select(Grid).where(Grid.role == "gold")).all()
    assert len({grid.number for grid in golds}) == len(golds)
    assert len(golds) <= 2
    assert all(len(grid.images) == campaign.grid_size for grid in golds)


def test_a_check_that_is_being_submitted_is_not_waited_for(client: TestClient) -> None:
    """A submission holds its answer when it asks for the assignment, which a claim holds."""
    campaign = a_checked_campaign(annotation={"gold_share": 0.5, "repeat_share": 0})
    who = a_session(client, campaign)
    while roles() != ["gold"]:
        lease = a_lease(client, who)
        if roles() == []:
            submit(client, who, lease)
    expire(lease)
    with transaction() as session:
        locked(session, Answer, uuid.UUID(lease["id"]))
        reply = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (reply["status"], reply["lease"]) == ("wait", None)
    assert a_lease(client, who)["id"] == lease["id"]


def test_a_check_given_back_is_not_made_up_for(client: TestClient) -> None:
    campaign = a_checked_campaign(annotation={"gold_share": 0.5, "repeat_share": 0})
    who = a_session(client, campaign)
    for _ in range(12):
        lease = a_lease(client, who)
        client.post(f"/api/v1/annotate/leases/{lease['id']}/return", headers=who)
    with transaction() as session:
        given_back = Counter(session.scalars(select(Grid.role).join(Answer)))
    assert given_back["gold"] <= 1


def test_leaving_somebody_out_while_a_model_is_made_asks_for_another(client: TestClient) -> None:
    owner = an_account()
    campaign = a_checked_campaign(owner=owner)
    work(client, campaign, 4, "honest")
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job = request_job(session, campaign.id, 4)
    with transaction() as session:
        claimed = claim_job(session, job.id, "a worker")
        assert claimed is not None
    sign_in(client, owner)
    client.post(f"/api/v1/campaigns/{campaign.id}/annotators/0/actions/leave_out")
    with transaction() as session:
        complete_job(session, job.id, claimed.epoch, n_learned=99, n_answers=4)
        assert active_job(session, campaign.id) is not None


def test_a_decision_keeps_its_reason_and_the_audit_log_has_all_of_them(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=20)
    who = a_session(client, campaign)
    submit(client, who, a_lease(client, who))
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/annotators"
    for decision, reason in (("stop", " one group,\nagain "), ("restore", "my mistake")):
        address = f"{base}/0/actions/{decision}"
        assert client.post(address, json={"reason": reason}).status_code == 204
        [score] = client.get(base).json()["items"]
        assert score["reason"] == reason.strip()
    with transaction() as session:
        query = select(AuditEvent).where(AuditEvent.action.startswith("annotator."))
        entries = [
            (event.action, event.account_id, event.details["reason"], event.details["annotator"])
            for event in session.scalars(query.order_by(AuditEvent.id))
        ]
    assert entries == [
        ("annotator.stop", owner.id, "one group,\nagain", 0),
        ("annotator.restore", owner.id, "my mistake", 0),
    ]
    long = client.post(f"{base}/0/actions/stop", json={"reason": "x" * 1001})
    assert long.status_code == 422


def a_model_that_agrees(campaign: Campaign, agreement: float | None, structure: str) -> None:
    """The newest model knows one annotator, with this agreement."""
    with transaction() as session:
        a_model(session, campaign)
        session.execute(
            update(Model).values(
                insight={
                    "attributes": [],
                    "structure": structure,
                    "held_out_answers": 30,
                    "annotators": [{"annotator": 0, "n_answers": 9, "agreement": agreement}],
                }
            )
        )


@pytest.mark.parametrize(
    ("agreement", "structure", "is_stopped"),
    [
        (0.75, "attributes", False),
        (0.16, "attributes", True),
        (None, "attributes", True),
        (0.75, "none", True),
    ],
)
def test_the_model_vouches_for_who_groups_repeats_by_another_attribute(
    client: TestClient, agreement: float | None, structure: str, is_stopped: bool
) -> None:
    owner = an_account()
    campaign = a_checked_campaign(
        owner=owner, annotation={"measures": ["warn", "stop", "leave_out"]}
    )
    a_model_that_agrees(campaign, agreement, structure)
    work(client, campaign, 60 if is_stopped else 30, "random")
    person = the_annotator()
    assert (person.stopped_at is not None) == is_stopped
    assert (person.warned_at is not None) == is_stopped
    sign_in(client, owner)
    (score,) = client.get(f"/api/v1/campaigns/{campaign.id}/annotators").json()["items"]
    assert score["verdict"] in (("chance", "unknown") if is_stopped else ("good", "unknown"))
