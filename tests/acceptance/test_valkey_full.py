"""Valkey answers and takes nothing more: its memory is used up, or its disk is full."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest
from redis import Redis
from redis.exceptions import ResponseError
from sqlalchemy import select

from app.core.database import transaction
from app.core.outbox import OutboxMessage
from testbed.builders import a_campaign, an_account, sign_in
from testbed.system import System, running_system, wait_until
from tests.acceptance.test_outages import QUICK, check_jobs_done_once
from tests.conftest import used_here
from tests.support.full import SmallDisk, small_disk
from tests.support.people import Person, a_person
from tests.system.test_loop import is_finished


@contextmanager
def without_memory(system: System) -> Iterator[None]:
    with Redis.from_url(system.valkey.url) as client:
        before = client.config_get("maxmemory")["maxmemory"]
        client.config_set("maxmemory", 1)
        try:
            yield
        finally:
            client.config_set("maxmemory", before)


def is_refusing(client: Redis) -> bool:
    try:
        client.set("test", "x" * 4096)
    except ResponseError as error:
        assert "MISCONF" in str(error)  # noqa: PT017  # other refusals are none of the disk
        return True
    return False


@contextmanager
def without_disk(system: System) -> Iterator[None]:
    """Its folder is a small disk."""
    disk = SmallDisk(system.valkey.folder)
    with Redis.from_url(system.valkey.url) as client:
        disk.fill()
        wait_until("Valkey to notice", lambda: is_refusing(client))
        try:
            yield
        finally:
            disk.make_room()


@pytest.fixture
def quick_system(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    with (
        running_system({**environment, **QUICK}, tmp_path) as system,
        used_here(system.environment),
    ):
        yield system


@pytest.fixture
def system_with_a_small_disk(environment: dict[str, str], tmp_path: Path) -> Iterator[System]:
    """Its Valkey writes to a disk of its own."""
    with (
        small_disk(tmp_path / "valkey", "4m"),
        running_system({**environment, **QUICK}, tmp_path) as system,
        used_here(system.environment),
    ):
        yield system


def test_work_goes_on_while_valkey_has_no_memory(quick_system: System) -> None:
    check_work_goes_on(quick_system, without_memory, "has no memory left")


def test_work_goes_on_while_valkey_cannot_write_to_its_disk(
    system_with_a_small_disk: System,
) -> None:
    check_work_goes_on(system_with_a_small_disk, without_disk, "cannot write to its disk")


def check_work_goes_on(
    system: System, full: Callable[[System], AbstractContextManager[None]], queue_check: str
) -> None:
    """People answer and sign in meanwhile, nobody ends, and the training follows."""
    owner = an_account()
    campaign = a_campaign(owner, budget=4, learn_every=2)
    wait_until("the worker", lambda: _is_waiting(system))
    pids = {name: process.pid for name, process in system.processes.items()}
    with httpx.Client(base_url=system.base_url, timeout=30) as http:
        person = a_person(http, campaign, "answering-meanwhile")
        # What it was sent before waits to be written down as taken.
        system.processes["worker"].send_signal(signal.SIGSTOP)
        answer(person, 2)
        wait_until("the message to be sent", is_all_sent)
        with full(system):
            system.processes["worker"].send_signal(signal.SIGCONT)
            answer(person, 2)
            sign_in(http, owner)
            assert http.get("/api/v1/campaigns").status_code == 200
            ready = httpx.get(f"{system.base_url}/readyz", timeout=60)
            assert (ready.status_code, ready.json()["checks"]["queue"]) == (503, queue_check)
            wait_until("both to be refused", lambda: was_refused(system))
        wait_until("the model", lambda: is_finished(campaign))
        assert httpx.get(f"{system.base_url}/readyz", timeout=60).status_code == 200
    check_jobs_done_once()
    assert {name: process.pid for name, process in system.processes.items()} == pids
    assert all(process.poll() is None for process in system.processes.values())


def answer(person: Person, n: int) -> None:
    for _ in range(n):
        assert person.submit(person.lease()).status_code == 200


def is_all_sent() -> bool:
    with transaction() as session:
        messages = session.scalars(select(OutboxMessage.dispatched_at)).all()
    return bool(messages) and None not in messages


def was_refused(system: System) -> bool:
    waits = "messages wait in the outbox" in system.log("dispatcher")
    return waits and "Trying to re-establish the connection" in system.log("worker")


def _is_waiting(system: System) -> bool:
    """The worker has told Valkey what it works for."""
    with Redis.from_url(system.valkey.url) as client:
        return bool(client.client_list()) and any(
            "brpop" in str(client_info["cmd"]) for client_info in client.client_list()
        )


def test_a_worker_that_starts_while_valkey_has_no_memory_waits_for_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    values = {**environment, **QUICK}
    with running_system(values, tmp_path, "dispatcher") as system:
        with without_memory(system):
            system.start("worker")
            wait_until("it to be refused", lambda: "Cannot connect" in system.log("worker"))
        wait_until("the worker", lambda: _is_waiting(system))
        assert system.processes["worker"].poll() is None
