"""Loops that serve everybody go on, whatever stands in a row."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from redis import Redis
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.garbage import discard_below, remove_discarded
from app.collections.models import Discard
from app.core.database import Base, locked, transaction
from app.core.events import MOMENT_SECONDS, campaign_changed, channel_of
from app.core.outbox import OutboxMessage
from app.core.settings import get_settings
from app.core.storage import delete_below, list_objects, put_object
from app.core.sweeps import each_apart
from app.core.timestamps import EARLIEST, LATEST
from app.jobs.models import Job
from app.jobs.service import request_job, requeue_lost_jobs
from app.recruitment.accounts import ChannelClient
from app.recruitment.accounts import channel_client as speaker_as_ever
from app.recruitment.channels.spec import PlatformEvent
from app.recruitment.models import ChannelCall, Payment, Recruitment
from app.recruitment.reconcile import POLLS
from app.recruitment.steps import take_events, work_once
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

Table = TypeVar("Table", bound=Base)
pytestmark = pytest.mark.usefixtures("environment")
PAST = datetime.now(UTC) - timedelta(hours=1)


def sweep_all() -> None:
    # Reads settings when it is imported.
    from workers.dispatcher import SWEEPS, relay_messages, run_sweeps

    for sweeps in SWEEPS.values():
        run_sweeps(sweeps)
    while relay_messages():
        continue


def a_queued_job(campaign: Campaign) -> UUID:
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        return request_job(session, campaign.id, watermark=1).id


def two_queued_jobs() -> tuple[UUID, UUID]:
    """Of two requesters."""
    owners = [an_account(f"{name}@example.org") for name in ("greedy", "quiet")]
    first, second = (a_queued_job(a_campaign(owner)) for owner in owners)
    return first, second


def change(table: Any, row_id: UUID, **values: object) -> None:
    with transaction() as session:
        session.execute(update(table).where(table.id == row_id).values(**values))


def as_it_is(table: type[Table], row_id: UUID) -> Table:
    with transaction() as session:
        return session.get_one(table, row_id)


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_job_of_an_unknown_kind_fails_alone(state: str) -> None:
    strange, other = two_queued_jobs()
    change(Job, strange, kind="magic", state=state, lease_until=PAST, attempts=1)
    change(Job, other, state="running", lease_until=PAST, attempts=1)
    with transaction() as session:
        session.execute(text("DELETE FROM outbox"))
    sweep_all()
    job = as_it_is(Job, strange)
    assert (job.state, job.finished_at is not None) == ("failed", True)
    assert "no task for jobs of kind 'magic'" in (job.error or "")
    assert as_it_is(Job, other).state == "queued"
    with transaction() as session:
        assert session.scalars(select(OutboxMessage.job_id)).all() == [other]


@pytest.mark.parametrize(
    ("written", "read"),
    [("infinity", LATEST), ("294000-01-01Z", LATEST), ("-infinity", EARLIEST),
     ("0044-03-15Z BC", EARLIEST)],
)  # fmt: skip
def test_a_time_that_python_has_not_stops_no_sweep(written: str, read: datetime) -> None:
    strange, other = two_queued_jobs()
    for job_id in (strange, other):
        change(Job, job_id, state="running", lease_until=PAST, attempts=1)
    with transaction() as session:
        query = text("UPDATE job SET created_at = :at, started_at = :at WHERE id = :id")
        session.execute(query, {"at": written, "id": strange})
    sweep_all()
    assert as_it_is(Job, other).state == "queued"
    assert (as_it_is(Job, strange).state, as_it_is(Job, strange).started_at) == ("queued", read)


def test_a_sweep_that_fails_leaves_the_others_their_turn() -> None:
    from workers import dispatcher

    seen = []

    def fail() -> None:
        raise KeyError("magic")

    dispatcher.run_sweeps([fail, lambda: seen.append("second")])
    assert seen == ["second"]


def test_live_pages_hear_of_a_change_when_it_is_there() -> None:
    """A savepoint that is released is not yet a change that others see."""
    campaign_id = uuid4()

    def deal(key: int) -> None:
        campaign_changed(session, campaign_id)
        if key == 2:
            raise KeyError("magic")

    with Redis.from_url(get_settings().redis_url) as client, client.pubsub() as messages:
        messages.subscribe(channel_of(campaign_id))
        assert messages.get_message(timeout=5) is not None
        with transaction() as session:
            each_apart(session, [1, 2, 3], deal, lambda key, reason: None)
            assert messages.get_message(timeout=3 * MOMENT_SECONDS) is None
        assert messages.get_message(timeout=5) is not None


def test_a_lost_connection_ends_a_sweep_and_parks_nothing() -> None:
    parked: list[int] = []

    def deal(key: int) -> None:
        raise OperationalError("SELECT 1", None, ConnectionError("gone"))

    with transaction() as session, pytest.raises(OperationalError):
        each_apart(session, [1, 2], deal, lambda key, reason: parked.append(key))
    assert parked == []


def test_a_message_that_cannot_be_written_is_parked() -> None:
    job_id = a_queued_job(a_campaign())
    with transaction() as session:
        rows = [{"task": "likewise.learn", "arguments": strange} for strange in ([1], "x", 3)]
        session.execute(insert(OutboxMessage), rows)
    sweep_all()
    with transaction() as session:
        sent = session.scalars(select(OutboxMessage).order_by(OutboxMessage.id)).all()
    assert all(message.dispatched_at is not None for message in sent)
    assert [message.job_id for message in sent if message.refused is None] == [job_id]
    assert sum("arguments are not an object" in (message.refused or "") for message in sent) == 3


def test_a_note_that_names_no_folder_is_parked_and_the_others_are_dealt_with() -> None:
    put_object("models/a/b.json", b"{}")
    put_object("models/c/d.json", b"{}")
    with transaction() as session:
        discard_below(session, "", "models/a")
    with transaction() as session:
        remove_discarded(session)
    assert list_objects("models") == ["models/c/d.json"]
    with transaction() as session:
        [left] = session.scalars(select(Discard)).all()
    assert "is not the name of a folder" in (left.refused or "")
    with transaction() as session:
        assert remove_discarded(session) == 0


@pytest.mark.parametrize("prefix", ["", "/", ".", "..", "../", " / "])
def test_everything_is_never_removed(prefix: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a folder"):
        delete_below(prefix)


def test_a_delivery_that_cannot_be_begun_or_recorded_fails_alone() -> None:
    webhook = a_webhook(an_account("hooks@example.org"))
    deliveries = [a_delivery(webhook) for _ in range(3)]
    change(Delivery, deliveries[0], attempts=2**31 - 1, due_at=PAST)
    change(Delivery, deliveries[1], history=5, due_at=PAST)
    while deliver_next():
        continue
    first, second, third = (as_it_is(Delivery, delivery_id) for delivery_id in deliveries)
    assert [delivery.state for delivery in (first, second, third)] == [
        "failed",
        "failed",
        "pending",
    ]
    assert third.attempts == 1
    for delivery in (first, second):
        assert delivery.ended_at is not None
        assert "Error" in delivery.history[0]["said"]


def recruiting(name: str) -> Recruitment:
    owner = an_account(f"{name}@example.org")
    return a_recruitment(owner, a_campaign(owner))


def test_a_call_that_cannot_be_made_is_put_off_and_does_not_hold_up_the_others() -> None:
    strange, other = recruiting("one"), recruiting("two")
    with transaction() as session:
        for recruitment, action, due_at in (
            (strange, "exclude", PAST - timedelta(hours=1)),
            (other, "notify", PAST),
        ):
            session.add(ChannelCall(recruitment_id=recruitment.id, action=action, due_at=due_at))
    for _ in range(3):
        work_once()
    with transaction() as session:
        calls = {call.action: call for call in session.scalars(select(ChannelCall))}
    assert calls["exclude"].state == "due"
    assert calls["exclude"].due_at > datetime.now(UTC)
    assert "KeyError" in calls["exclude"].why
    assert calls["notify"].attempts >= 1


def test_a_payment_that_cannot_be_begun_is_put_off_and_says_why() -> None:
    payments = []
    for name, unsure in (("one", False), ("two", True)):
        recruitment = recruiting(name)
        payment = a_payment(recruitment, a_submission(recruitment))
        change(Payment, payment.id, state="due", due_at=PAST, attempts=2**31 - 1, unsure=unsure)
        payments.append(payment.id)
    for _ in range(4):
        work_once()
    for payment_id, unsure in zip(payments, (False, True), strict=True):
        owed = as_it_is(Payment, payment_id)
        # Nothing is given up that may have been paid, and nothing is paid twice.
        assert (owed.state, owed.unsure) == ("due", unsure)
        assert owed.due_at > datetime.now(UTC)
        assert "out of range" in owed.why


def test_a_recruitment_that_cannot_be_looked_at_is_put_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strange, other = recruiting("one"), recruiting("two")
    for recruitment, at in ((strange, PAST), (other, PAST + timedelta(minutes=1))):
        change(Recruitment, recruitment.id, poll_at=at)
    asked = []

    def channel_client(session: Session, recruitment: Recruitment) -> ChannelClient:
        asked.append(recruitment.id)
        if recruitment.id == strange.id:
            raise TypeError("settings of no shape")
        return speaker_as_ever(session, recruitment)

    monkeypatch.setattr("app.recruitment.reconcile.channel_client", channel_client)
    assert POLLS.claim() is not None
    assert asked == [strange.id, other.id]
    seen = as_it_is(Recruitment, strange.id)
    assert seen.poll_error == "TypeError: settings of no shape"
    assert seen.poll_at is not None
    assert seen.poll_at > datetime.now(UTC)


def test_an_event_of_no_time_keeps_no_other_from_being_taken_in() -> None:
    recruitment = recruiting("one")
    a_submission(recruitment)
    change(Recruitment, recruitment.id, poll_at=None)
    before_all = datetime.min.replace(tzinfo=UTC)
    events = [
        PlatformEvent("HIT1", "A1", given_back_at=before_all),
        PlatformEvent("HIT1", "A1"),
    ]
    with transaction() as session:
        take_events(session, events)
    assert as_it_is(Recruitment, recruitment.id).poll_at is not None


def test_more_lost_jobs_than_a_sweep_takes_are_left_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.core.sweeps.ROWS_AT_ONCE", 2)
    owner = an_account()
    jobs = [a_queued_job(a_campaign(owner, name=f"Campaign {number}")) for number in range(5)]
    with transaction() as session:
        session.execute(update(Job).values(state="running", attempts=1, lease_until=PAST))
    for n in (2, 2, 1):
        with transaction() as session:
            assert requeue_lost_jobs(session) == n
    assert {as_it_is(Job, job_id).state for job_id in jobs} == {"queued"}
