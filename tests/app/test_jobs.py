"""Jobs: one at a time, fenced by epoch, never lost."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError

from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.errors import LostLease
from app.core.outbox import OutboxMessage
from app.jobs.models import Job
from app.jobs.service import (
    claim_job,
    fail_job,
    release_job,
    renew_lease,
    report_progress,
    request_job,
    requeue_lost_jobs,
)
from app.results.models import Model
from app.results.publish import TrainedModel, publish_model
from testbed.builders import a_campaign
from testbed.system import wait_until
from tests.app.test_annotation import waiting

pytestmark = pytest.mark.usefixtures("environment")


def a_queued_job(campaign: Campaign) -> UUID:
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        return request_job(session, campaign.id, watermark=1).id


def claimed(job_id: UUID, owner: str = "worker") -> Job | None:
    with transaction() as session:
        return claim_job(session, job_id, owner)


def the_job(job_id: UUID) -> Job:
    with transaction() as session:
        return session.get_one(Job, job_id)


def lose_lease(job_id: UUID) -> None:
    with transaction() as session:
        past = datetime.now(UTC) - timedelta(seconds=1)
        session.execute(update(Job).where(Job.id == job_id).values(lease_until=past))
        assert requeue_lost_jobs(session) == 1


def a_model(campaign: Campaign, **changes: object) -> TrainedModel:
    n = campaign.n_images
    values: dict[str, object] = {
        "embedding": np.zeros((n, 2)),
        "map_positions": np.zeros((n, 2)),
        "metrics": {},
        "artifact_key": "models/test",
        "round_number": 1,
        "n_full": 0,
        "batches": [],
        "n_answers": 1,
        **changes,
    }
    return TrainedModel(**values)  # type: ignore[arg-type]


def publish(campaign: Campaign, job: Job, **changes: object) -> None:
    with transaction() as session:
        publish_model(session, campaign.id, job.id, job.epoch, a_model(campaign, **changes))


def test_a_message_delivered_twice_starts_one_attempt() -> None:
    job_id = a_queued_job(a_campaign())
    assert claimed(job_id, "first") is not None
    assert claimed(job_id, "second") is None


def test_a_second_wish_while_one_is_queued_makes_no_second_job() -> None:
    campaign = a_campaign()
    assert a_queued_job(campaign) == a_queued_job(campaign)


def test_the_database_itself_refuses_two_active_jobs() -> None:
    campaign = a_campaign()
    a_queued_job(campaign)
    with pytest.raises(IntegrityError), transaction() as session:
        session.add(Job(campaign_id=campaign.id))


def test_a_wish_while_one_runs_is_followed_up_only_if_answers_were_missed() -> None:
    campaign = a_campaign()
    for n_answers, expected in ((1, ["done"]), (2, ["done", "done", "queued"])):
        job = claimed(a_queued_job(campaign))
        assert job is not None
        a_queued_job(campaign)
        with transaction() as session:
            session.get_one(Campaign, campaign.id).n_answers = n_answers
        publish(campaign, job)
        with transaction() as session:
            assert sorted(session.scalars(select(Job.state))) == expected


def test_a_trainer_that_lost_its_lease_writes_nothing() -> None:
    campaign = a_campaign()
    job_id = a_queued_job(campaign)
    zombie = claimed(job_id)
    lose_lease(job_id)
    successor = claimed(job_id)
    assert zombie is not None
    assert successor is not None
    for act in (renew_lease, release_job):
        with pytest.raises(LostLease), transaction() as session:
            act(session, job_id, zombie.epoch)
    with pytest.raises(LostLease), transaction() as session:
        report_progress(session, job_id, zombie.epoch, 0.5)
    with pytest.raises(LostLease):
        publish(campaign, zombie)
    publish(campaign, successor)
    with pytest.raises(LostLease):
        publish(campaign, zombie)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Model)) == 1


def test_a_job_that_loses_its_worker_three_times_fails_with_the_reason() -> None:
    job_id = a_queued_job(a_campaign())
    for _ in range(3):
        assert claimed(job_id) is not None
        lose_lease(job_id)
    job = the_job(job_id)
    assert (job.state, job.attempts) == ("failed", 3)
    assert job.error == "The worker stopped during attempt 3."
    assert claimed(job_id) is None


def test_a_released_job_keeps_its_attempts() -> None:
    job_id = a_queued_job(a_campaign())
    job = claimed(job_id)
    assert job is not None
    with transaction() as session:
        release_job(session, job_id, job.epoch)
    assert (the_job(job_id).state, the_job(job_id).attempts) == ("queued", 0)


def test_an_error_of_the_data_is_final_and_a_crash_is_retried() -> None:
    job_id = a_queued_job(a_campaign())
    for retry, state in ((True, "queued"), (False, "failed")):
        job = claimed(job_id)
        assert job is not None
        with transaction() as session:
            fail_job(session, job_id, job.epoch, "because", retry=retry)
        assert (the_job(job_id).state, the_job(job_id).error) == (state, "because")


def test_a_queued_job_whose_message_was_lost_is_sent_again() -> None:
    job_id = a_queued_job(a_campaign())
    with transaction() as session:
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        session.execute(update(OutboxMessage).values(dispatched_at=long_ago))
        assert requeue_lost_jobs(session) == 1
    with transaction() as session:
        assert requeue_lost_jobs(session) == 0
        waiting = session.scalars(
            select(OutboxMessage.job_id).where(OutboxMessage.dispatched_at.is_(None))
        ).all()
    assert waiting == [job_id]


def test_a_model_is_written_before_the_campaign_is_waited_for() -> None:
    """Annotators wait for the campaign's row as long as a trainer, who gives way to them, has it.
    What they ask for meanwhile waits for nothing of the trainer's."""
    campaign = a_campaign()
    job = claimed(a_queued_job(campaign))
    assert job is not None
    with ThreadPoolExecutor() as pool:
        with transaction() as session:
            locked(session, Campaign, campaign.id)
            publishing = pool.submit(publish, campaign, job)
            wait_until("the trainer to wait for the campaign", lambda: waiting() == 1)
            assert writers_of("embedding") == 1
            request_job(session, campaign.id, watermark=2)
        publishing.result()
    with transaction() as session:
        assert session.scalars(select(Model.version)).all() == [1]
        after = session.get_one(Job, job.id)
        assert (after.state, after.rerun_wanted) == ("done", True)


def writers_of(table: str) -> int:
    """Transactions that have written into a table and not ended."""
    locks = text(
        "SELECT count(*) FROM pg_locks WHERE relation = CAST(:table AS regclass) "
        "AND mode = 'RowExclusiveLock'"
    )
    with transaction() as session:
        return int(session.execute(locks, {"table": table}).scalar_one())
