"""Rounds: the next one lies ready, opens when one is full, and is renewed by its own model."""

import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select, text

from app.annotation.leases import lease_next_grid
from app.annotation.models import Answer
from app.annotation.sessions import assignment_of_token, session_of
from app.campaigns.models import Campaign, Grid, Round
from app.campaigns.plan import CampaignPlan
from app.campaigns.rounds import Batch, batches_wanted, schedule_round
from app.campaigns.service import create_campaign
from app.core.database import get_engine, transaction
from app.core.errors import InvalidInput
from app.jobs.models import Job
from app.jobs.service import claim_job
from app.results.publish import TrainedModel, publish_model
from app.strategies.grids import NextGrids
from testbed.builders import a_campaign, a_collection, an_account, reloaded
from tests.app.test_annotation import a_lease, a_session, submit


def rounds() -> list[Round]:
    with transaction() as session:
        return list(session.scalars(select(Round).order_by(Round.number)))


def grids(number: int) -> list[Grid]:
    with transaction() as session:
        query = select(Grid).join(Round).where(Round.number == number).order_by(Grid.number)
        return list(session.scalars(query))


def local_grids(n: int, first: int = 0) -> NextGrids:
    return NextGrids.of_purpose(np.arange(6)[None, :] + first + np.arange(n)[:, None], "local")


def learned(campaign: Campaign, n_full: int, *batches: Batch, enough: bool = False) -> None:
    """What a worker does with the job that waits."""
    with transaction() as session:
        job_id = session.scalars(select(Job.id).where(Job.state == "queued")).one()
        job = claim_job(session, job_id, "worker")
        assert job is not None
    n = campaign.n_images
    model = TrainedModel(
        embedding=np.zeros((n, 2)),
        map_positions=np.zeros((n, 2)),
        metrics={},
        artifact_key="models/test",
        round_number=n_full,
        n_full=n_full,
        batches=list(batches),
        n_answers=n_full,
        enough=enough,
        settings=reloaded(campaign.id).settings,
    )
    with transaction() as session:
        publish_model(session, campaign.id, job_id, job.epoch, model)


def fill(client: TestClient, who: dict[str, str], n: int) -> None:
    for _ in range(n):
        assert submit(client, who, a_lease(client, who)).json()["status"] == "stored"


def test_nobody_waits_while_a_round_is_learned(client: TestClient) -> None:
    campaign = a_campaign(budget=6, rounds=3)
    who = a_session(client, campaign)
    assert [(round_.state, len(grids(round_.number))) for round_ in rounds()] == [
        ("open", 2),
        ("ready", 2),
    ]
    fill(client, who, 2)
    assert [round_.state for round_ in rounds()] == ["closed", "open"]
    fill(client, who, 1)
    learned(campaign, 1, Batch(2, local_grids(2), 1, 0.4), Batch(3, local_grids(2, 9), 1, 0.5))

    # One grid of the second round was begun before: it stays, and one of the new ones comes.
    assert [(grid.basis, grid.n_answers) for grid in grids(2)] == [(0, 1), (1, 0)]
    second = rounds()[1]
    assert second.contents == {"local": 1, "earlier": 1}
    assert second.locality == pytest.approx(0.4)
    assert [(round_.state, round_.basis) for round_ in rounds()] == [
        ("closed", 0),
        ("open", 1),
        ("ready", 1),
    ]
    assert rounds()[0].model_version == 1
    fill(client, who, 1)
    assert [round_.state for round_ in rounds()] == ["closed", "closed", "open"]


def test_a_round_whose_grids_are_all_begun_keeps_its_locality(client: TestClient) -> None:
    campaign = a_campaign(budget=4, rounds=2, answers_per_grid=2)
    first, other = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    fill(client, first, 2)
    fill(client, other, 1)
    learned(campaign, 1, Batch(2, local_grids(1), 1, 0.4))
    assert [(grid.basis, grid.purpose) for grid in grids(2)] == [(0, "random")]
    assert rounds()[1].locality is None


@pytest.mark.usefixtures("environment")
def test_the_first_rounds_ask_no_set_of_images_twice() -> None:
    # Pairs out of six images: fifteen sets, of which random grids soon repeat one.
    owner = an_account()
    a_campaign(owner, a_collection(owner, n=6), grid_size=2, budget=10, rounds=2)
    sets = [frozenset(grid.images) for number in (1, 2) for grid in grids(number)]
    assert len(set(sets)) == len(sets) == 10


def test_nobody_waits_for_the_last_answer_of_a_round(client: TestClient) -> None:
    campaign = a_campaign(budget=6, rounds=3)
    slow, quick = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    held = a_lease(client, slow)
    fill(client, quick, 3)
    assert [(round_.state, round_.n_answers) for round_ in rounds()] == [("open", 1), ("closed", 2)]
    assert client.post("/api/v1/annotate/leases", headers=quick).json()["status"] == "wait"
    with transaction() as session:
        assert batches_wanted(session, reloaded(campaign.id)) == []
    assert submit(client, slow, held).json()["status"] == "stored"
    with transaction() as session:
        assert batches_wanted(session, reloaded(campaign.id)) == [(3, 2)]
    learned(campaign, 2, Batch(3, local_grids(2), 2, 0.4))
    fill(client, quick, 2)


