"""A limit on grids that a person skips."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import func, select, text

from app.annotation.leases import lease_next_grid
from app.annotation.models import Answer
from app.annotation.sessions import session_of
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import wait_until
from tests.app.test_annotation import a_lease, a_session, expire, submit


def a_limited_campaign(most: int, **plan: int) -> Campaign:
    values: dict[str, object] = {"annotation": {"most_skips": most}, **plan}
    return a_campaign(None, None, budget=40, **values)


def skip(client: TestClient, who: dict[str, str], lease: dict[str, Any]) -> tuple[int, str]:
    reply = client.post(f"/api/v1/annotate/leases/{lease['id']}/return", headers=who)
    return reply.status_code, reply.text


def n_skipped() -> int:
    with transaction() as session:
        query = select(func.count()).select_from(Answer).where(Answer.state == "returned")
        return session.scalar(query) or 0


def test_a_person_skips_as_many_grids_as_are_allowed(client: TestClient) -> None:
    who = a_session(client, a_limited_campaign(2))
    for left in (2, 1):
        lease = a_lease(client, who)
        assert lease["skips_left"] == left
        assert skip(client, who, lease)[0] == 204
    lease = a_lease(client, who)
    assert lease["skips_left"] == 0
    status, text = skip(client, who, lease)
    assert (status, "no_more_skips" in text, "2 sets" in text) == (409, True, True)
    # The grid is still theirs, and another person has skips of their own.
    assert a_lease(client, who)["id"] == lease["id"]
    assert submit(client, who, lease).status_code == 200


def test_a_grid_that_is_skipped_twice_counts_once(client: TestClient) -> None:
    who = a_session(client, a_limited_campaign(2))
    lease = a_lease(client, who)
    assert [skip(client, who, lease)[0] for _ in range(3)] == [204] * 3
    assert a_lease(client, who)["skips_left"] == 1


def test_each_person_and_each_assignment_has_skips_of_its_own(client: TestClient) -> None:
    campaign = a_limited_campaign(1, grids_per_assignment=1)
    who = a_session(client, campaign)
    skip(client, who, a_lease(client, who))
    assert a_lease(client, a_session(client, campaign, "annotator-000002"))["skips_left"] == 1
    submit(client, who, a_lease(client, who))
    again = a_session(client, campaign)
    assert a_lease(client, again)["skips_left"] == 1


def test_two_tabs_skip_no_more_than_one(client: TestClient) -> None:
    who = a_session(client, a_limited_campaign(1))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda each: skip(client, who, each)[0], (lease, ahead)))
    assert sorted(replies) == [204, 409]
    assert n_skipped() == 1


def test_there_is_no_limit_by_default(client: TestClient) -> None:
    who = a_session(client, a_campaign(budget=40))
    for _ in range(5):
        lease = a_lease(client, who)
        assert lease["skips_left"] is None
        assert skip(client, who, lease)[0] == 204


def test_a_claim_does_not_wait_for_a_skip_that_waits_for_its_assignment(
    client: TestClient,
) -> None:
    """The grid's lease has run out, so that the same person could get it again."""
    who = a_session(client, a_limited_campaign(2))
    lease = a_lease(client, who)
    expire(lease)
    with ThreadPoolExecutor(1) as pool:
        with transaction() as session:
            answer = session.get_one(Answer, uuid.UUID(lease["id"]))
            person = session_of(session, answer.assignment_id, lock=True)
            skipped = pool.submit(skip, client, who, lease)
            wait_until("the skip to wait", is_somebody_waiting)
            handout = lease_next_grid(session, person)
            assert handout.grid is not None
            assert handout.grid.id != answer.grid_id
        assert skipped.result()[0] == 204


def is_somebody_waiting() -> bool:
    with transaction() as session:
        query = text("SELECT 1 FROM pg_locks WHERE NOT granted")
        return session.scalar(query) is not None
