"""What every call goes through: authentication, faults, and checks of request and response."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError, ResponseValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from emulators.prolific.errors import TITLES, Refused, bad, error_body, not_found
from emulators.prolific.faults import BEFORE, Fault
from emulators.prolific.models.common import Error, Strict
from emulators.prolific.objects import Call, Researcher
from emulators.prolific.world import World

T = TypeVar("T")
Handler = Callable[[Request], Coroutine[object, object, Response]]


def world_of(request: Request) -> World:
    world: World = request.app.state.world
    return world


async def _the_world(request: Request) -> World:
    """Return the world. It is async because other dependencies run in a thread, without a lock."""
    return world_of(request)


async def caller(
    world: Annotated[World, Depends(_the_world)],
    authorization: Annotated[str | None, Header()] = None,
) -> Researcher:
    """The researcher whose token is in `Authorization: Token <token>`."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme != "Token" or not token:
        raise Refused(401, "Send your API token in the header: Authorization: Token <token>.")
    for known, researcher in world.researchers.items():
        if secrets.compare_digest(known.encode(), token.encode()):
            return researcher
    raise Refused(401, "The API token is not valid.")


TheWorld = Annotated[World, Depends(_the_world)]
Me = Annotated[Researcher, Depends(caller)]


class StrictRoute(APIRoute):
    """A route that applies faults, records calls and refuses unknown query parameters."""

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()
        known = _query_names(self.dependant)
        operation = self.operation_id or self.name

        async def handle(request: Request) -> Response:
            world = world_of(request)
            world.clock.run_due()
            call = _Recorded(world, operation, request.url.path)
            before = world.faults.first(operation, *BEFORE)
            if before:
                return await call.fail(before)
            try:
                unknown = set(request.query_params) - known
                if unknown:
                    raise bad(
                        {name: ["This call does not have this parameter."] for name in unknown}
                    )
                reply = await handler(request)
            except (Refused, RequestValidationError, ResponseValidationError) as error:
                reply = _refusal(world, operation, error)
            after = world.faults.first(operation, "5xx-after", "timeout-after")
            if after and reply.status_code < 400:
                return await call.fail(after)
            call.done(reply.status_code)
            return reply

        return handle


def _query_names(dependant: Dependant) -> set[str]:
    names = {field.alias for field in dependant.query_params}
    return names.union(*(_query_names(below) for below in dependant.dependencies))


class _Recorded:
    """One call, with its record and its faults."""

    def __init__(self, world: World, operation: str, path: str) -> None:
        self.world, self.operation, self.path = world, operation, path

    def done(self, status: int, fault: str | None = None) -> None:
        self.world.calls.append(Call(self.world.now, self.operation, self.path, status, fault))

    async def fail(self, fault: Fault) -> Response:
        timeout = fault.kind.startswith("timeout")
        status = 429 if fault.kind == "429" else 504 if timeout else fault.status
        self.done(status, fault.kind)
        if timeout:
            seconds = self.world.options.fault_seconds
            await asyncio.sleep(seconds if fault.seconds is None else fault.seconds)
        return refusal(status, "This fault was switched on in the emulator.")


def _refusal(world: World, operation: str, error: Exception) -> Response:
    if isinstance(error, Refused):
        return refusal(error.status, error.detail, error.additional)
    if isinstance(error, RequestValidationError):
        return refusal(400, _by_field(error.errors()))
    world.violate(operation, str(error))
    return refusal(500, "The emulator's response breaks its own model. See /emulator/violations.")


def refusal(
    status: int, detail: str | list[str] | dict[str, list[str]], additional: str | None = None
) -> JSONResponse:
    body = error_body(status, detail, additional)
    Error.model_validate(body)
    headers = {"Retry-After": "1"} if status == 429 else None
    return JSONResponse(body, status, headers)


def _by_field(problems: Sequence[object]) -> dict[str, list[str]]:
    """Validation errors in Prolific's form: a list of sentences for each field."""
    fields: dict[str, list[str]] = {}
    for problem in problems:
        assert isinstance(problem, dict)
        place = [str(part) for part in problem["loc"][1:] if isinstance(part, str)]
        fields.setdefault(place[0] if place else "non_field_errors", []).append(problem["msg"])
    return fields


class Paging(Strict):
    page: Annotated[int, Query(ge=1)] = 1
    page_size: Annotated[int, Query(ge=1, le=1000)] = 20


async def paging(
    page: Annotated[int, Query(ge=1)] = 1, page_size: Annotated[int, Query(ge=1, le=1000)] = 20
) -> Paging:
    return Paging(page=page, page_size=page_size)


Page = Annotated[Paging, Depends(paging)]


def listed(
    request: Request, page: Paging, items: Sequence[T], shape: Callable[[T], dict[str, object]]
) -> dict[str, object]:
    """One page of a list, with links to the pages next to it. A page past the end is a 404."""
    last = max(1, -(-len(items) // page.page_size))
    if page.page > last:
        raise not_found(f"Page {page.page}")

    def link(number: int, title: str) -> dict[str, object]:
        if not 1 <= number <= last:
            return {"href": None, "title": title}
        query = {**request.query_params, "page": str(number), "page_size": str(page.page_size)}
        return {"href": f"{request.url.replace(query=urlencode(query))}", "title": title}

    start = (page.page - 1) * page.page_size
    return {
        "results": [shape(item) for item in items[start : start + page.page_size]],
        "_links": {
            "self": link(page.page, "Current"),
            "next": link(page.page + 1, "Next"),
            "previous": link(page.page - 1, "Previous"),
            "last": link(last, "Last"),
        },
        "meta": {"count": len(items)},
    }


def add_error_pages(app: FastAPI) -> None:
    """Add handlers for errors outside the API's routes: unknown addresses and refused pages."""

    async def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return refusal(status, TITLES.get(status, "Error") + f": {request.url.path}")

    async def refused(request: Request, error: Exception) -> Response:
        return _refusal(world_of(request), request.url.path, error)

    app.add_exception_handler(HTTPException, unknown)
    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, refused)
    app.add_exception_handler(ResponseValidationError, refused)