def test_with_nothing_held_ready_annotators_wait_for_the_newest_model(client: TestClient) -> None:
    campaign = a_campaign(budget=4, rounds=2, ready_share=0.0)
    who = a_session(client, campaign)
    fill(client, who, 2)
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "wait"
    learned(campaign, 1, Batch(2, local_grids(2), 1, 0.4))
    assert [(round_.state, round_.basis) for round_ in rounds()] == [("closed", 0), ("open", 1)]
    fill(client, who, 2)
    # Nothing is left to do, whether or not the last model comes about.
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "done"
    learned(campaign, 2)
    assert reloaded(campaign.id).state == "finished"


def test_who_has_used_up_a_ready_last_round_waits_for_the_rest(client: TestClient) -> None:
    campaign = a_campaign(budget=8, rounds=2, ready_share=0.25)
    who = a_session(client, campaign)
    fill(client, who, 5)
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "wait"
    learned(campaign, 1, Batch(2, local_grids(4), 1))
    assert Counter(grid.basis for grid in grids(2)) == {0: 1, 1: 3}
    fill(client, who, 3)


def test_a_model_is_asked_for_what_it_can_better(client: TestClient) -> None:
    campaign = a_campaign(budget=12, rounds=4, ready_share=0.5)
    who = a_session(client, campaign)
    with transaction() as session:
        assert batches_wanted(session, campaign) == []
    fill(client, who, 3)
    with transaction() as session:
        assert batches_wanted(session, campaign) == [(2, 3), (3, 2)]
    learned(campaign, 1, Batch(2, local_grids(3), 1), Batch(3, local_grids(2), 1))
    with transaction() as session:
        assert batches_wanted(session, campaign) == []
    fill(client, who, 3)
    with transaction() as session:
        assert batches_wanted(session, campaign) == [(3, 3), (4, 2)]


def renew_second_round(campaign: Campaign) -> None:
    with transaction() as session:
        # Whoever waits for a lock that an annotator holds fails.
        session.execute(text("SET LOCAL lock_timeout = '3s'"))
        held = session.get_one(Campaign, campaign.id, with_for_update={"key_share": True})
        schedule_round(session, held, Batch(2, local_grids(20), 1))


def grids_of_leases() -> dict[str, int]:
    """Which grid each lease is of."""
    with transaction() as session:
        query = select(Answer.id, Answer.grid_id).where(Answer.state == "leased")
        return {str(lease): grid for lease, grid in session.execute(query)}


def test_a_grid_handed_out_or_being_handed_out_is_not_replaced(client: TestClient) -> None:
    campaign = a_campaign(budget=40, rounds=2, grids_per_assignment=50)
    early, late = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    fill(client, early, 20)
    kept = [a_lease(client, early)["id"]]
    token = late["Authorization"].removeprefix("Bearer ")
    with transaction() as session:
        handout = lease_next_grid(session, session_of(session, assignment_of_token(token)))
        assert handout.lease is not None
        kept.append(str(handout.lease.id))
        # The grid is locked, and its lease not to be seen yet.
        renew_second_round(campaign)
    assert set(grids_of_leases()) == set(kept)
    assert [grid.basis for grid in grids(2)] == [0, 0, *[1] * 18]
    assert {grid.id for grid in grids(2)[:2]} == set(grids_of_leases().values())
    for who, lease in zip((early, late), kept, strict=True):
        again = a_lease(client, who)
        assert again["id"] == lease
        assert submit(client, who, again).json()["status"] == "stored"


def test_a_grid_handed_out_while_others_are_looked_for_is_not_replaced(client: TestClient) -> None:
    campaign = a_campaign(budget=40, rounds=2, grids_per_assignment=50)
    who = a_session(client, campaign)
    fill(client, who, 20)
    looking = threading.Event()

    # The search for grids that nobody has begun sees the moment it began, however long it takes.
    def slow_down(_c: Any, _k: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        if "FOR UPDATE OF grid SKIP LOCKED" in statement and "LIMIT" not in statement:
            looking.set()
            clause = "WHERE grid.round_id"
            assert clause in statement
            statement = statement.replace(
                clause, "WHERE pg_sleep(0.05) IS NOT NULL AND grid.round_id"
            )
        return statement, parameters

    event.listen(get_engine(), "before_cursor_execute", slow_down, retval=True)
    try:
        renewing = threading.Thread(target=renew_second_round, args=(campaign,))
        renewing.start()
        assert looking.wait(5)
        time.sleep(0.3)
        lease = a_lease(client, who)
        assert renewing.is_alive()
        renewing.join()
    finally:
        event.remove(get_engine(), "before_cursor_execute", slow_down)
    assert set(grids_of_leases()) == {lease["id"]}
    assert [grid.basis for grid in grids(2)] == [0, *[1] * 19]
    assert submit(client, who, lease).json()["status"] == "stored"


@pytest.mark.usefixtures("environment")
def test_a_share_beyond_one_is_refused() -> None:
    owner = an_account()
    collection = a_collection(owner)
    with transaction() as session, pytest.raises(InvalidInput, match="ready_share"):
        create_campaign(
            session, owner, CampaignPlan(name="C", collection_id=collection.id, ready_share=1.5)
        )
