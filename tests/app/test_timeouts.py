"""What stands still is ended: locks, transactions and bodies that never come."""

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient
from psycopg.errors import IdleInTransactionSessionTimeout
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.core import database
from app.core.database import get_engine, snapshot, transaction
from app.core.middleware import PatientBodies
from app.core.places import EarlyMessages
from testbed.builders import an_account, sign_in
from testbed.system import wait_until


def test_every_connection_has_limits_and_a_download_takes_its_time(
    environment: dict[str, str],
) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    with transaction() as session:
        limits = [session.scalar(text(f"SHOW {name}")) for name in names]
    assert limits == ["1min", "30s", "5min"]
    with snapshot() as session:
        assert [session.scalar(text(f"SHOW {name}")) for name in names] == ["0", "30s", "0"]


def shorten(monkeypatch: pytest.MonkeyPatch, limits: str) -> None:
    monkeypatch.setattr(database, "TIMEOUTS", limits)
    get_engine().dispose()
    get_engine.cache_clear()
    database.session_factory.cache_clear()


def test_a_lock_that_is_held_too_long_is_told_and_passes(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = an_account()
    sign_in(client, account)
    shorten(monkeypatch, "-c lock_timeout=200")
    with transaction() as holder:
        holder.execute(text("LOCK TABLE account IN ACCESS EXCLUSIVE MODE"))
        reply = client.get("/api/v1/campaigns")
    assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
    assert reply.headers["retry-after"]
    assert client.get("/api/v1/campaigns").status_code == 200


def test_a_transaction_that_does_nothing_is_ended(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, "-c idle_in_transaction_session_timeout=100")
    with pytest.raises(DBAPIError) as ended, transaction() as session:
        outlive(session)
    is_ended_by_server = isinstance(ended.value.orig, IdleInTransactionSessionTimeout)
    assert is_ended_by_server or ended.value.connection_invalidated


def outlive(session: Session) -> None:
    """Do nothing until the server has ended this session, then something."""
    mine = session.scalar(text("SELECT pg_backend_pid()"))
    there = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")
    with get_engine().execution_options(isolation_level="AUTOCOMMIT").connect() as watcher:
        wait_until("its end", lambda: not watcher.scalar(there, {"pid": mine}))
    session.execute(text("SELECT 1"))


def test_a_body_that_stands_still_is_given_up() -> None:
    async def run(parts: list[Any]) -> list[str]:
        received: list[str] = []

        async def receive() -> Any:
            if parts:
                return parts.pop(0)
            await asyncio.Event().wait()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            while True:
                message = await receive()
                received.append(message["type"])
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return

        async def send(message: Any) -> None:
            raise AssertionError("nothing is sent here")

        await PatientBodies(application, seconds=0.05)({"type": "http"}, receive, send)
        return received

    part = {"type": "http.request", "body": b"x", "more_body": True}
    whole = {"type": "http.request", "body": b"x"}
    assert asyncio.run(run([part])) == ["http.request", "http.disconnect"]
    assert asyncio.run(run([part, whole])) == ["http.request", "http.request"]


def test_a_body_that_creeps_is_given_up() -> None:
    """A byte now and then is no upload, however long it goes on."""
    received: list[str] = []

    async def receive() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while not received or received[-1] != "http.disconnect":
            received.append((await receive())["type"])

    async def run() -> None:
        await PatientBodies(application, seconds=0.1)({"type": "http"}, receive, None)  # type: ignore[arg-type]

    asyncio.run(asyncio.wait_for(run(), 20))
    assert 2 <= len(received) < 20


def test_a_large_body_at_the_pace_of_a_line_is_taken() -> None:
    received: list[int] = []
    parts = 20

    async def receive() -> Any:
        await asyncio.sleep(0.02)
        received.append(1)
        return {"type": "http.request", "body": b"x" * 1000, "more_body": len(received) < parts}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            continue

    async def run() -> None:
        await PatientBodies(application, seconds=0.1)({"type": "http"}, receive, None)  # type: ignore[arg-type]

    asyncio.run(run())
    assert len(received) == parts


@pytest.mark.parametrize("turns", range(8))
def test_a_request_whose_turn_comes_with_its_body_goes_on(turns: int) -> None:
    """A cancellation that comes at the same moment as the body must not be lost: with `wait_for`,
    Python 3.11 loses it after one or two turns of the loop."""
    is_read = False

    async def receive() -> Any:
        nonlocal is_read
        if is_read:
            await asyncio.Event().wait()
        is_read = True
        return {"type": "http.request", "body": b"x", "more_body": False}

    async def send(message: Any) -> None:
        raise AssertionError("nothing is sent here")

    async def its_turn() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    bodies = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        early = EarlyMessages(receive)
        assert await early.client_stays(its_turn())
        bodies.append((await early.receive())["body"])

    async def run() -> None:
        async with asyncio.timeout(5):
            await PatientBodies(application)({"type": "http"}, receive, send)

    asyncio.run(run())
    assert bodies == [b"x"]
