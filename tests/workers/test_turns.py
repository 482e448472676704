"""Nobody's work stands in line behind all of somebody else's."""

from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.garbage import discard_below
from app.collections.imports import start_import
from app.collections.models import Collection, CollectionImport
from app.core.database import locked, transaction
from app.core.outbox import OutboxMessage
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import DRY_RUN, LEARN, request_job
from testbed.builders import a_campaign, a_collection, an_account

SECOND = timedelta(seconds=1)
pytestmark = pytest.mark.usefixtures("environment")


def relay() -> None:
    # Reads settings when it is imported.
    from workers.dispatcher import relay_messages

    while relay_messages(limit=3):
        continue


def asked_for(owner: Account, n: int, kind: str = LEARN) -> list[UUID]:
    """Jobs of so many campaigns."""
    collection = a_collection(owner)
    jobs = []
    for number in range(n):
        campaign = a_campaign(owner, collection, name=f"{kind} {number}")
        with transaction() as session:
            locked(session, Campaign, campaign.id)
            jobs.append(request_job(session, campaign.id, watermark=1, kind=kind).id)
    return jobs


def handed_over() -> set[UUID | None]:
    """Jobs and imports of which Celery was told."""
    with transaction() as session:
        is_dispatched = OutboxMessage.dispatched_at.is_not(None)
        return set(session.scalars(select(OutboxMessage.job_id).where(is_dispatched)))


def set_state(job_id: UUID, state: str) -> None:
    with transaction() as session:
        session.execute(update(Job).where(Job.id == job_id).values(state=state))


def test_an_account_with_many_trainings_leaves_the_others_their_turn() -> None:
    greedy = asked_for(an_account("greedy@example.org"), 5)
    [quiet] = asked_for(an_account("quiet@example.org"), 1)
    relay()
    assert handed_over() == {*greedy[:2], quiet}
    assert get_settings().trainings_per_account == 2


def test_the_next_training_goes_when_one_has_ended() -> None:
    jobs = asked_for(an_account(), 4)
    relay()
    set_state(jobs[0], "running")
    relay()
    assert handed_over() == set(jobs[:2])
    set_state(jobs[0], "done")
    set_state(jobs[1], "failed")
    relay()
    assert handed_over() == set(jobs)


def test_a_dry_run_waits_for_no_training() -> None:
    owner = an_account()
    trainings, dry_runs = asked_for(owner, 3), asked_for(owner, 2, DRY_RUN)
    relay()
    assert handed_over() == {*trainings[:2], dry_runs[0]}


def test_a_job_whose_message_was_lost_does_not_wait_for_itself() -> None:
    from app.jobs.service import requeue_lost_jobs

    """Nor does it let others of its account before it: Celery may have the first one still."""
    jobs = asked_for(an_account(), 5)
    relay()
    for n_dispatched in (2, 3, 4):
        with transaction() as session:
            long_ago = OutboxMessage.dispatched_at - get_settings().redispatch_seconds * SECOND
            session.execute(update(OutboxMessage).values(dispatched_at=long_ago))
        with transaction() as session:
            assert requeue_lost_jobs(session) == 2
        relay()
        with transaction() as session:
            dispatched = session.scalars(
                select(OutboxMessage.job_id).where(OutboxMessage.dispatched_at.is_not(None))
            )
            assert Counter(dispatched) == dict.fromkeys(jobs[:2], n_dispatched)


def test_imports_of_an_account_go_one_after_the_other() -> None:
    greedy, quiet = an_account("greedy@example.org"), an_account("quiet@example.org")
    first, second = an_import(greedy), an_import(greedy)
    third = an_import(quiet)
    relay()
    assert handed_over() == {first, third}
    with transaction() as session:
        ended = update(CollectionImport).where(CollectionImport.id == first)
        session.execute(ended.values(state="cancelled"))
    relay()
    assert handed_over() == {first, second, third}


def an_import(owner: Account) -> UUID:
    collection = a_collection(owner, n=1)
    rows = b"url\nhttps://example.org/a.png\n"
    with transaction() as session:
        collection = session.get_one(Collection, collection.id)
        return start_import(session, owner, collection, manifest=("list.csv", rows)).id


def test_what_is_of_no_account_never_waits() -> None:
    asked_for(an_account(), 4)
    with transaction() as session:
        discard_below(session, "images/nothing")
    relay()
    with transaction() as session:
        waiting = session.scalars(
            select(OutboxMessage.job_id).where(OutboxMessage.dispatched_at.is_(None))
        ).all()
    assert len(waiting) == 2
    assert None not in waiting
