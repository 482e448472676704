"""What the body of a request may be: how large, how deep, and JSON as RFC 8259 has it.

Limits of size are enforced while a body arrives, whether its length was declared or it comes in
chunks, before anything keeps it. Routes that take more than the rest say so, with `@takes`.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import orjson
from fastapi import HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.settings import get_settings

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

# Of JSON and forms; read into memory, and many times as large there once it is parsed.
MOST_BYTES = 2**20
# Of long lists: a million numbers, or four million letters.
MOST_BYTES_OF_LISTS = 16 * 2**20
# Lists and objects inside each other. Whoever walks such a value later may do so by recursion.
DEEPEST = 50


def uploads() -> int:
    """The most bytes of files in one request."""
    return get_settings().max_upload_bytes


def long_lists() -> int:
    return MOST_BYTES_OF_LISTS


class BodyRefused(HTTPException):
    """What the framework hands on when it is raised while a body is read, with a code of ours."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(status, detail)
        self.code = code


_most_of: dict[Callable[..., Any], Callable[[], int]] = {}


def takes(most: Callable[[], int]) -> Callable[[Endpoint], Endpoint]:
    """Marks the function of a route whose bodies may have so many bytes."""

    def marked(endpoint: Endpoint) -> Endpoint:
        _most_of[endpoint] = most
        return endpoint

    return marked


class BodyLimits:
    """Answers 413 as soon as a route reads more than it takes.

    A route that reads nothing answers as it likes; the server closes the connection then. FastAPI's
    own limit would answer in plain text, past the other middleware.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        seen = int(declared) if declared.isdecimal() else 0
        read = 0

        async def receive_some() -> Message:
            nonlocal read
            # Known by now: reading is left to routes.
            most = _most_of.get(scope.get("endpoint", None), lambda: MOST_BYTES)()
            if seen > most:
                raise _too_large(most)
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise _too_large(most)
            return message

        await self.app(scope, receive_some, send)


def _too_large(most: int) -> BodyRefused:
    return BodyRefused(
        413, "body_too_large", f"The body is too large: {most} bytes are the most here."
    )


class StrictRequest(Request):
    """A request whose JSON is read strictly.

    No NaN or Infinity, no halves of surrogate pairs, no bytes that are not UTF-8: what PostgreSQL
    cannot hold and other programs cannot read.
    """

    async def json(self) -> Any:
        """Raises json.JSONDecodeError, and BodyRefused for what is nested too deep."""
        if not hasattr(self, "_json"):
            body = await self.body()
            value = orjson.loads(body)
            if body.count(b"[") + body.count(b"{") > DEEPEST and is_deeper(value, DEEPEST):
                detail = f"The body is nested deeper than {DEEPEST} levels."
                raise BodyRefused(422, "too_deep", detail)
            self._json = value
        return self._json


def is_deeper(value: Any, most: int) -> bool:
    """Whether more than so many lists and objects lie inside each other."""
    level = [value] if isinstance(value, list | dict) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
    return bool(level)


class StrictRoute(APIRoute):
    """A route that reads JSON strictly."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def answer_strictly(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return answer_strictly
