"""The clock is set an hour back or on: nothing is lost, paid or done twice, and nobody waits as
much longer."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from limits import RateLimitItemPerMinute
from redis import Redis
from sqlalchemy import func, select, update

from app.accounts.models import BrowserSession
from app.accounts.sessions import is_confirmed
from app.annotation.models import Answer, Assignment
from app.annotation.sessions import BadToken, assignment_of_token
from app.campaigns.models import Campaign
from app.core import throttle
from app.core.database import transaction
from app.core.errors import LostLease
from app.core.outbox import OutboxMessage
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.service import (
    claim_job,
    complete_job,
    fail_job,
    latest_job,
    renew_lease,
    request_job,
    requeue_lost_jobs,
    retry_failed_job,
)
from app.operations.clock import shorten_waits
from app.recruitment.links import is_at_work
from app.recruitment.models import ChannelCall, Payment, Recruitment
from app.webhooks.delivery import deliver_next
from app.webhooks.models import Delivery
from likewise.client import BadSignature, verify_webhook
from testbed.builders import (
    a_campaign,
    a_delivery,
    a_payment,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
    reloaded,
    sign_in,
)
from tests.app.test_annotation import a_lease, a_session, submit
from tests.conftest import forget_settings
from tests.support.clock import HOUR, clock_off_by, clock_was_set
from tests.support.receiver import a_receiver

BACK, ON = -HOUR, HOUR
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def no_attempts_so_far(environment: dict[str, str]) -> None:
    Redis.from_url(get_settings().redis_url).flushdb()


def sweep() -> int:
    with transaction() as session:
        return shorten_waits(session)


def left(time: Any) -> timedelta:
    """How far ahead the only value of a column lies, by the database's clock."""
    with transaction() as session:
        remaining: timedelta = session.execute(select(time - func.now())).scalar_one()
        return remaining


def change(table: Any, **values: Any) -> None:
    with transaction() as session:
        session.execute(update(table).values(**values))


# --- annotators ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [BACK, ON])
def test_who_is_at_work_goes_on_and_hands_in(client: TestClient, by: timedelta) -> None:
    campaign = a_campaign(budget=2)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    draft = {"version": 1, "groups": [0] * len(lease["images"]), "descriptions": ["a"]}
    path = f"/api/v1/annotate/leases/{lease['id']}"
    assert client.put(f"{path}/draft", json=draft, headers=who).status_code == 200
    clock_was_set(by)
    sweep()
    again = a_lease(client, who)
    assert (again["id"], again["draft_version"]) == (lease["id"], 1)
    key = str(uuid.uuid4())
    assert submit(client, who, again, key).json()["status"] == "stored"
    # Sent again, as a page does that has seen no reply.
    assert submit(client, who, again, key).json()["status"] == "stored"
    assert reloaded(campaign.id).n_answers == 1


def test_a_grid_that_was_left_is_free_after_the_usual_time(client: TestClient) -> None:
    campaign = a_campaign(budget=1)
    gone, waiting = (a_session(client, campaign, f"annotator-{k:06d}") for k in range(2))
    lease = a_lease(client, gone)
    clock_was_set(BACK)
    assert left(Answer.lease_expires_at) > HOUR
    assert sweep() >= 1
    usual = timedelta(seconds=get_settings().lease_seconds)
    assert usual - MINUTE < left(Answer.lease_expires_at) <= usual
    assert client.post("/api/v1/annotate/leases", headers=waiting).json()["status"] == "wait"
    clock_was_set(usual + MINUTE)
    taken = a_lease(client, waiting)
    assert taken["grid_id"] == lease["grid_id"]
    assert submit(client, waiting, taken).json()["status"] == "stored"
    # Whoever comes back with it later is thanked all the same.
    assert submit(client, gone, lease).json()["status"] == "surplus"


def test_leases_of_now_are_left_as_they_are(client: TestClient) -> None:
    a_lease(client, a_session(client, a_campaign()))
    before = left(Answer.lease_expires_at)
    assert sweep() == 0
    assert before - MINUTE < left(Answer.lease_expires_at) <= before


@pytest.mark.parametrize("by", [BACK, ON])
def test_annotators_tokens_stay_good(client: TestClient, by: timedelta) -> None:
    who = a_session(client, a_campaign())
    with clock_off_by(by):
        assert client.post("/api/v1/annotate/leases", headers=who).status_code == 200


