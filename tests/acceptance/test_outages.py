"""PostgreSQL and Valkey go away in mid-campaign (tests 4 and 5 of docs/acceptance.md)."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select

from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.jobs.models import Job
from app.jobs.service import claim_job, request_job
from app.results.learn import run_learning_job
from app.results.models import Model
from likewise.simulation import CrowdRun
from testbed.builders import a_campaign, a_collection, an_account
from testbed.many import add_answers
from testbed.servers import ROOT, Servers
from testbed.system import WAIT_SECONDS, System, running_system, wait_until
from tests.conftest import settings_over, used_here
from tests.support.acceptance_results import keep
from tests.support.chaos import stop_at_once
from tests.support.fault_proxy import FaultProxy, proxied
from tests.support.people import Person, a_person
from tests.support.scale import FULL
from tests.system.test_loop import a_crowd, check_log_against_database, is_finished

BUDGET, OUTAGES = (1_000, 10) if FULL else (60, 1)
RESUMED_SECONDS = 15.0
# The minute is held on a machine that does nothing else.
RETRAINED_SECONDS = 60.0 if FULL else WAIT_SECONDS
# How long a server is away.
AWAY_SECONDS = 3.0
# A training without a worker.
TRAINER = """
import logging, sys
from uuid import UUID
from workers.trainer import main
logging.basicConfig(level=logging.INFO)
main(UUID(sys.argv[1]), int(sys.argv[2]))
"""
QUICK = {"LIKEWISE_JOB_LEASE_SECONDS": "4", "LIKEWISE_REDISPATCH_SECONDS": "3"}


def a_learning_campaign(rounds: int = 2) -> Campaign:
    owner = an_account()
    return a_campaign(
        owner,
        a_collection(owner, n=60),
        kind="bins",
        strategy="crowdster",
        budget=BUDGET,
        rounds=rounds,
        grid_size=10,
        learn_every=BUDGET // 4,
    )


@contextmanager
def playing(run: CrowdRun) -> Iterator[None]:
    """A crowd at work; a failure of any annotator fails the test."""
    failed: list[BaseException] = []

    def play() -> None:
        try:
            run.play()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert failed == []


# --- PostgreSQL ---------------------------------------------------------------------------------


@dataclass
class Visitor:
    """Somebody who asks the web server for work all the time, and notes when it failed."""

    person: Person
    failed: list[float] = field(default_factory=list)
    went: list[float] = field(default_factory=list)

    @contextmanager
    def asking(self) -> Iterator[None]:
        over = threading.Event()

        def ask() -> None:
            while not over.wait(0.1):
                try:
                    good = self.person.post("/leases").is_success
                except httpx.TransportError:
                    good = False
                (self.went if good else self.failed).append(time.monotonic())

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def test_postgresql_stopped_at_once_under_load_loses_no_acknowledged_answer(
    own_servers: Servers, tmp_path: Path
) -> None:
    url = own_servers.new_database()
    # A training whose lease is longer than the outage outlives it.
    values = {**settings_over(own_servers, url, tmp_path), "LIKEWISE_REDISPATCH_SECONDS": "3"}
    with running_system(values, tmp_path) as system, used_here(system.environment):
        campaign = a_learning_campaign()
        other = a_campaign(an_account("bob@example.org"))
        run = a_crowd(system, campaign, annotators=6, by="features")
        run.pace = 0.05
        pids = {name: process.pid for name, process in system.processes.items()}
        with httpx.Client(base_url=system.base_url, timeout=30) as http:
            visitor = Visitor(a_person(http, other, "asking-all-the-time"))
            resumed: list[float] = []
            away: list[tuple[float, float]] = []
            with visitor.asking(), playing(run):
                for number in range(1, OUTAGES + 1):
                    wait_for_answers(run, number * BUDGET // (2 * OUTAGES))
                    stopped = time.monotonic()
                    stop_at_once(own_servers)
                    time.sleep(AWAY_SECONDS)
                    assert own_servers.postgres.ensure_running()
                    away.append((stopped, time.monotonic()))
                    resumed.append(check_service_resumed(visitor, *away[-1]))
            check_failures_explained(visitor, away)
        wait_until("the campaign to end", lambda: is_finished(campaign))
        check_log_against_database(run, campaign)
        check_one_model_a_job(campaign)
        assert {name: process.pid for name, process in system.processes.items()} == pids
        assert all(process.poll() is None for process in system.processes.values())
    keep(
        "postgresql_stopped",
        {"answers": len(run.log), "stops": OUTAGES, "last_error_after_return_s": max(resumed)},
    )


def test_a_training_outlives_a_restart_of_postgresql(
    own_servers: Servers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = own_servers.new_database()
    with used_here(settings_over(own_servers, url, tmp_path)):
        job = a_claimed_job()
        with away_once_it_has_begun(own_servers, job.id):
            run_learning_job(job.campaign_id, job.id, job.epoch)
        check_jobs_done_once()
        with transaction() as session:
            assert session.get_one(Job, job.id).attempts == 1
    assert "is waiting for the database" in caplog.text
    own_servers.drop_database(url)


def test_a_training_that_begins_while_postgresql_is_away_waits_for_it(
    own_servers: Servers, tmp_path: Path
) -> None:
    url = own_servers.new_database()
    values = settings_over(own_servers, url, tmp_path)
    with used_here(values):
        job = a_claimed_job()
        number, epoch = str(job.id), str(job.epoch)
        stop_at_once(own_servers)
        try:
            trainer = subprocess.Popen(
                [sys.executable, "-c", TRAINER, number, epoch],
                cwd=ROOT,
                env={**os.environ, **values},
                stderr=subprocess.PIPE,
                text=True,
            )
            assert trainer.stderr is not None
            waiting_line = next(
                line for line in trainer.stderr if "is waiting for the database" in line
            )
        finally:
            assert own_servers.postgres.ensure_running()
        _, last = trainer.communicate(timeout=120)
        assert trainer.returncode == 0, waiting_line + last
        check_jobs_done_once()
    own_servers.drop_database(url)


def a_claimed_job() -> Job:
    """What a worker has just begun to learn from."""
    campaign = a_campaign(strategy="crowdster", kind="bins", budget=30)
    add_answers(campaign, 30)
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        asked = request_job(session, campaign.id, 30)
        job = claim_job(session, asked.id, "somebody")
    assert job is not None
    return job


@contextmanager
def away_once_it_has_begun(servers: Servers, job: UUID) -> Iterator[None]:
    """PostgreSQL stops when a job has told how far it is, and comes back after a while."""

    def has_begun() -> bool:
        with transaction() as session:
            return session.get_one(Job, job).progress > 0

    def go() -> None:
        wait_until("the training to begin", has_begun)
        stop_at_once(servers)
        time.sleep(3 * AWAY_SECONDS)
        assert servers.postgres.ensure_running()

    with ThreadPoolExecutor(1) as pool:
        gone = pool.submit(go)
        yield
        gone.result()


def check_service_resumed(visitor: Visitor, stopped: float, back: float) -> float:
    """Within 15 seconds there is service without an error. The seconds from the return to the last
    error."""
    assert any(stopped <= at for at in visitor.failed), "nobody noticed that it was away"
    wait_until(
        "service without errors for two seconds",
        lambda: time.monotonic() - max([back, *visitor.failed]) > 2 and visitor.went[-1] > back,
        RESUMED_SECONDS,
    )
    return round(max(0.0, max(visitor.failed) - back), 2)


def check_failures_explained(visitor: Visitor, away: list[tuple[float, float]]) -> None:
    """Once service is there again it stays so, until the next stop."""
    unexplained = [
        at
        for at in visitor.failed
        if not any(stopped <= at <= back + RESUMED_SECONDS for stopped, back in away)
    ]
    assert unexplained == []


def check_one_model_a_job(campaign: Campaign) -> None:
    """Every job was done, and each once."""
    with transaction() as session:
        jobs = session.scalars(select(Job).where(Job.campaign_id == campaign.id)).all()
        models = session.scalar(
            select(func.count()).select_from(Model).where(Model.campaign_id == campaign.id)
        )
    assert [(job.state, job.attempts, job.error) for job in jobs if job.state != "done"] == []
    assert models == len(jobs)


# --- Valkey -------------------------------------------------------------------------------------


def test_valkey_killed_and_emptied_again_and_again_loses_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    rng = random.Random(0)
    values = {**environment, **QUICK}
    with running_system(values, tmp_path) as system, used_here(system.environment):
        campaign = a_learning_campaign()
        run = a_crowd(system, campaign, annotators=4, by="features")
        run.pace = 0.05
        back: list[datetime] = []
        with playing(run):
            for number in range(OUTAGES):
                wait_for_answers(run, round((number + rng.random()) * 0.8 * BUDGET / OUTAGES))
                lose_valkey(system, run)
                back.append(datetime.now(UTC))
        wait_until("the campaign to end", lambda: is_finished(campaign))
        check_log_against_database(run, campaign)
        check_one_model_a_job(campaign)
        check_all_was_learned_from(campaign)
        waited = check_started_in_time(campaign, back)
    figures = {"answers": len(run.log), "losses": OUTAGES, "longest_wait_for_a_training_s": waited}
    keep("valkey_lost", figures)


def check_all_was_learned_from(campaign: Campaign) -> None:
    with transaction() as session:
        newest = select(Model.n_answers).where(Model.campaign_id == campaign.id)
        assert session.scalar(newest.order_by(Model.version.desc()).limit(1)) == BUDGET


def wait_for_answers(run: CrowdRun, n: int) -> None:
    """So many acknowledged ones, or nearly all that are wanted."""
    wait_until(f"{n} answers", lambda: len(run.log) >= min(n, BUDGET - 10), 300)


def lose_valkey(system: System, run: CrowdRun) -> None:
    """Killed, with all that it had on disk; answers go on without it."""
    system.kill_redis()
    for file in system.valkey.folder.rglob("*.aof*"):
        file.unlink()
    wait_for_answers(run, len(run.log) + 5)
    system.valkey.start()


def check_started_in_time(campaign: Campaign, back: list[datetime]) -> float:
    """No training that was due when Valkey came back waited for longer than a minute: seconds."""
    with transaction() as session:
        jobs = session.scalars(select(Job).where(Job.campaign_id == campaign.id)).all()
    waited = [0.0]
    for job in jobs:
        assert job.started_at is not None
        # Of several returns, the first: the others are no excuse.
        due = min((at for at in back if job.created_at < at < job.started_at),
                  default=job.created_at)  # fmt: skip
        waited.append((job.started_at - due).total_seconds())
    assert max(waited) < RETRAINED_SECONDS
    return round(max(waited), 1)


@pytest.fixture
def way_to_valkey(
    environment: dict[str, str], tmp_path: Path
) -> Iterator[tuple[System, FaultProxy]]:
    """A system whose worker and dispatcher reach Valkey by a failing network."""
    values = {**environment, **QUICK}
    with (
        running_system(values, tmp_path, "web") as system,
        proxied(system.valkey.port) as proxy,
        used_here(system.environment),
    ):
        system.environment["REDIS_URL"] = f"redis://127.0.0.1:{proxy.port}/0"
        system.start("worker")
        system.start("dispatcher")
        yield system, proxy


@pytest.mark.parametrize("fault", ["reset", "black_hole"])
def test_a_network_that_forgets_connections_to_valkey_delays_training_and_no_more(
    way_to_valkey: tuple[System, FaultProxy], fault: str
) -> None:
    system, proxy = way_to_valkey
    campaign = a_campaign(budget=4, grid_size=6, learn_every=2, strategy="crowdster", kind="bins")
    with httpx.Client(base_url=system.base_url, timeout=30) as http:
        wait_until("worker and dispatcher", lambda: proxy.n_connections >= 2)
        getattr(proxy, fault)()
        person = a_person(http, campaign, "answering-meanwhile")
        for _ in range(4):
            began = time.monotonic()
            assert person.submit(person.lease()).status_code == 200
            assert time.monotonic() - began < 5
    time.sleep(AWAY_SECONDS)
    proxy.heal()
    wait_until("the model", lambda: is_finished(campaign), RETRAINED_SECONDS)
    with transaction() as session:
        answers = session.scalar(select(func.count()).where(Answer.submitted_at.is_not(None)))
    assert answers == 4
    check_jobs_done_once()


def check_jobs_done_once() -> None:
    with transaction() as session:
        states = session.scalars(select(Job.state)).all()
        models = session.scalar(select(func.count()).select_from(Model))
    assert set(states) == {"done"}
    assert models == len(states)
