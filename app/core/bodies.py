"""Limits on request bodies: size, depth, and strict JSON (RFC 8259).

Size limits are enforced while a body arrives, whether its length was declared or it comes in
chunks, and before anything stores it. Routes that accept more than the default declare it with
`@takes`.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar
from uuid import UUID

import orjson
from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core import places
from app.core.errors import LikewiseError
from app.core.heavy import elsewhere, is_heavy, is_somebodys
from app.core.settings import get_settings

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

# The limit for JSON and forms. They are read into memory, where parsed data takes many times as
# much.
MOST_BYTES = 2**20
# The limit for long lists: a million numbers, or four million letters.
MOST_BYTES_OF_LISTS = 16 * 2**20
# The nesting limit for lists and objects, since code that walks such a value later may recurse.
DEEPEST = 50
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_ROUND_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def uploads() -> int:
    """Return the maximum number of bytes of files in one request."""
    return get_settings().max_upload_bytes


def long_lists() -> int:
    return MOST_BYTES_OF_LISTS


class BodyRefused(HTTPException):
    """An error raised while a body is read, in the type that the framework passes on, with our
    code."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code


_most_of: dict[Callable[..., Any], Callable[[], int]] = {}


def takes(most: Callable[[], int]) -> Callable[[Endpoint], Endpoint]:
    """Mark the function of a route whose bodies may have up to so many bytes."""

    def marked(endpoint: Endpoint) -> Endpoint:
        _most_of[endpoint] = most
        return endpoint

    return marked


def takes_more(endpoint: Callable[..., Any]) -> bool:
    """Tell whether the function is marked by `takes`."""
    return endpoint in _most_of


class BodyLimits:
    """Responds 413 as soon as a route reads more than its limit, and 401 as soon as someone who is
    not signed in sends more than MOST_BYTES, because files are on the disk before a route is
    called.

    A route that does not read its body responds as usual, and the server then closes the
    connection. FastAPI's own limit would respond in plain text, bypassing the other middleware.

    A request with such a large body holds one of its account's places until it is answered; without
    a free place it gets 429.

    admit: returns the account that sends the request; raises LikewiseError if it may not send much
    """

    def __init__(self, app: ASGIApp, admit: Callable[[Scope], UUID]) -> None:
        self.app = app
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        seen = int(declared) if declared.isdecimal() else 0
        read, account_id = 0, None

        async def check() -> None:
            nonlocal account_id
            # The route is known by now, because only routes read bodies.
            most = _most_of.get(scope.get("endpoint", None), lambda: MOST_BYTES)()
            if max(seen, read) > most:
                raise _too_large(most)
            if max(seen, read) > MOST_BYTES and account_id is None:
                account_id = await self._admitted(scope)

        async def receive_some() -> Message:
            nonlocal read
            # Check the declared length before anything is read, because a client may declare much
            # and send nothing.
            await check()
            message = await receive()
            read += len(message.get("body", b""))
            await check()
            return message

        try:
            await self.app(scope, receive_some, send)
        finally:
            if account_id is not None:
                places.uploads.leave(account_id)

    async def _admitted(self, scope: Scope) -> UUID:
        try:
            account_id = await run_in_threadpool(self._admit, scope)
            await places.uploads.take(account_id)
            return account_id
        except LikewiseError as error:
            # The framework turns any other error raised while a body is read into 400.
            raise BodyRefused(error.status, error.code, str(error), error.headers) from error


def _too_large(most: int) -> BodyRefused:
    return BodyRefused(
        413, "body_too_large", f"The request body is too large. The limit here is {most} bytes."
    )


class StrictRequest(Request):
    """A request whose JSON is read strictly.

    It rejects NaN, Infinity, unpaired surrogates and bytes that are not UTF-8, because PostgreSQL
    cannot store them and other programs cannot read them.
    """

    async def json(self) -> Any:
        """Parse the body; raises json.JSONDecodeError, and BodyRefused if it is nested too deep."""
        if not hasattr(self, "_json"):
            body = await self.body()
            value = orjson.loads(body)
            if is_deeper(body, DEEPEST):
                detail = f"The request body is nested more than {DEEPEST} levels deep."
                raise BodyRefused(422, "too_deep", detail)
            self._json = value
        return self._json


def is_deeper(json: bytes, most: int) -> bool:
    """Tell whether lists and objects are nested deeper than the limit in JSON that has been parsed.

    This counts brackets in the text, which takes milliseconds for a million empty lists; walking
    the values would take a second.
    """
    if json.count(b"[") + json.count(b"{") <= most:
        return False
    left = _STRINGS.sub(b"", json).translate(_ROUND_AS_SQUARE, _ALL_BUT_BRACKETS)
    for _ in range(most):
        left = left.replace(b"[]", b"")
    return bool(left)


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, and forwards its requests if they are heavy."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        other = elsewhere() if is_heavy(self.endpoint) and is_somebodys(scope) else None
        if other is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
        else:
            await other.answer(scope, receive, send)

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def answer_strictly(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return answer_strictly
