"""The transaction of a request: one, ended before the reply, and by an annotator's route in its own
thread."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event, func, select, text
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Session

from app.core.bodies import takes
from app.core.database import get_engine, transaction
from app.core.outbox import OutboxMessage
from app.core.problems import install_error_handlers
from app.core.web import BriefRoute, DatabaseSession

Moments = list[tuple[str, int]]


@contextmanager
def moments() -> Iterator[Moments]:
    """What ends transactions, and the thread that it happens in."""
    events: Moments = []
    listeners = {
        name: lambda _, name=name: events.append((name, threading.get_ident()))
        for name in ("after_commit", "after_rollback")
    }
    for name, listener in listeners.items():
        event.listen(Session, name, listener)
    try:
        yield events
    finally:
        for name, listener in listeners.items():
            event.remove(Session, name, listener)


def an_application(route: type[Any], events: Moments) -> TestClient:
    router = APIRouter(route_class=route)

    @router.post("/kept")
    def kept(session: DatabaseSession) -> dict[str, str]:
        session.add(OutboxMessage(task="kept", arguments={}))
        events.append(("route", threading.get_ident()))
        return {}

    @router.post("/failed")
    def failed(session: DatabaseSession) -> dict[str, str]:
        session.add(OutboxMessage(task="failed", arguments={}))
        session.flush()
        raise ValueError("of the route")

    @router.post("/unused")
    def unused(session: DatabaseSession) -> dict[str, str]:
        return {}

    @router.post("/late")
    def late(session: DatabaseSession) -> dict[str, str]:
        session.commit()
        session.execute(text("SELECT 1"))
        return {}

    application = FastAPI()
    application.include_router(router)
    return TestClient(application)


def n_messages() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(OutboxMessage)) or 0


def n_busy() -> int:
    pool: Any = get_engine().pool
    busy: int = pool.checkedout()
    return busy


@pytest.mark.usefixtures("environment")
def test_a_brief_route_commits_in_its_own_thread() -> None:
    with moments() as events:
        assert an_application(BriefRoute, events).post("/kept").is_success
    names = [name for name, _ in events]
    assert names == ["route", "after_commit"]
    assert events[0][1] == events[1][1]
    assert n_messages() == 1


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("route", [BriefRoute, APIRouter().route_class])
def test_what_a_route_did_is_kept_or_undone_and_no_connection_stays_out(route: type[Any]) -> None:
    client = an_application(route, [])
    assert client.post("/kept").is_success
    with moments() as events, pytest.raises(ValueError, match="of the route"):
        client.post("/failed")
    assert [name for name, _ in events] == ["after_rollback"]
    assert client.post("/unused").is_success
    assert n_messages() == 1
    assert n_busy() == 0


@pytest.mark.usefixtures("environment")
def test_a_transaction_ends_while_all_threads_wait_for_something_else() -> None:
    """Such as platforms, that requests ask before they open a session: with it goes what is locked,
    which everybody else may be waiting for."""
    is_over = threading.Event()
    application = FastAPI()

    @application.post("/kept")
    async def kept(session: DatabaseSession) -> dict[str, str]:
        await to_thread.run_sync(lambda: session.add(OutboxMessage(task="kept", arguments={})))
        await to_thread.run_sync(session.flush)
        most = int(to_thread.current_default_thread_limiter().total_tokens)
        waiting.extend(
            asyncio.create_task(to_thread.run_sync(is_over.wait, 20.0)) for _ in range(most)
        )
        await asyncio.sleep(0.1)
        return {}

    @application.post("/over")
    async def over() -> dict[str, int]:
        is_over.set()
        await asyncio.gather(*waiting)
        return {}

    waiting: list[asyncio.Task[bool]] = []
    began = time.monotonic()
    with TestClient(application) as client:
        assert client.post("/kept").is_success
        assert n_messages() == 1
        assert time.monotonic() - began < 15
        assert client.post("/over").is_success
    assert len(waiting) > 1


def test_what_cannot_be_committed_at_its_return_is_no_brief_route() -> None:
    async def later(session: DatabaseSession) -> None:
        raise AssertionError("never called")

    def part_by_part(session: DatabaseSession) -> Iterator[str]:
        yield ""

    @takes(lambda: 10)
    def much(session: DatabaseSession) -> None:
        raise AssertionError("never called")

    for endpoint in (later, part_by_part, much):
        with pytest.raises(TypeError, match=endpoint.__name__):
            APIRouter(route_class=BriefRoute).post("/one")(endpoint)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("route", [BriefRoute, APIRouter().route_class])
def test_only_where_it_is_so_somebody_is_told_that_nothing_was_stored(route: type[Any]) -> None:
    router = APIRouter(route_class=route)

    @router.post("/bad-reply")
    def bad_reply(session: DatabaseSession) -> dict[str, int]:
        session.add(OutboxMessage(task="kept", arguments={}))
        return cast(dict[str, int], {"n": "no number"})

    application = FastAPI()
    application.include_router(router)
    install_error_handlers(application)
    with TestClient(application, raise_server_exceptions=False) as client:
        reply = client.post("/bad-reply")
    assert reply.status_code == 500
    assert ("Nothing was saved" in reply.json()["detail"]) == (n_messages() == 0)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("route", [BriefRoute, APIRouter().route_class])
def test_nothing_is_done_after_the_transaction(route: type[Any]) -> None:
    with pytest.raises(InvalidRequestError, match="closed transaction"):
        an_application(route, []).post("/late")
    assert n_busy() == 0


@pytest.mark.usefixtures("environment")
def test_connections_that_postgresql_has_closed_are_replaced() -> None:
    """As after a restart: without a question to each before it is used."""
    get_engine().dispose()
    with transaction() as first, transaction() as second:
        for session in (first, second):
            session.execute(text("SELECT 1"))
    others = text(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with transaction() as session:
        assert session.scalar(others) == 1
    with transaction() as first, transaction() as second:
        for session in (first, second):
            assert session.scalar(text("SELECT 1")) == 1
