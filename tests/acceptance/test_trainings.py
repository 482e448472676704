"""Trainings whose messages come twice, whose workers die or are stopped, and that are asked for by
many at once (tests 6 to 11 of docs/acceptance.md).

A training that takes as long as a test likes is one whose process is frozen (SIGSTOP).
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from celery import Celery
from redis import Redis
from sqlalchemy import select, text

from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.jobs.models import Job
from app.jobs.service import LEARN_TASK, request_job
from app.results.models import Model
from testbed.builders import a_campaign, a_collection, an_account
from testbed.many import add_answers
from testbed.servers import Servers
from testbed.system import System, running_system, wait_until
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.people import at_once
from tests.support.scale import FULL

STOPPED_SECONDS = 30.0
TRAININGS = 50 if FULL else 3
GROWTH = 1.1
UNBLOCKED_SECONDS = 60.0
# What a worker says about a message whose job is somebody else's, or done.
REFUSED = "is not available"
# What Celery says about a message that it holds.
TAKEN = " received"
N_ANSWERS = 30
# An hour by default; and how long a training goes on.
VISIBILITY_SECONDS, FROZEN_SECONDS = (20.0, 300.0) if FULL else (2.0, 5.0)
IMPATIENT = "tests.support.impatient_worker:celery"
NICENESS = 15
QUICK = {"LIKEWISE_JOB_LEASE_SECONDS": "4", "LIKEWISE_REDISPATCH_SECONDS": "3"}


@pytest.fixture(scope="module")
def system_of_module(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """One dispatcher and a worker; more are started by those who need them."""
    url, folder = servers.new_database(), tmp_path_factory.mktemp("system")
    values = {**settings_over(servers, url, folder), **QUICK}
    with running_system(values, folder, "worker", "dispatcher") as running:
        yield running
    servers.drop_database(url)


@pytest.fixture
def system(servers: Servers, system_of_module: System) -> Iterator[System]:
    for name in ("worker", "dispatcher"):
        system_of_module.start_missing(name)
    with used_here(system_of_module.environment):
        yield system_of_module
        wait_until("an idle system", lambda: not any(is_active(job) for job in jobs()))
    servers.empty_database(system_of_module.environment["DATABASE_URL"])
    for name in ("worker-2", "dispatcher-2"):
        if name in system_of_module.processes:
            system_of_module.kill(name)


def jobs(campaign: Campaign | None = None) -> list[Job]:
    query = select(Job).order_by(Job.created_at)
    if campaign is not None:
        query = query.where(Job.campaign_id == campaign.id)
    with transaction() as session:
        return list(session.scalars(query))


def is_active(job: Job) -> bool:
    return job.state in ("queued", "running")


def models(campaign: Campaign) -> list[Model]:
    with transaction() as session:
        query = select(Model).where(Model.campaign_id == campaign.id)
        return list(session.scalars(query.order_by(Model.version)))


def an_answered_campaign(
    email: str = "ada@example.org", kind: str = "bins", strategy: str = "crowdster"
) -> Campaign:
    owner = an_account(email)
    campaign = a_campaign(owner, a_collection(owner), kind=kind, strategy=strategy)
    add_answers(campaign, N_ANSWERS)
    return campaign


def ask_for_learning(campaign: Campaign, watermark: int = N_ANSWERS) -> UUID:
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        return request_job(session, campaign.id, watermark).id


def the_trainer(system: System) -> psutil.Process:
    """Of any worker."""
    workers = ("worker", "worker-2")
    return wait_until(
        "a training", lambda: next((one for w in workers for one in system.trainers(w)), None)
    )


@contextmanager
def no_training_gets_far() -> Iterator[None]:
    """A training waits, before it changes anything, where it reads the campaign's last model."""
    with transaction() as session:
        session.execute(text("LOCK TABLE model IN ACCESS EXCLUSIVE MODE"))
        yield


@contextmanager
def training_frozen(
    system: System, campaign: Campaign, *others: psutil.Process, wishes: int = 1
) -> Iterator[psutil.Process]:
    """Learning is asked for, so often at once, and its process is stopped before it changes
    anything, as others are with it."""
    with no_training_gets_far():
        at_once(wishes, lambda _: ask_for_learning(campaign), range(wishes))
        trainer = the_trainer(system)
        for process in (trainer, *others):
            process.suspend()
    try:
        yield trainer
    finally:
        for process in (trainer, *others):
            if process.is_running():
                process.resume()