def test_a_token_ends_after_its_time_by_whatever_clock_it_was_made(client: TestClient) -> None:
    token = a_session(client, a_campaign())["Authorization"].removeprefix("Bearer ")
    with clock_off_by(timedelta(hours=11, minutes=59)):
        assignment_of_token(token)
    with clock_off_by(timedelta(hours=12, minutes=1)), pytest.raises(BadToken):
        assignment_of_token(token)


def test_who_has_left_does_not_take_a_place_for_an_hour(client: TestClient) -> None:
    a_session(client, a_campaign())
    change(Assignment, handed_in_at=func.now())
    clock_was_set(BACK)
    sweep()
    assert left(Assignment.seen_at) <= timedelta(0)
    assert left(Assignment.handed_in_at) <= timedelta(0)
    clock_was_set(timedelta(seconds=get_settings().lease_seconds) + MINUTE)
    # An hour later by the clock, the row would still be new.
    assert left(Assignment.created_at) > timedelta(0)
    with transaction() as session:
        assert session.scalar(select(func.count()).where(is_at_work())) == 0


# --- jobs ------------------------------------------------------------------------------------


def a_job(campaign: Campaign) -> uuid.UUID:
    with transaction() as session:
        return request_job(session, campaign.id, watermark=1).id


def claimed(job_id: uuid.UUID) -> Job | None:
    with transaction() as session:
        return claim_job(session, job_id, "worker")


def requeued() -> int:
    with transaction() as session:
        return requeue_lost_jobs(session)


def ended(job: Job) -> None:
    with transaction() as session:
        complete_job(session, job.id, job.epoch, n_learned=1, n_answers=1)


@pytest.fixture
def running(environment: dict[str, str]) -> Job:
    job = claimed(a_job(a_campaign()))
    assert job is not None
    return job


def test_a_training_goes_on_after_an_hour_back(running: Job) -> None:
    clock_was_set(BACK)
    sweep()
    assert requeued() == 0
    with transaction() as session:
        renew_lease(session, running.id, running.epoch)
    ended(running)


def test_a_worker_that_was_lost_is_found_within_a_minute_after_an_hour_back(running: Job) -> None:
    clock_was_set(BACK)
    sweep()
    usual = timedelta(seconds=get_settings().job_lease_seconds)
    assert left(Job.lease_until) <= usual
    clock_was_set(usual + MINUTE)
    assert requeued() == 1
    assert claimed(running.id) is not None


def test_an_hour_on_a_training_is_done_again_and_counts_once(running: Job) -> None:
    clock_was_set(ON)
    assert requeued() == 1
    another = claimed(running.id)
    assert another is not None
    with pytest.raises(LostLease):
        ended(running)
    ended(another)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 1


def test_a_lost_message_is_sent_again_after_an_hour_back(environment: dict[str, str]) -> None:
    a_job(a_campaign())
    change(OutboxMessage, dispatched_at=func.now())
    assert requeued() == 0
    clock_was_set(BACK)
    assert requeued() == 1
    # The new message waits to be sent, and is not asked for again.
    assert requeued() == 0


def test_a_retried_training_is_shown_after_an_hour_back(running: Job) -> None:
    with transaction() as session:
        fail_job(session, running.id, running.epoch, "ValueError: too few", retry=False)
    clock_was_set(BACK)
    with transaction() as session:
        retried = retry_failed_job(session, running.campaign_id, 1)
        assert latest_job(session, running.campaign_id) is retried


# --- requesters ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [BACK, ON])
def test_requesters_stay_signed_in_and_prove_who_they_are_again(
    client: TestClient, by: timedelta
) -> None:
    sign_in(client, an_account())
    with transaction() as session:
        assert is_confirmed(session.scalars(select(BrowserSession)).one())
    clock_was_set(by)
    assert client.get("/api/v1/campaigns").status_code == 200
    with transaction() as session:
        assert not is_confirmed(session.scalars(select(BrowserSession)).one())


