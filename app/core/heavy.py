"""Heavy requests are handled by a separate process.

Slow Python work (images, archives, tables, exports, maps) would delay the requests of annotators,
through its thread or Python's lock. `likewise.web_server` starts a second process with the same
application and a lower priority. A route marked `heavy` forwards its requests to that process,
headers and body as they arrive, and passes its response back. Without such a process, as in tests
without a server, the requests are handled in place.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar, TypeVar

import httpcore
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.core.errors import LikewiseError
from app.core.logs import request_id
from app.core.pace import Pace, Use
from app.core.places import EarlyMessages, Place, Places

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
logger = logging.getLogger(__name__)
# Seconds that the other process may take to start or restart.
START_SECONDS = 20.0
LOOK_SECONDS = 0.5
# Idle connections to the process, kept for less time than its own keep-alive. There are few,
# because httpcore looks at each of them for every request.
KEPT_SECONDS, KEPT_CONNECTIONS = 30.0, 10
# Requests without a response yet: in progress per account, waiting per account, and in total.
AT_ONCE, IN_LINE, AT_ONCE_IN_ALL = 4, 200, 64
# For the pace of an account's requests: a page with a map and charts, and one of its requests.
CREDIT_SECONDS, RESERVED_SECONDS = 1.5, 0.2
# Hop-by-hop headers (RFC 9110, section 7.6.1), and those that this process sets itself.
OWN_HEADERS = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
    b"proxy-connection", b"te", b"trailer", b"upgrade", b"expect",
    b"x-forwarded-for", b"x-forwarded-proto", b"x-request-id",
})  # fmt: skip
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class HeavyUnavailable(LikewiseError):
    """The process for heavy requests cannot be reached."""

    code = "unavailable"
    status = 503
    headers: ClassVar = {"Retry-After": "5"}


_heavy: set[Callable[..., Any]] = set()


def heavy(endpoint: Endpoint) -> Endpoint:
    """Mark the function of a route whose requests are heavy; the route must be a `StrictRoute`."""
    _heavy.add(endpoint)
    return endpoint


def is_heavy(endpoint: Callable[..., Any]) -> bool:
    """Tell whether the function is marked by `heavy`."""
    return endpoint in _heavy


class Elsewhere:
    """The process for heavy requests, from this process's side.

    socket: path of the Unix socket that it listens on; want: called for each request, so that the
    process can be started
    """

    def __init__(self, socket: str, want: Callable[[], None]) -> None:
        self._want = want
        self._pool = httpcore.AsyncConnectionPool(
            uds=socket,
            max_connections=None,
            max_keepalive_connections=KEPT_CONNECTIONS,
            keepalive_expiry=KEPT_SECONDS,
        )
        self._places = Places(
            AT_ONCE,
            IN_LINE,
            "Your account has too many slow requests in progress. Wait until some of them "
            "have finished.",
        )
        self._pace, self._upload_pace = (Pace(CREDIT_SECONDS, RESERVED_SECONDS) for _ in range(2))
        self._in_all = asyncio.Semaphore(AT_ONCE_IN_ALL)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request. This ends early if the client disconnects.

        The request gives up its place among all requests of its account and takes one for heavy
        requests, so that these do not block the account's other pages. Uploads have a pace of their
        own, which counts from the end of the body: a slow network costs nothing. Raises
        TooManyAtOnce, HeavyUnavailable, ClientDisconnect, and anything that `receive` raises.
        """
        place: Place = scope["state"]["place"]
        place.leave()
        self._want()
        await self._places.take(place.holder)
        pace = self._upload_pace if _has_body(scope) else self._pace
        use = pace.begin(place.holder)
        own, early = Place(self._places, place.holder, use), EarlyMessages(receive)
        try:
            if use.wait_seconds and not await early.client_stays(use.turn()):
                raise ClientDisconnect
            if _has_body(scope):
                use.pause()
            await self._hand_over(scope, early.receive, own.left_by(send), use)
        finally:
            own.leave()

    async def _hand_over(self, scope: Scope, receive: Receive, send: Send, use: Use) -> None:
        is_whole = asyncio.Event()
        body = _body(receive, is_whole, use)
        if not _has_body(scope):
            is_whole.set()
        relayed = asyncio.create_task(self._relay(scope, body, send))
        left = asyncio.create_task(_until_left(receive, is_whole))
        try:
            await asyncio.wait({relayed, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            if not relayed.done():
                relayed.cancel()
            await asyncio.wait({relayed, left})
        if not relayed.cancelled():
            relayed.result()
        elif not _has_begun(scope):
            raise ClientDisconnect

    async def _relay(self, scope: Scope, body: AsyncIterator[bytes], send: Send) -> None:
        try:
            async with await self._reply(scope, body) as response:
                # The response already has all its headers, including the nonce of its page.
                scope["state"]["is_complete"] = True
                await send(_start_of(response))
                async for part in response.aiter_stream():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            if _has_begun(scope):
                raise
            logger.warning("the process for heavy requests cannot be reached: %r", error)
            raise HeavyUnavailable(
                "The part of the server that handles this request has just stopped and is "
                "restarting. Check whether your request took effect, and send it again if "
                "it did not."
            ) from error

    async def _reply(self, scope: Scope, body: AsyncIterator[bytes]) -> "_Reply":
        request = httpcore.Request(
            scope["method"],
            httpcore.URL(scheme=b"http", host=b"heavy", port=None, target=_target(scope)),
            headers=_headers(scope),
            content=body if _has_body(scope) else None,
        )
        ends = asyncio.get_running_loop().time() + START_SECONDS
        while True:
            try:
                async with self._in_all:
                    return _Reply(await self._pool.handle_async_request(request))
            except httpcore.ConnectError:
                # Nothing was sent, so the request can be tried again.
                if asyncio.get_running_loop().time() > ends:
                    raise
                await asyncio.sleep(LOOK_SECONDS)


class _Reply:
    """Closes the response at the end of the block."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aenter__(self) -> httpcore.Response:
        return self._response

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()


_elsewhere: Elsewhere | None = None


def is_somebodys(scope: Scope) -> bool:
    """Tell whether a request has a cookie or token. Requests without one are refused by this
    process."""
    return "place" in scope["state"]


def hand_over_to(socket: str, want: Callable[[], None]) -> None:
    """Forward heavy requests from now on."""
    global _elsewhere
    _elsewhere = Elsewhere(socket, want)


def elsewhere() -> Elsewhere | None:
    """Return the process for heavy requests; None if they are handled here."""
    return _elsewhere


def _has_begun(scope: Scope) -> bool:
    return bool(scope["state"].get("is_complete"))


def _has_body(scope: Scope) -> bool:
    return any(name in _FRAMING for name, _ in scope["headers"])


def _target(scope: Scope) -> bytes:
    query = scope.get("query_string", b"")
    path: bytes = scope["raw_path"]
    return path + b"?" + query if query else path


def _headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in scope["headers"] if name not in OWN_HEADERS]
    client = scope.get("client")
    if client is not None:
        kept.append((b"x-forwarded-for", str(client[0]).encode()))
    own = {b"x-forwarded-proto": scope["scheme"], b"x-request-id": request_id.get()}
    return [*kept, *((name, value.encode()) for name, value in own.items())]


def _start_of(response: httpcore.Response) -> Message:
    headers = [
        (name.lower(), value)
        for name, value in response.headers
        if name.lower() not in (*OWN_HEADERS, b"transfer-encoding")
    ]
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def _body(receive: Receive, is_whole: asyncio.Event, use: Use) -> AsyncIterator[bytes]:
    while not is_whole.is_set():
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body", False):
            use.restart()
            is_whole.set()


async def _until_left(receive: Receive, is_whole: asyncio.Event) -> None:
    await is_whole.wait()
    while (await receive())["type"] != "http.disconnect":
        continue
