"""Submissions of one campaign at the same moment, and changes of the campaign in between."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Uuid, literal, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.annotation.held import locked_with_all
from app.annotation.models import Annotator, Answer
from app.annotation.quality import decide
from app.campaigns.changes import change_campaign
from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign, set_annotation
from app.core.database import advisory_key, advisory_key_of, transaction
from app.recruitment.people import forget_people
from testbed.builders import a_campaign, a_collection, an_account, reloaded
from testbed.invariants import broken_invariants
from tests.app.test_annotation import a_lease, a_session, submit

PEOPLE = 6


def hold(session: Session, lease_id: str) -> None:
    """As a submission that has everything but the counts."""
    lease = session.get_one(Answer, uuid.UUID(lease_id))
    locked_with_all(session, lease.assignment_id, lease.id)


def test_a_submission_waits_for_no_other_that_has_not_counted(client: TestClient) -> None:
    campaign = a_campaign(budget=20)
    who = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(3)]
    leases = [a_lease(client, person) for person in who]
    with transaction() as session:
        hold(session, leases[0]["id"])
        for k in (1, 2):
            assert submit(client, who[k], leases[k]).status_code == 200
        assert reloaded(campaign.id).n_answers == 2
    assert submit(client, who[0], leases[0]).status_code == 200
    assert reloaded(campaign.id).n_answers == 3


CHANGES: dict[str, Callable[[Session, Campaign], object]] = {
    "lock": lambda session, campaign: locked_campaign(session, campaign.id),
    "edit": lambda session, campaign: get_campaign(
        session, session.get_one(Account, campaign.owner_id), campaign.id, edit=True
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_who_changes_a_campaign_waits_for_submissions(client: TestClient, name: str) -> None:
    campaign = a_campaign(budget=20)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    with transaction() as session:
        hold(session, lease["id"])
        with transaction() as other:
            other.execute(text("SET LOCAL lock_timeout = '50ms'"))
            with pytest.raises(OperationalError, match="lock timeout"):
                CHANGES[name](other, campaign)
            other.rollback()
    with transaction() as session:
        CHANGES[name](session, campaign)
    assert submit(client, who, lease).status_code == 200


def n_deadlocks() -> int:
    query = text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    with transaction() as session:
        session.execute(text("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()"))
        return session.scalar(query) or 0


def change(campaign: Campaign, turn: int) -> None:
    """What requesters do to a campaign with people at work."""
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        own = session.get_one(Campaign, campaign.id)
        match turn % 4:
            case 0:
                set_annotation(session, owner, campaign.id, {"instructions": f"Turn {turn}."})
            case 1:
                decide(session, owner, own, 0, "leave_out" if turn % 8 == 1 else "restore")
            case 2:
                change_campaign(session, owner, campaign.id, {"learn_every": 5 + turn})
            case 3:
                forget_people(session, owner, campaign.id)


def test_answers_and_changes_at_once_are_all_counted_without_a_deadlock(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=30),
        budget=90,
        rounds=3,
        learn_every=10,
        grids_per_assignment=30,
        annotation={"known_attribute": "colour", "gold_share": 0.2, "repeat_share": 0.2},
    )
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(PEOPLE)]
    before, is_over = n_deadlocks(), threading.Event()

    def work(who: dict[str, str]) -> int:
        done = 0
        while done < 20:
            handout = client.post("/api/v1/annotate/leases", headers=who).json()
            if handout["status"] != "leased":
                break
            reply = submit(client, who, handout["lease"])
            assert reply.status_code == 200, reply.text
            done += 1
        return done

    def disturb() -> int:
        turn = 0
        while not is_over.wait(0.01):
            change(campaign, turn)
            turn += 1
        return turn

    with ThreadPoolExecutor(PEOPLE + 1) as pool:
        disturbing = pool.submit(disturb)
        try:
            done = list(pool.map(work, people))
        finally:
            is_over.set()
        assert disturbing.result() > 4
    assert sum(done) > 30
    assert n_deadlocks() == before
    # No dispatcher is here to send the request for a training.
    assert set(broken_invariants()) <= {"nothing waits in the outbox"}
    with transaction() as session:
        finished = session.scalars(
            select(Annotator.position).join(Answer).where(Answer.submitted_at.is_not(None))
        ).all()
    assert len(finished) == sum(done)


@pytest.mark.usefixtures("client")
@given(st.uuids())
@settings(deadline=None)
def test_the_database_numbers_queues_as_the_code_does(identity: uuid.UUID) -> None:
    with transaction() as session:
        number = session.scalar(select(advisory_key_of(literal(identity, Uuid()))))
    assert number == advisory_key(identity)