def test_a_training_gives_way_to_all_other_processes(servers: Servers, tmp_path: Path) -> None:
    """Niceness counts within a session only, where Linux groups processes by sessions."""
    values = settings_over(servers, servers.new_database(), tmp_path)
    values["LIKEWISE_TRAINING_NICENESS"] = str(NICENESS)
    with (
        running_system(values, tmp_path, "worker", "dispatcher") as system,
        used_here(system.environment),
    ):
        campaign = an_answered_campaign()
        with no_training_gets_far():
            ask_for_learning(campaign)
            _gives_way(the_trainer(system))


def _gives_way(trainer: psutil.Process) -> None:
    wait_until("it to give way", lambda: trainer.nice() == NICENESS)
    group = Path(f"/proc/{trainer.pid}/autogroup")
    if group.exists():
        wait_until("its session, too", lambda: group.read_text().endswith(f"nice {NICENESS}\n"))
        # Empty for a session that is older than any grouping.
        assert not Path("/proc/self/autogroup").read_text().endswith(f"nice {NICENESS}\n")


def test_a_message_that_comes_again_during_the_training_starts_nothing(system: System) -> None:
    system.start("worker-2")
    campaign = an_answered_campaign()
    broker = Celery(broker=system.valkey.url)
    begun = {name: len(system.log(name)) for name in ("worker", "worker-2")}
    with training_frozen(system, campaign), Redis.from_url(system.valkey.url) as valkey:
        [job] = jobs()
        for _ in range(10):
            broker.send_task(LEARN_TASK, kwargs={"job_id": str(job.id)}, queue="learning")
        other = "worker" if system.trainers("worker-2") else "worker-2"
        wait_until("all messages to be taken", lambda: valkey.llen("learning") == 0)
        wait_until("them to be read", lambda: REFUSED in system.log(other)[begun[other] :])
        assert not system.trainers(other)
        assert [(job.state, job.attempts) for job in jobs()] == [("running", 1)]
    wait_until("the model", lambda: models(campaign))
    assert [(job.state, job.attempts, job.epoch) for job in jobs()] == [("done", 1, 1)]
    assert len(models(campaign)) == 1


