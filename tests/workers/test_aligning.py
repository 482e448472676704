"""Alignments in a process of their own: learned, ended when they hang, given back, and crashed."""

import logging
import os
import threading
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.alignments.models import Alignment
from app.alignments.service import ALIGN_TASK
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.core.settings import get_settings
from app.features.models import FeatureShard
from testbed.builders import an_account, sign_in
from testbed.settings import forget_settings
from testbed.system import wait_until
from tests.support.aligned_campaigns import (
    answered_campaign,
    clip_of,
    request,
    row_of,
    with_features,
)
from workers import supervision
from workers.aligning import supervise_alignment
from workers.training_process import NAME


@pytest.fixture(autouse=True)
def settings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes are forked by a server that has the settings of the test in which it started, so
    each test has its own."""
    monkeypatch.setenv("LIKEWISE_TRAINING_NICENESS", "0")
    forget_settings()
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture
def owner(client: TestClient) -> Account:
    account = an_account()
    sign_in(client, account)
    return account


@pytest.fixture
def alignment_id(client: TestClient, owner: Account) -> UUID:
    """A requested alignment of a small campaign."""
    campaign = answered_campaign(owner, n_grids=30)
    with_features(client, campaign, clip=clip_of())
    [item] = request(client, campaign, "clip").json()["items"]
    return UUID(item["id"])


def make_storage_hang() -> Path:
    """Reading the stored features waits until somebody writes into this pipe."""
    with transaction() as session:
        [key] = session.scalars(select(FeatureShard.key))
    [file] = get_settings().data.rglob(key)
    file.unlink()
    os.mkfifo(file)
    return file


def children() -> list[psutil.Process]:
    every = psutil.Process().children(recursive=True)
    return [child for child in every if child.is_running() and child.name() == NAME]


def test_it_is_learned_in_a_process_of_its_own(alignment_id: UUID) -> None:
    supervise_alignment(alignment_id)
    row = row_of(str(alignment_id))
    assert (row.state, row.error, row.attempts) == ("done", None, 1)
    # There is nothing to do for a message that comes twice.
    supervise_alignment(alignment_id)
    assert row_of(str(alignment_id)).epoch == row.epoch


def test_one_that_hangs_is_ended_at_the_time_limit(
    alignment_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_JOB_TIME_LIMIT_SECONDS", "10")
    monkeypatch.setenv("LIKEWISE_JOB_MAX_ATTEMPTS", "2")
    forget_settings()
    make_storage_hang()
    supervise_alignment(alignment_id)
    row = row_of(str(alignment_id))
    assert (row.state, row.attempts, row.key) == ("queued", 1, "")
    supervise_alignment(alignment_id)
    row = row_of(str(alignment_id))
    assert row.state == "failed"
    assert row.error == "The alignment took longer than the limit of 10 seconds."
    assert children() == []


def test_a_worker_that_stops_gives_it_back(
    alignment_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = threading.Event()
    monkeypatch.setattr(supervision, "_stopping", stopping)
    make_storage_hang()
    supervising = threading.Thread(target=supervise_alignment, args=(alignment_id,))
    supervising.start()
    wait_until("the process", children)
    stopping.set()
    supervising.join()
    row = row_of(str(alignment_id))
    assert (row.state, row.attempts, row.lease_until) == ("queued", 0, None)
    with transaction() as session:
        sent = select(func.count()).where(OutboxMessage.task == ALIGN_TASK)
        assert session.scalar(sent) == 2


def test_a_killed_process_is_known_at_once(
    alignment_id: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    make_storage_hang()
    supervising = threading.Thread(target=supervise_alignment, args=(alignment_id,))
    supervising.start()
    [child] = wait_until("the process", children)
    child.kill()
    supervising.join()
    row = row_of(str(alignment_id))
    assert (row.state, row.attempts) == ("queued", 1)
    with transaction() as session:
        [alignment] = session.scalars(select(Alignment))
        alignment.attempts = get_settings().job_max_attempts - 1
    supervising = threading.Thread(target=supervise_alignment, args=(alignment_id,))
    supervising.start()
    [child] = wait_until("the process", children)
    child.kill()
    supervising.join()
    row = row_of(str(alignment_id))
    assert (row.state, row.error) == ("failed", "The alignment process was killed by signal 9.")
