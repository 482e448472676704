"""What the body of a request may be: how large, how deep, and JSON as RFC 8259 has it.

Limits of size are enforced while a body arrives, whether its length was declared or it comes in
chunks, before anything keeps it. Routes that take more than the rest say so, with `@takes`.
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

# Of JSON and forms; read into memory, and many times as large there once it is parsed.
MOST_BYTES = 2**20
# Of long lists: a million numbers, or four million letters.
MOST_BYTES_OF_LISTS = 16 * 2**20
# Lists and objects inside each other. Whoever walks such a value later may do so by recursion.
DEEPEST = 50
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_ROUND_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def uploads() -> int:
    """The most bytes of files in one request."""
    return get_settings().max_upload_bytes


def long_lists() -> int:
    return MOST_BYTES_OF_LISTS


class BodyRefused(HTTPException):
    """What the framework hands on when it is raised while a body is read, with a code of ours."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code


_most_of: dict[Callable[..., Any], Callable[[], int]] = {}


def takes(most: Callable[[], int]) -> Callable[[Endpoint], Endpoint]:
    """Marks the function of a route whose bodies may have so many bytes."""

    def marked(endpoint: Endpoint) -> Endpoint:
        _most_of[endpoint] = most
        return endpoint

    return marked


def takes_more(endpoint: Callable[..., Any]) -> bool:
    """Whether it is marked by `takes`."""
    return endpoint in _most_of


class BodyLimits:
    """Answers 413 as soon as a route reads more than it takes, and 401 as soon as somebody who is
    not signed in sends more than MOST_BYTES: files lie on the disk before a route is asked.

    A route that reads nothing answers as it likes; the server closes the connection then. FastAPI's
    own limit would answer in plain text, past the other middleware.

    Those who send that much have a place of their account's until they are answered; 429 without.

    admit: the account that sends; raises LikewiseError for whoever may not send much
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
            # Known by now: reading is left to routes.
            most = _most_of.get(scope.get("endpoint", None), lambda: MOST_BYTES)()
            if max(seen, read) > most:
                raise _too_large(most)
            if max(seen, read) > MOST_BYTES and account_id is None:
                account_id = await self._admitted(scope)

        async def receive_some() -> Message:
            nonlocal read
            # Once before anything is waited for: much may be declared and nothing sent.
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
            # The framework makes 400 of any other error that is raised while a body is read.
            raise BodyRefused(error.status, error.code, str(error), error.headers) from error


def _too_large(most: int) -> BodyRefused:
    return BodyRefused(
        413, "body_too_large", f"The request body is too large. The limit here is {most} bytes."
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
            if is_deeper(body, DEEPEST):
                detail = f"The request body is nested more than {DEEPEST} levels deep."
                raise BodyRefused(422, "too_deep", detail)
            self._json = value
        return self._json


def is_deeper(json: bytes, most: int) -> bool:
    """Whether more than so many lists and objects lie inside each other; json: has been parsed.

    Counted in the text: a million empty lists are walked in milliseconds, as values in a second.
    """
    if json.count(b"[") + json.count(b"{") <= most:
        return False
    left = _STRINGS.sub(b"", json).translate(_ROUND_AS_SQUARE, _ALL_BUT_BRACKETS)
    for _ in range(most):
        left = left.replace(b"[]", b"")
    return bool(left)


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, and hands its requests over if they are heavy."""

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