def test_a_message_whose_visibility_runs_out_is_one_training(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are acknowledged when their training begins; what a busy worker has taken beside it
    is delivered again, and it learns nothing of that."""
    monkeypatch.setenv("LIKEWISE_TEST_VISIBILITY_SECONDS", f"{VISIBILITY_SECONDS:g}")
    system.kill("worker")
    # Of messages of earlier tests, too, it would take those that nobody has acknowledged.
    system.empty_redis()
    system.start("worker", IMPATIENT)
    busy, second = an_answered_campaign(), an_answered_campaign("bob@example.org")
    began = time.monotonic()
    with training_frozen(system, busy):
        # All tests of this module write to it.
        begun = len(system.log("worker"))
        ask_for_learning(second)
        # It goes back when its visibility has run out, so what Valkey has says it for a while only.
        wait_until("the second message to be taken", lambda: TAKEN in system.log("worker")[begun:])
        # It sends again what nobody begins, and is to have no part in this.
        system.kill("dispatcher")
        system.start("worker-2", IMPATIENT)
        wait_until("the model of who had it next", lambda: models(second))
        wait_until("its training to end", lambda: not system.trainers("worker-2"))
        while time.monotonic() - began < FROZEN_SECONDS:
            assert len(system.trainers("worker-2")) == 0
            time.sleep(1)
        assert [(job.state, job.attempts) for job in jobs(busy)] == [("running", 1)]
        assert REFUSED not in system.log("worker")[begun:]
    wait_until("the first model", lambda: models(busy))
    wait_until("the first delivery", lambda: REFUSED in system.log("worker")[begun:])
    assert len(models(busy)) == len(models(second)) == 1
    assert [(job.state, job.attempts, job.epoch) for job in jobs()] == [("done", 1, 1)] * 2


def test_a_zombie_publishes_nothing_when_it_wakes_up(system: System) -> None:
    campaign = an_answered_campaign()
    worker = psutil.Process(system.processes["worker"].pid)
    with training_frozen(system, campaign, worker) as zombie:
        system.start("worker-2")
        wait_until("another worker's model", lambda: models(campaign))
        [newest] = models(campaign)
    wait_until("the zombie to end", lambda: not zombie.is_running())
    assert [model.id for model in models(campaign)] == [newest.id]
    [job] = jobs()
    assert (job.state, job.attempts, job.epoch) == ("done", 2, 2)


def test_a_training_that_dies_again_and_again_ends_and_blocks_nobody(system: System) -> None:
    # The training takes seconds, in which it is found.
    campaign = an_answered_campaign(kind="grid", strategy="cen")
    other = an_answered_campaign("bob@example.org")
    ask_for_learning(campaign)
    killed: set[int] = set()

    def has_failed() -> bool:
        trainers = system.trainers()
        # The worker has one training at a time.
        if trainers and jobs(campaign)[0].state == "running":
            with suppress(psutil.NoSuchProcess):
                trainers[0].kill()
                killed.add(trainers[0].pid)
        return jobs(campaign)[0].state == "failed"

    wait_until("the first death", lambda: has_failed() or killed)
    ask_for_learning(other)
    asked = datetime.now(UTC)
    wait_until("the end", has_failed)
    assert len(killed) == 3
    [job] = jobs(campaign)
    assert job.attempts == 3
    assert job.error == "The training process was killed by signal 9."
    wait_until("the other campaign's model", lambda: models(other))
    [done] = jobs(other)
    assert (done.state, done.attempts) == ("done", 1)
    assert done.finished_at is not None
    assert job.finished_at is not None
    # In between the attempts of the one that dies, or soon.
    soon = asked + timedelta(seconds=UNBLOCKED_SECONDS)
    assert done.finished_at < max(job.finished_at, soon)


def test_a_worker_that_is_stopped_hands_its_training_on(system: System) -> None:
    campaign = an_answered_campaign()
    with training_frozen(system, campaign) as trainer:
        stopped, began = system.processes.pop("worker"), time.monotonic()
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(STOPPED_SECONDS) == 0
        seconds = time.monotonic() - began
    keep("sigterm", {"seconds_until_it_had_ended": round(seconds, 1)})
    assert not trainer.is_running()
    system.start("worker-2")
    wait_until("the model", lambda: models(campaign))
    assert [(job.state, job.attempts) for job in jobs()] == [("done", 1)]


def test_ten_wishes_at_once_are_one_training_and_one_after_it(system: System) -> None:
    system.start("dispatcher-2")
    campaign = an_answered_campaign()
    with training_frozen(system, campaign, wishes=10):
        assert [job.state for job in jobs()] == ["running"]
        # More has come since it began.
        add_an_answer_to_the_count(campaign)
        at_once(10, lambda _: ask_for_learning(campaign, N_ANSWERS + 1), range(10))
        assert [(job.state, job.rerun_wanted) for job in jobs()] == [("running", True)]
    wait_until("both models", lambda: len(models(campaign)) == 2)
    assert [(job.state, job.attempts) for job in jobs()] == [("done", 1)] * 2


def add_an_answer_to_the_count(campaign: Campaign) -> None:
    with transaction() as session:
        session.get_one(Campaign, campaign.id).n_surplus += 1


def test_many_trainings_leave_a_worker_as_it_was(system: System) -> None:
    # The strategy that learns by torch.
    campaign = an_answered_campaign(kind="grid", strategy="cen")
    worker = psutil.Process(system.processes["worker"].pid)
    before = 0
    for number in range(1, TRAININGS + 1):
        ask_for_learning(campaign)
        wait_until("a model", lambda n=number: len(models(campaign)) == n)  # type: ignore[misc]
        # The first ones load what a worker needs.
        if number == 2:
            before = worker.memory_info().rss
    wait_until("no training to be left", lambda: not system.trainers())
    growth = worker.memory_info().rss / before
    keep("many_trainings", {"trainings": TRAININGS, "memory_after_of_before": round(growth, 3)})
    assert growth < GROWTH
    assert {(job.state, job.attempts) for job in jobs()} == {("done", 1)}
