"""Trainings of some strategies go to workers with a GPU, over a real Valkey and a real worker."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select, update
from typer.testing import CliRunner

from app.campaigns.models import Campaign
from app.core.database import locked, transaction
from app.core.errors import InvalidInput
from app.core.settings import get_settings
from app.jobs.models import Job
from app.jobs.queues import LEARNING, LEARNING_GPU, QUEUES, gpu_strategies, queue_of_training
from app.jobs.service import DRY_RUN, LEARN, request_job
from likewise.cli import cli
from testbed.builders import a_campaign, a_collection, an_account
from testbed.many import add_answers
from testbed.servers import ROOT
from testbed.settings import used_here
from testbed.system import System, wait_until


@pytest.fixture
def with_gpu(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """Trainings of two strategies go to workers with a GPU; no queue has messages."""
    settings = {**environment, "LIKEWISE_GPU_STRATEGIES": "cen, scdc"}
    with used_here(settings), Redis.from_url(settings["REDIS_URL"]) as redis:
        redis.delete(*QUEUES)
        yield settings
        redis.delete(*QUEUES)


def a_training(strategy: str = "cen", kind: str = LEARN) -> Job:
    owner = an_account(f"{strategy}-{kind}@example.org")
    form = {"crowdster": "bins"}.get(strategy, "grid")
    campaign = a_campaign(owner, a_collection(owner), strategy=strategy, kind=form)
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        return request_job(session, campaign.id, watermark=1, kind=kind)


def relay() -> None:
    # Reads settings when it is imported.
    from workers.dispatcher import relay_messages

    while relay_messages():
        continue


def sent() -> dict[str, list[str]]:
    """The ids of the jobs in each of Celery's queues that has some."""
    with Redis.from_url(get_settings().redis_url) as redis:
        messages = {name: redis.lrange(name, 0, -1) for name in QUEUES}
    return {name: [_job_id(text) for text in texts] for name, texts in messages.items() if texts}


def _job_id(text: Any) -> str:
    properties = json.loads(text)
    return str(properties["headers"]["kwargsrepr"]).split("'")[3]


def test_trainings_of_listed_strategies_go_to_workers_with_a_gpu(with_gpu: dict[str, str]) -> None:
    neural, other = a_training("cen"), a_training("crowdster")
    simulated = a_training("cen", DRY_RUN)
    relay()
    assert sent() == {
        "learning-gpu": [str(neural.id)],
        "learning": [str(other.id)],
        "files": [str(simulated.id)],
    }


def test_all_trainings_go_to_all_workers_unless_strategies_are_listed(
    with_gpu: dict[str, str],
) -> None:
    with used_here({"LIKEWISE_GPU_STRATEGIES": ""}):
        training = a_training("cen")
        relay()
        assert sent() == {"learning": [str(training.id)]}
        assert queue_of_training("cen") == LEARNING


def test_a_name_that_is_not_a_strategy_is_refused(with_gpu: dict[str, str]) -> None:
    assert gpu_strategies() == {"cen", "scdc"}
    with (
        used_here({"LIKEWISE_GPU_STRATEGIES": "cen resnet"}),
        pytest.raises(InvalidInput, match="no strategy 'resnet'"),
    ):
        queue_of_training("cen")


def test_a_dispatcher_does_not_start_with_a_name_that_is_not_a_strategy(
    environment: dict[str, str],
) -> None:
    started = subprocess.run(
        [sys.executable, "-m", "workers.dispatcher"],
        cwd=ROOT,
        env={**environment, "LIKEWISE_GPU_STRATEGIES": "resnet", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 1
    assert "There is no strategy 'resnet'. Choose one of: cen," in started.stderr


def test_a_worker_for_a_queue_that_does_not_exist_is_refused(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    refused = CliRunner().invoke(cli, ["worker", "--queue", "learning,gpu"])
    assert refused.exit_code == 2
    assert "no queue is called 'gpu'. Queues: learning, learning-gpu, files." in refused.output


def test_a_training_waits_for_a_worker_with_a_gpu_and_the_log_says_so(
    with_gpu: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from workers.queues import served_queues, warn_of_unserved_trainings

    caplog.set_level(logging.WARNING, "workers.dispatcher")
    job = a_training("cen")
    # Workers of other tests may be there, which serve other queues.
    assert LEARNING_GPU not in served_queues()
    warn_of_unserved_trainings()
    assert caplog.messages == []
    with transaction() as session:
        long_ago = datetime.now(UTC) - timedelta(seconds=40)
        session.execute(update(Job).where(Job.id == job.id).values(created_at=long_ago))
    warn_of_unserved_trainings()
    [message] = caplog.messages
    assert message.startswith("no worker with a GPU is running, and 1 training(s) wait")
    caplog.clear()
    worker = [sys.executable, "-m", "likewise.cli", "worker", "--queue", LEARNING_GPU]
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(worker, cwd=ROOT, env=_clean(with_gpu), stdout=log, stderr=log)
    try:
        wait_until("the worker", lambda: LEARNING_GPU in served_queues())
        warn_of_unserved_trainings()
        assert caplog.messages == []
    finally:
        process.terminate()
        process.wait(60)


def _clean(settings: dict[str, str]) -> dict[str, str]:
    return {**settings, "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def only_cen_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_GPU_STRATEGIES", "cen")
    monkeypatch.setenv("LIKEWISE_REDISPATCH_SECONDS", "2")


def test_only_workers_with_a_gpu_take_trainings_that_wait_for_them(
    only_cen_needs_a_gpu: None, own_system: System
) -> None:
    own_system.kill("worker")
    own_system.start("worker", queues="learning,files")
    # Workers say which queues they serve, once they are there.
    wait_until("the doctor to see the worker", lambda: "FAIL  workers" in _doctor(own_system))
    assert "Start `likewise worker --queue learning-gpu`" in _doctor(own_system)
    campaign = a_campaign(an_account(), budget=30)
    add_answers(campaign, 30)
    with transaction() as session:
        locked(session, Campaign, campaign.id)
        job_id = request_job(session, campaign.id, 30).id

    def state() -> str:
        with transaction() as session:
            return session.scalars(select(Job.state).where(Job.id == job_id)).one()

    with Redis.from_url(own_system.valkey.url) as redis:
        wait_until("the message", lambda: redis.llen(LEARNING_GPU))
        assert redis.llen(LEARNING) == 0
    assert state() == "queued"
    own_system.start("worker-2", queues=LEARNING_GPU)
    wait_until("the training", lambda: state() == "done")
    wait_until("its line in the log", lambda: "succeeded" in own_system.log("worker-2"))
    assert str(job_id) not in own_system.log("worker")
    assert "ok    workers      serve files, learning, learning-gpu" in _doctor(own_system)


def _doctor(system: System) -> str:
    return subprocess.run(
        [sys.executable, "-m", "likewise.cli", "doctor"],
        cwd=ROOT,
        env=_clean(system.environment | {"LIKEWISE_GPU_STRATEGIES": "cen"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    ).stdout
