"""Whatever stands in the rows that background loops sweep, the work of others goes on."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Select, func, insert, or_, select, text

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.models import Collection, CollectionImport, Discard
from app.core.database import Base, locked, transaction
from app.core.outbox import OutboxMessage
from app.core.sweeps import ROWS_AT_ONCE
from app.features.models import FeatureSet
from app.jobs.models import Job
from app.jobs.service import request_job
from app.recruitment.channel import ChannelUnavailable
from app.recruitment.models import ChannelCall, Payment, Recruitment, Submission
from app.recruitment.steps import poll_once, work_once
from app.webhooks.delivery import deliver_next
from app.webhooks.models import Delivery
from testbed.builders import (
    a_campaign,
    a_delivery,
    a_payment,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
)
from tests.support.random_rows import RandomRows, before
from tests.support.scale import FULL

pytestmark = pytest.mark.usefixtures("environment")
N_ROWS, N_SUBMISSIONS = (10_000, 1_000) if FULL else (60, 3)
CALLS_AT_ONCE = 200
NOW = datetime.now(UTC) - timedelta(hours=1)
TABLES: tuple[type[Base], ...] = (
    Job, OutboxMessage, CollectionImport, FeatureSet, Discard, Delivery, ChannelCall, Payment,
)  # fmt: skip


def given(greedy: Campaign, recruitment: Recruitment, submissions: list[UUID], hook: UUID) -> Any:
    """What makes rows due, and somebody's; all else is by chance."""
    of = {
        "campaign_id": greedy.id, "recruitment_id": recruitment.id, "webhook_id": hook,
        "collection_id": greedy.collection_id, "due_at": before(NOW), "lease_until": before(NOW),
        "posting_id": None, "assignment_id": None, "annotator_id": None, "dispatched_at": None,
        "refused": None, "submission_id": lambda rng: rng.choice(submissions),
    }  # fmt: skip
    states: dict[str, Any] = {
        "job.state": lambda rng: rng.choice(("running", "queued")),
        # One at a time may be active for a collection.
        "collection_import.state": lambda rng: rng.choice(("running", "queued", "failed", "done")),
        "collection_import.kind": lambda rng: rng.choice(("prefix", "manifest")),
        "feature_set.state": lambda rng: rng.choice(("running", "queued", "failed", "done")),
        "webhook_delivery.state": "pending",
        "channel_call.state": lambda rng: rng.choice(("due", "running")),
        "channel_call.submission_id": lambda rng: rng.choice((None, *submissions)),
        "payment.state": lambda rng: rng.choice(("due", "running")),
        "payment.kind": lambda rng: rng.choice(("reward", "bonus", "screen_out")),
        "payment.paid_at": None,
        # Rows name each other's objects nowhere; a prefix of all is refused.
        "discard.collection_id": lambda rng: rng.choice((None, greedy.collection_id)),
    }
    columns = {
        f"{table.__table__.name}.{name}": value  # type: ignore[attr-defined]
        for table in TABLES
        for name, value in of.items()
        if name in table.__table__.columns
    }
    return {**columns, **states}


