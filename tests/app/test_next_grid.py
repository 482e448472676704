"""The grid that an answer brings."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, text, update

from app.annotation.answers import Submission, submit_answer
from app.annotation.held import locked_with_all
from app.annotation.models import Annotator, Answer
from app.annotation.schemas import HandoutOut
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.invariants import broken_invariants
from testbed.system import wait_until
from tests.app.test_annotation import a_lease, a_session, an_answer, submit


def submit_and_go_on(client: TestClient, who: dict[str, str], lease: dict[str, Any]) -> Any:
    reply = submit(client, who, lease, key=f"key-{lease['id']}", next=True)
    assert reply.status_code == 200, reply.text
    return reply.json()["next"]


def is_somebody_waiting() -> bool:
    with transaction() as session:
        query = text("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return session.scalar(query) is not None


def leased() -> int:
    with transaction() as session:
        query = select(func.count()).select_from(Answer).where(Answer.state == "leased")
        return session.scalar(query) or 0


def test_an_answer_brings_the_next_grid_as_a_request_for_it_would(client: TestClient) -> None:
    who = a_session(client, a_campaign())
    lease = a_lease(client, who)
    following = submit_and_go_on(client, who, lease)
    assert (following["status"], following["answered"]) == ("leased", 1)
    assert following["lease"]["grid_id"] != lease["grid_id"]
    asked = client.post("/api/v1/annotate/leases", headers=who).json()
    assert asked == following


def test_an_answer_that_does_not_ask_for_it_leases_nothing(client: TestClient) -> None:
    who = a_session(client, a_campaign())
    assert submit(client, who, a_lease(client, who)).json()["next"] is None
    assert leased() == 0


def test_an_answer_that_is_sent_again_leases_no_second_grid(client: TestClient) -> None:
    who = a_session(client, a_campaign())
    lease = a_lease(client, who)
    following = submit_and_go_on(client, who, lease)
    assert submit_and_go_on(client, who, lease) is None
    assert leased() == 1
    assert a_lease(client, who) == following["lease"]


def test_the_last_answer_brings_no_grid(client: TestClient) -> None:
    who = a_session(client, a_campaign(grids_per_assignment=2))
    following = submit_and_go_on(client, who, a_lease(client, who))
    assert submit_and_go_on(client, who, following["lease"]) is None
    assert client.post("/api/v1/annotate/leases", headers=who).json()["status"] == "done"


def test_a_grid_that_was_leased_ahead_comes_first(client: TestClient) -> None:
    who = a_session(client, a_campaign(budget=40))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()
    assert ahead["status"] == "leased", ahead
    following = submit_and_go_on(client, who, lease)
    assert following["lease"]["id"] == ahead["lease"]["id"]
    assert leased() == 1
    assert a_lease(client, who) == following["lease"]


def test_a_grid_that_was_begun_in_another_tab_is_not_passed_over(client: TestClient) -> None:
    who = a_session(client, a_campaign(budget=40))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    draft = {"version": 1, "groups": [0] * len(ahead["images"])}
    client.put(f"/api/v1/annotate/leases/{ahead['id']}/draft", json=draft, headers=who)
    assert submit_and_go_on(client, who, lease) is None
    assert leased() == 1


@pytest.mark.parametrize(
    "change",
    [
        update(Campaign).values(state="paused"),
        update(Annotator).values(stopped_at=func.now()),
        update(Annotator).values(warned_at=func.now()),
        update(Campaign).values(annotation={"gold_share": 0.2}),
    ],
    ids=["paused", "stopped", "warned", "checked"],
)
def test_nothing_comes_at_once_where_something_else_is_to_be_said(
    client: TestClient, change: Any
) -> None:
    """Nor in campaigns with checks: who gets a grid at once would know that none is due."""
    who = a_session(client, a_campaign())
    lease = a_lease(client, who)
    with transaction() as session:
        session.execute(change)
    assert submit_and_go_on(client, who, lease) is None
    assert leased() == 0


@pytest.mark.parametrize("column", ["stopped_at", "warned_at"])
def test_who_is_stopped_or_warned_while_their_answer_waits_gets_no_grid(
    client: TestClient, column: str
) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    with ThreadPoolExecutor(1) as pool:
        with transaction() as session:
            locked_campaign(session, campaign.id)
            following = pool.submit(submit_and_go_on, client, who, lease)
            wait_until("the answer to wait for its turn", is_somebody_waiting)
            session.execute(update(Annotator).values({column: func.now()}))
        assert following.result() is None
    assert leased() == 0


def test_an_answer_is_stored_although_the_next_grid_cannot_be_shown(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    who = a_session(client, a_campaign())
    lease = a_lease(client, who)

    def fail(*_: object) -> HandoutOut:
        raise LookupError("no such image")

    submission = Submission(**an_answer(lease), elapsed_ms=None, trace=[])
    with transaction() as session:
        answer = session.get_one(Answer, uuid.UUID(lease["id"]))
        held = locked_with_all(session, answer.assignment_id, answer.id)
        stored = submit_answer(session, held, submission, "answer-0001", show_next=fail)
        assert stored.next is None
    assert "an answer could not bring the next grid" in caplog.text
    assert client.post("/api/v1/annotate/leases", headers=who).json()["answered"] == 1


def test_everybody_at_once_gets_grids_of_their_own(client: TestClient) -> None:
    campaign = a_campaign(budget=60, rounds=1, grids_per_assignment=10)
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(6)]
    seen: list[list[str]] = [[] for _ in people]

    def work(k: int) -> None:
        lease = a_lease(client, people[k])
        while True:
            seen[k].append(lease["grid_id"])
            following = submit_and_go_on(client, people[k], lease)
            if following is None:
                return
            lease = following["lease"]

    with ThreadPoolExecutor(len(people)) as pool:
        list(pool.map(work, range(len(people))))
    assert all(len(set(grids)) == len(grids) for grids in seen)
    assert sum(map(len, seen)) == 60
    assert set(broken_invariants()) <= {"nothing waits in the outbox"}