@pytest.mark.parametrize("by", [BACK, ON])
def test_attempts_of_before_shut_nobody_out(environment: dict[str, str], by: timedelta) -> None:
    limit = RateLimitItemPerMinute(5)
    assert all(throttle.hit(limit, "test", "somebody") for _ in range(5))
    assert not throttle.hit(limit, "test", "somebody")
    clock_was_set(by)
    assert throttle.may_try(limit, "test", "somebody")
    # As many as ever, and no more.
    assert [throttle.hit(limit, "test", "somebody") for _ in range(6)] == [True] * 5 + [False]


def test_attempts_are_counted_within_a_minute_of_another_clock(environment: dict[str, str]) -> None:
    limit = RateLimitItemPerMinute(5)
    assert all(throttle.hit(limit, "test", "somebody") for _ in range(5))
    clock_was_set(timedelta(seconds=-20))
    assert not throttle.hit(limit, "test", "somebody")


# --- webhooks and platforms ------------------------------------------------------------------


def test_a_webhook_signed_by_a_wrong_clock_is_refused_and_sent_again(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_WEBHOOKS_TO_PRIVATE", "1")
    forget_settings()
    with a_receiver() as receiver:
        receiver.statuses = [400, 204]
        webhook, secret = a_hook(receiver.url)
        a_delivery(webhook)
        with clock_off_by(ON):
            assert deliver_next()
        clock_was_set(BACK)
        sweep()
        assert left(Delivery.due_at) <= timedelta(seconds=60)
        clock_was_set(MINUTE)
        assert deliver_next()
    (early, body), (late, same) = receiver.came
    assert body == same
    with pytest.raises(BadSignature, match="clocks differ"):
        verify_webhook(early, body, secret)
    assert verify_webhook(late, body, secret)
    with transaction() as session:
        assert session.scalars(select(Delivery.state)).one() == "delivered"


def a_hook(url: str) -> tuple[Any, str]:
    from app.core.security import decrypt
    from app.webhooks.service import PURPOSE

    webhook = a_webhook(an_account(), url)
    secret = decrypt(PURPOSE, webhook.secret)
    assert secret is not None
    return webhook, secret.decode()


@pytest.mark.parametrize(("attempts", "longest"), [(1, 60), (4, 720), (8, 1.2 * 21_600)])
def test_what_waits_to_be_sent_again_keeps_its_own_wait(
    environment: dict[str, str], attempts: int, longest: float
) -> None:
    a_delivery(a_webhook(an_account()))
    due = func.now() + timedelta(seconds=longest) + timedelta(minutes=2)
    change(Delivery, attempts=attempts, due_at=due)
    assert sweep() == 1
    assert abs(left(Delivery.due_at) - timedelta(seconds=longest)) < MINUTE
    assert sweep() == 0


@pytest.fixture
def recruited(environment: dict[str, str]) -> Recruitment:
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner))
    a_payment(recruitment, a_submission(recruitment))
    with transaction() as session:
        session.add(ChannelCall(recruitment_id=recruitment.id, action="publish"))
    return recruitment


@pytest.mark.parametrize("state", ["due", "running"])
def test_payments_and_calls_wait_no_hour_longer(recruited: Recruitment, state: str) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=5)
    for table in (Payment, ChannelCall):
        change(table, state=state, attempts=3, due_at=soon)
    clock_was_set(BACK)
    assert sweep() == 2
    for time in (Payment.due_at, ChannelCall.due_at):
        assert timedelta(0) < left(time) <= MINUTE
    # A claim is kept: two at once would ask the platform twice.
    with transaction() as session:
        assert session.scalars(select(Payment.state)).one() == state
        assert session.scalars(select(Payment.attempts)).one() == 3


@pytest.mark.parametrize(("failures", "longest"), [(0, 45), (4, 600)])
def test_platforms_are_asked_no_hour_later(
    recruited: Recruitment, failures: int, longest: int
) -> None:
    with transaction() as session:
        recruitment = session.get_one(Recruitment, recruited.id)
        recruitment.poll_at, recruitment.poll_failures = (
            datetime.now(UTC) + timedelta(seconds=20),
            failures,
        )
    clock_was_set(BACK)
    sweep()
    with transaction() as session:
        poll_at = session.get_one(Recruitment, recruited.id).poll_at
    assert poll_at is not None
    assert poll_at - datetime.now(UTC) <= timedelta(seconds=longest)