@pytest.mark.parametrize("seed", range(1 if FULL else 2))
def test_rows_by_chance_stop_nobody_elses_work(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    _without_network(monkeypatch)
    greedy_owner, quiet_owner = an_account("greedy@example.org"), an_account("quiet@example.org")
    greedy, quiet = a_campaign(greedy_owner), a_campaign(quiet_owner)
    recruitment = a_recruitment(greedy_owner, greedy)
    # What one submission is due is done one after the other, each after a while.
    submissions = submissions_like(a_submission(recruitment), N_SUBMISSIONS)
    hook = a_webhook(greedy_owner)
    values = given(greedy, recruitment, submissions, hook.id)
    rows = RandomRows(seed, values)
    for table in TABLES:
        assert rows.write(table, N_ROWS) == N_ROWS, table
    job, delivery, call, payment = _work_of(quiet_owner, quiet)
    _sweep(datetime.now(UTC), greedy_owner)
    with transaction() as session:
        # Nobody works here: after a while a job is sent again.
        messages = session.scalars(select(OutboxMessage).where(OutboxMessage.job_id == job)).all()
        assert any(message.dispatched_at for message in messages)
        assert not any(message.refused for message in messages)
        assert session.get_one(Job, job).state == "queued"
        assert session.get_one(Delivery, delivery).attempts >= 1
        assert session.get_one(ChannelCall, call).attempts >= 1
        assert "Nothing is reachable" in session.get_one(Payment, payment).why
        unexplained = text("SELECT count(*) FROM job WHERE state = 'failed' AND error IS NULL")
        assert session.scalar(unexplained) == 0


def submissions_like(submission: Submission, n: int) -> list[UUID]:
    """The submission, and copies by other people."""
    columns = {
        column.key: getattr(submission, column.key) for column in Submission.__table__.columns
    }
    copies = [
        {**columns, "id": uuid4(), "external_id": f"copy-{number}", "person_hash": f"{number}"}
        for number in range(1, n)
    ]
    with transaction() as session:
        added = session.scalars(insert(Submission).returning(Submission.id), copies)
        return [submission.id, *added]


def _without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> Any:
        raise ChannelUnavailable("Nothing is reachable in this test.")

    def no_reply(*_: object) -> Any:
        raise ValueError("Nothing is reachable in this test.")

    monkeypatch.setattr("app.recruitment.accounts.open_channel", unreachable)
    monkeypatch.setattr("app.webhooks.delivery._post", no_reply)


def _work_of(owner: Any, campaign: Campaign) -> tuple[UUID, UUID, UUID, UUID]:
    """A job, a delivery, a call and a payment of somebody else, all due after those by chance."""
    delivery = a_delivery(a_webhook(owner))
    recruitment = a_recruitment(owner, campaign)
    payment = a_payment(recruitment, a_submission(recruitment)).id
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job = request_job(session, campaign.id, watermark=1).id
        call = ChannelCall(recruitment_id=recruitment.id, action="notify")
        session.add(call)
        session.flush()
        owed = session.get_one(Payment, payment)
        owed.state, owed.due_at = "due", datetime.now(UTC) - timedelta(seconds=1)
        return job, delivery, call.id, payment


def _sweep(begun: datetime, greedy: Account) -> None:
    # Reads settings when it is imported.
    from workers.dispatcher import SWEEPS, relay_messages, run_sweeps

    for _ in range(20 + N_ROWS // ROWS_AT_ONCE):
        for sweeps in SWEEPS.values():
            run_sweeps(sweeps)
        while relay_messages():
            continue
        _until_idle(deliver_next, begun, Delivery)
        _until_idle(work_once, begun, ChannelCall, Payment)
        poll_once()
        if _everything_is_dealt_with(begun, greedy):
            return
    raise AssertionError("Something is due still.")


def _until_idle(once: Callable[[], bool], begun: datetime, *tables: type[Base]) -> None:
    """Call `once` until it has had nothing to do twenty times in a row (a claim that parks its row
    also finds nothing, although more may be due), or until CALLS_AT_ONCE calls leave as many rows
    as before of those that were due when the test began: what was put off comes due again during
    the test, and what waits for it never has its turn."""
    left = _n_due(begun, tables)
    while True:
        idle = 0
        for _ in range(CALLS_AT_ONCE):
            idle = 0 if once() else idle + 1
            if idle == 20:
                return
        before, left = left, _n_due(begun, tables)
        if left == before:
            return


def _n_due(begun: datetime, tables: Sequence[type[Base]]) -> int:
    with transaction() as session:
        return sum(session.scalar(_still_due(table, begun)) or 0 for table in tables)


def _still_due(table: Any, begun: datetime) -> Select[int]:
    """How many rows of a table nobody has looked at: looking ends a row or puts it off."""
    unfinished = table.state.in_(("pending", "due", "running"))
    return select(func.count()).select_from(table).where(unfinished, table.due_at <= begun)


def _everything_is_dealt_with(begun: datetime, greedy: Account) -> bool:
    """Nothing that is due waits: what cannot be done is parked, or put off. Only what would be more
    of an account than its share waits for its turn (workers/turns.py)."""
    of_greedy = (
        select(Job.id)
        .join(Campaign)
        .where(Campaign.owner_id == greedy.id)
        .union(
            *(
                select(table.id)
                .join(Collection, Collection.id == table.collection_id)
                .where(Collection.owner_id == greedy.id)
                for table in (CollectionImport, FeatureSet)
            )
        )
    )
    with transaction() as session:
        waiting = [
            _still_due(Delivery, begun),
            select(func.count()).select_from(OutboxMessage).where(
                OutboxMessage.dispatched_at.is_(None),
                or_(OutboxMessage.job_id.is_(None), OutboxMessage.job_id.not_in(of_greedy)),
            ),
            select(func.count()).select_from(Job).where(
                Job.state == "running", Job.lease_until < func.now()
            ),
        ]  # fmt: skip
        return not any(session.scalar(query) for query in waiting)
