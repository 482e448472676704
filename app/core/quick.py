"""Routes whose whole request is dealt with in one thread, for what annotators send all the time.

The framework changes threads several times for each request and walks the tree of dependencies; on
the hot path that costs more than the database. Here, the body is read in the event loop, and one
thread parses it, checks it by the same fields that the API's description shows, opens the
transaction, calls the route's function, commits, and writes the response.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, ClassVar

import orjson
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.core.bodies import DEEPEST, BodyRefused, StrictRoute, is_deeper, takes_more
from app.core.database import QUICK_CONNECTIONS, transaction

# Each thread holds a connection while it runs, so that nobody waits for one. Every event loop has a
# limit of its own, because a thread's end wakes those that wait in its loop.
_threads: RunVar[CapacityLimiter] = RunVar("quick_threads")


# What was not sent; `null` was.
_NOTHING = object()


@dataclass(frozen=True)
class AfterCommit:
    """A response that is made without the database, when the transaction has ended: reading files
    keeps no connection."""

    make: Callable[[], Response]


class QuickRoute(StrictRoute):
    """A route whose function has a `session`, and perhaps a `request`, parameters of the path and
    of headers, one body, and what `given` returns; it returns a model, a response or AfterCommit.

    Its transaction has committed before the response is sent.
    """

    # Names of the dependencies that this kind of route provides itself.
    provides: ClassVar[frozenset[str]] = frozenset({"session"})

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if iscoroutinefunction(endpoint) or isgeneratorfunction(endpoint) or takes_more(endpoint):
            raise TypeError(f"{endpoint.__name__} cannot run in one thread.")
        super().__init__(path, endpoint, **options)
        asked, body = self.dependant, self.body_field
        others = {each.name for each in asked.dependencies} - self.provides
        is_form = body is not None and isinstance(body.field_info, Form)
        if others or asked.query_params or asked.cookie_params or is_form:
            raise TypeError(f"{endpoint.__name__} asks for what this kind of route does not read.")

    def given(self, request: Request) -> dict[str, Any]:
        """Return values of parameters that this kind of route finds out from the request."""
        return {}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            # Routes without a body do not wait for what somebody sends all the same.
            body = await request.body() if self.body_field is not None else b""
            return await to_thread.run_sync(self._answer, request, body, limiter=_limiter())

        return answer

    def _answer(self, request: Request, body: bytes) -> Response:
        values = self._values(request, body)
        with transaction() as session:
            reply = self.endpoint(**self._wanted(session, request), **values)
        if isinstance(reply, AfterCommit):
            return reply.make()
        if isinstance(reply, Response):
            return reply
        assert isinstance(reply, BaseModel)
        return Response(
            reply.__pydantic_serializer__.to_json(reply),
            self.status_code or 200,
            media_type="application/json",
        )

    def _wanted(self, session: Session, request: Request) -> dict[str, Any]:
        name = self.dependant.request_param_name
        return {"session": session, **({name: request} if name else {})}

    def _values(self, request: Request, body: bytes) -> dict[str, Any]:
        """Return the function's other arguments. Raises what the framework would: for a body that
        is no JSON, then for missing rights, then for values that do not fit."""
        sent = _json_of(request, body) if body else _NOTHING
        values = self.given(request)
        errors: list[Any] = []
        dependant = self.dependant
        sources = (("path", dependant.path_params, request.path_params),
                   ("header", dependant.header_params, request.headers))  # fmt: skip
        for place, fields, texts in sources:
            for field in fields:
                text = texts.get(field.alias, _NOTHING)
                self._check(field, text, (place, field.alias), values, errors)
        if self.body_field is not None:
            self._check(self.body_field, sent, ("body",), values, errors, name="body")
        if errors:
            raise RequestValidationError(errors, body=None if sent is _NOTHING else sent)
        return values

    @staticmethod
    def _check(
        field: Any,
        value: Any,
        place: tuple[str, ...],
        values: dict[str, Any],
        errors: list[Any],
        name: str = "",
    ) -> None:
        """Add the field's value to `values`, or what is wrong with it to `errors`."""
        if value is _NOTHING and not field.field_info.is_required():
            values[name or field.name] = field.get_default()
            return
        if value is _NOTHING:
            errors.append({"type": "missing", "loc": place, "msg": "Field required", "input": None})
            return
        values[name or field.name], wrong = field.validate(value, values, loc=place)
        errors += wrong


def _json_of(request: Request, body: bytes) -> Any:
    """Return the parsed body, or its bytes if it does not say that it is JSON, which fit no
    model."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not (kind == "application/json" or (kind[:12] == "application/" and kind[-5:] == "+json")):
        return body
    try:
        value = orjson.loads(body)
    except json.JSONDecodeError as error:
        about = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error"}
        raise RequestValidationError(
            [{**about, "input": {}, "ctx": {"error": error.msg}}], body=error.doc
        ) from error
    if is_deeper(body, DEEPEST):
        detail = f"The request body is nested more than {DEEPEST} levels deep."
        raise BodyRefused(422, "too_deep", detail)
    return value


def _limiter() -> CapacityLimiter:
    limiter = _threads.get(None)
    if limiter is None:
        limiter = CapacityLimiter(QUICK_CONNECTIONS)
        _threads.set(limiter)
    return limiter
