"""Processes are killed for real; the job is done once and no answer is missing."""

import threading

import pytest
from sqlalchemy import func, select

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.jobs.models import Job
from app.jobs.service import request_job
from app.results.models import Model
from testbed.builders import a_campaign, a_collection, an_account
from testbed.many import add_answers
from testbed.system import System, wait_until
from tests.system.test_loop import a_crowd, check_log_against_database, is_finished


@pytest.fixture
def quick_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost worker is noticed after seconds, not after a minute."""
    monkeypatch.setenv("LIKEWISE_JOB_LEASE_SECONDS", "4")
    monkeypatch.setenv("LIKEWISE_REDISPATCH_SECONDS", "3")


def jobs() -> list[Job]:
    with transaction() as session:
        return list(session.scalars(select(Job).order_by(Job.created_at)))


def n_models() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Model)) or 0


def test_a_worker_killed_while_learning_is_replaced_and_the_job_done_once(
    quick_leases: None, own_system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner, n=60), budget=120, grid_size=12)
    run = a_crowd(own_system, campaign, annotators=12, by="colour", noise=0.1)
    run.play()
    trainer = wait_until("a training process", lambda: next(iter(own_system.trainers()), None))
    own_system.kill("worker")
    wait_until("the training process to follow its worker", lambda: not trainer.is_running())
    assert n_models() == 0
    own_system.start("worker")
    wait_until("the campaign to end", lambda: is_finished(campaign))
    assert [(job.state, job.attempts) for job in jobs()] == [("done", 2)]
    assert n_models() == 1
    check_log_against_database(run, campaign)


def test_the_server_of_trainings_killed_takes_its_training_along_and_the_job_is_done_once(
    quick_leases: None, own_system: System
) -> None:
    campaign = a_campaign(an_account(), budget=30)
    add_answers(campaign, 30)
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        request_job(session, campaign.id, 30)
    trainer = wait_until("a training process", lambda: next(iter(own_system.trainers()), None))
    trainer.suspend()
    server = trainer.parent()
    assert server is not None
    server.kill()
    wait_until("another attempt", lambda: jobs()[0].attempts == 2)
    trainer.resume()
    wait_until("the first one to end", lambda: not trainer.is_running())
    wait_until("the job to be done", lambda: jobs()[0].state == "done")
    assert (len(jobs()), n_models()) == (1, 1)


def test_redis_killed_and_emptied_in_mid_campaign_loses_nothing(
    quick_leases: None, own_system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner,
        a_collection(owner, n=60),
        kind="bins",
        strategy="crowdster",
        budget=90,
        rounds=3,
        grid_size=10,
        learn_every=10,
    )
    run = a_crowd(own_system, campaign, annotators=4, by="features")
    run.pace = 0.05
    playing = threading.Thread(target=run.play)
    playing.start()
    wait_until("some answers", lambda: len(run.log) > 12)
    own_system.kill_redis()
    for file in own_system.valkey.folder.rglob("*.aof*"):
        file.unlink()
    wait_until("more answers without Redis", lambda: len(run.log) >= 30)
    own_system.valkey.start()
    wait_until("the campaign to end", lambda: is_finished(campaign))
    playing.join()
    check_log_against_database(run, campaign)
    with transaction() as session:
        answers = session.scalar(select(func.count()).where(Answer.submitted_at.is_not(None)))
    assert answers == 90
    done = jobs()
    assert {job.state for job in done} == {"done"}
    assert n_models() == len(done)


def test_a_failing_job_shows_its_error_and_can_be_retried(system: System) -> None:
    campaign = a_campaign(budget=2, grid_size=6)
    run = a_crowd(system, campaign, annotators=1, by="colour")
    with transaction() as session:
        # Settings that the form would refuse: the estimator's own check fails in the job.
        session.get_one(type(campaign), campaign.id).settings = {"n_dimensions": -1}
    run.play()
    wait_until("the failure", lambda: any(job.state == "failed" for job in jobs()))
    failed = jobs()[0]
    assert failed.error is not None
    assert "n_dimensions" in failed.error
    with transaction() as session:
        session.get_one(type(campaign), campaign.id).settings = {"n_dimensions": 2}
        from app.jobs.service import retry_failed_job

        retry_failed_job(session, campaign.id, 2)
    wait_until("the campaign to end", lambda: is_finished(campaign))
    assert [job.state for job in jobs()] == ["failed", "done"]
