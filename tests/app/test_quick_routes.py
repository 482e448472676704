"""Routes whose request is dealt with in one thread answer like the framework's own."""

import threading
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from fastapi import APIRouter, Depends, FastAPI, Form, Header, Response
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from app.core.bodies import StrictRoute, takes
from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.core.problems import install_error_handlers
from app.core.quick import AfterCommit, QuickRoute
from app.core.web import DatabaseSession

ID = str(uuid4())
KEY = {"Idempotency-Key": "0123456789"}


class Given(BaseModel):
    numbers: list[int] = Field(max_length=3)
    text: str = Field(default="", max_length=5)
    share: float | None = None


class Returned(BaseModel):
    item: UUID
    numbers: list[int]
    text: str
    share: float | None
    key: str


def an_application(route: type[Any]) -> TestClient:
    router = APIRouter(route_class=route)

    @router.post("/items/{item}", status_code=201)
    def required(
        item: UUID,
        body: Given,
        session: DatabaseSession,
        idempotency_key: Annotated[str, Header(min_length=8, max_length=12)],
    ) -> Returned:
        return Returned(item=item, key=idempotency_key, **body.model_dump())

    @router.post("/items/{item}/maybe", status_code=204)
    def optional(item: UUID, session: DatabaseSession, body: Given | None = None) -> Response:
        return Response(status_code=204, headers={"text": body.text if body else "none"})

    @router.get("/items/{item}")
    def bare(item: UUID, session: DatabaseSession) -> Given:
        return Given(numbers=[1], share=0.1)

    app = FastAPI()
    app.include_router(router)
    install_error_handlers(app)
    return TestClient(app, raise_server_exceptions=False)


JSON = {"content-type": "application/json"}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", f"/items/{ID}", {"json": {"numbers": [1, 2]}, "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": {"numbers": [1], "share": 1e-7}, "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": {"numbers": ["a"], "text": "too long"}, "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": {"numbers": [1, 2, 3, 4]}, "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": {}, "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": [], "headers": KEY}),
    ("POST", f"/items/{ID}", {"json": "text", "headers": KEY}),
    ("POST", f"/items/{ID}", {"content": b"null", "headers": {**KEY, **JSON}}),
    ("POST", f"/items/{ID}", {"content": b"{", "headers": {**KEY, **JSON}}),
    ("POST", f"/items/{ID}", {"content": b'{"numbers": [NaN]}', "headers": {**KEY, **JSON}}),
    ("POST", f"/items/{ID}", {"content": b"[" * 60 + b"]" * 60, "headers": {**KEY, **JSON}}),
    ("POST", f"/items/{ID}", {"content": b"\xff", "headers": {**KEY, **JSON}}),
    ("POST", f"/items/{ID}", {"content": b'{"numbers": [1]}', "headers": KEY}),
    (
        "POST",
        f"/items/{ID}",
        {"content": b'{"numbers": [1]}', "headers": {**KEY, "content-type": "text/plain"}},
    ),
    (
        "POST",
        f"/items/{ID}",
        {
            "content": b'{"numbers": [1]}',
            "headers": {**KEY, "content-type": "application/some+json; charset=utf-8"},
        },
    ),
    ("POST", f"/items/{ID}", {"headers": KEY}),
    ("POST", f"/items/{ID}", {"json": {"numbers": []}}),
    ("POST", f"/items/{ID}", {"json": {"numbers": []}, "headers": {"Idempotency-Key": "short"}}),
    ("POST", "/items/none", {"json": {"numbers": "x"}, "headers": {"Idempotency-Key": "x"}}),
    ("POST", f"/items/{ID}/maybe", {}),
    ("POST", f"/items/{ID}/maybe", {"json": {"numbers": [], "text": "abc"}}),
    ("POST", f"/items/{ID}/maybe", {"content": b"null", "headers": JSON}),
    ("POST", f"/items/{ID}/maybe", {"json": {"numbers": 1}}),
    ("GET", f"/items/{ID}", {}),
    ("GET", "/items/none", {}),
    ("PUT", f"/items/{ID}", {}),
]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("request_", REQUESTS, ids=range(len(REQUESTS)))
def test_answers_are_those_of_the_framework(request_: tuple[str, str, dict[str, Any]]) -> None:
    method, path, options = request_
    theirs, ours = (
        an_application(route).request(method, path, **options)
        for route in (StrictRoute, QuickRoute)
    )
    assert (ours.status_code, ours.content) == (theirs.status_code, theirs.content)
    assert ours.headers == theirs.headers


@pytest.mark.usefixtures("environment")
def test_one_thread_commits_and_responds_and_errors_roll_back() -> None:
    router, events = APIRouter(route_class=QuickRoute), list[tuple[str, int]]()

    def note(what: str) -> None:
        events.append((what, threading.get_ident()))

    def respond() -> Response:
        note("response")
        return Response(status_code=204)

    @router.post("/later", response_model=None)
    def later(session: DatabaseSession) -> AfterCommit:
        note("route")
        session.add(OutboxMessage(task="later", arguments={}))
        return AfterCommit(respond)

    @router.post("/failed", response_model=None)
    def failed(session: DatabaseSession) -> Response:
        session.add(OutboxMessage(task="failed", arguments={}))
        session.flush()
        raise ValueError("of the route")

    app = FastAPI()
    app.include_router(router)
    client = TestClient(app, raise_server_exceptions=False)

    def committed(_: Session) -> None:
        note("commit")

    event.listen(Session, "after_commit", committed)
    try:
        assert client.post("/later").status_code == 204
    finally:
        event.remove(Session, "after_commit", committed)
    assert [what for what, _ in events] == ["route", "commit", "response"]
    assert len({thread for _, thread in events}) == 1
    assert client.post("/failed").status_code == 500
    with transaction() as session:
        assert session.scalars(select(OutboxMessage.task)).all() == ["later"]


def something() -> str:
    return "something"


async def is_a_coroutine(session: DatabaseSession) -> Given:
    return Given(numbers=[])


def has_a_query(session: DatabaseSession, page: int = 1) -> Given:
    return Given(numbers=[])


def has_a_form(session: DatabaseSession, name: Annotated[str, Form()]) -> Given:
    return Given(numbers=[])


def depends_on_more(session: DatabaseSession, more: Annotated[str, Depends(something)]) -> Given:
    return Given(numbers=[])


@takes(lambda: 2**30)
def takes_much(session: DatabaseSession, body: Given) -> Given:
    return Given(numbers=[])


@pytest.mark.parametrize(
    "endpoint", [is_a_coroutine, has_a_query, has_a_form, depends_on_more, takes_much]
)
def test_what_such_a_route_does_not_read_is_refused_when_it_is_made(endpoint: Any) -> None:
    with pytest.raises(TypeError, match=endpoint.__name__):
        APIRouter(route_class=QuickRoute).post("/")(endpoint)
