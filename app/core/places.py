"""Limits on how much of the server one account can use at once.

Requests of an account that arrive while AT_ONCE are in progress wait in that account's own queue;
further ones are refused. A place is returned when the response begins: downloads and live events
continue after that and have their own limits.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import LikewiseError
from app.core.middleware import ANNOTATION, refusal
from app.core.pace import Pace, Use, annotator_seen

# Browsers send six requests at once for a page.
AT_ONCE, IN_LINE = 6, 200
# For the pace of an account's requests: a hundred thumbnails, and one of them.
CREDIT_SECONDS, RESERVED_SECONDS = 5.0, 0.02
# Large request bodies, and their processing. The page for images sends three at once.
UPLOADS_AT_ONCE = 4
# Progress pages that people leave open.
STREAMS_AT_ONCE = 40
# A refusal is sent after that: who asks again at once, against its Retry-After, asks less often.
REFUSAL_SECONDS = 2.0
_REMEMBERED = 10_000
TOO_MUCH = "Your account has too many requests in progress. Wait until some of them have finished."


class TooManyAtOnce(LikewiseError):
    """The account has as many requests in progress as it is allowed."""

    code = "too_many_at_once"
    status = 429
    headers: ClassVar = {"Retry-After": "2"}


@dataclass
class _Taken:
    n: int = 0
    line: deque[asyncio.Future[None]] = field(default_factory=deque)


class Places:
    """A number of places per holder, and a queue of waiting requests in order of arrival.

    It belongs to one event loop. refusal: the error message when the queue is full
    """

    def __init__(self, at_once: int, in_line: int, refusal: str) -> None:
        self._at_once, self._in_line, self._refusal = at_once, in_line, refusal
        self._taken: dict[Hashable, _Taken] = {}

    def take_now(self, holder: Hashable) -> bool:
        """Take a place if one is free."""
        taken = self._taken.setdefault(holder, _Taken())
        if taken.n >= self._at_once:
            return False
        taken.n += 1
        return True

    async def take(self, holder: Hashable) -> None:
        """Wait for a place; the caller returns it with `leave`. Raises TooManyAtOnce."""
        if self.take_now(holder):
            return
        taken = self._taken[holder]
        if len(taken.line) >= self._in_line:
            raise TooManyAtOnce(self._refusal)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        taken.line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(holder)
            elif turn in taken.line:
                taken.line.remove(turn)
            raise

    def leave(self, holder: Hashable) -> None:
        """Return the place, which goes to the next in the queue."""
        taken = self._taken[holder]
        while taken.line:
            turn = taken.line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        taken.n -= 1
        if not taken.n:
            del self._taken[holder]

    @asynccontextmanager
    async def held(self, holder: Hashable) -> AsyncIterator[None]:
        """Hold a place for the duration of the block; raises TooManyAtOnce."""
        await self.take(holder)
        try:
            yield
        finally:
            self.leave(holder)


class Place:
    """A place that was taken; it is returned once, at the latest when the response begins.

    use: its time, which ends at the same moment
    """

    def __init__(self, places: Places, holder: Hashable, use: Use | None = None) -> None:
        self.holder = holder
        self._places: Places | None = places
        self._use = use

    def leave(self) -> None:
        """Return the place; further calls do nothing."""
        places, self._places = self._places, None
        if places is not None:
            places.leave(self.holder)
            if self._use is not None:
                self._use.end()

    def left_by(self, send: Send) -> Send:
        """Return a `send` that returns the place when the response begins."""

        async def send_and_leave(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.leave()
            await send(message)

        return send_and_leave


uploads = Places(
    UPLOADS_AT_ONCE,
    0,
    f"Your account is already uploading {UPLOADS_AT_ONCE} files. Wait until one of them has "
    "finished.",
)
streams = Places(
    STREAMS_AT_ONCE,
    0,
    f"Your account is already following {STREAMS_AT_ONCE} campaigns live. Close some of "
    "their pages.",
)
# Nobody reads this response; it only has to be counted correctly.
_CUT_OFF = refusal(400, "body_cut_off", "The connection was lost while the request was waiting.")
_owners: OrderedDict[bytes, UUID] = OrderedDict()


class FairShare:
    """Gives each account AT_ONCE requests in progress, and IN_LINE more that wait, and while
    annotators are at work a limited pace. Clients with an invalid cookie or token share the places
    of their address.

    A heavy request exchanges its place for one for heavy requests (app/core/heavy.py).
    credential_of: the cookie or token of a request, None if requests are not counted: those of
    annotators, and signing in. owner_of: its account, looked up in a thread and cached
    """

    def __init__(
        self,
        app: ASGIApp,
        credential_of: Callable[[Scope], str | None],
        owner_of: Callable[[Scope], UUID | None],
    ) -> None:
        self.app = app
        self._credential_of, self._owner_of = credential_of, owner_of
        self._pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS)
        # A server has one event loop. In tests, each client of a process has its own, and a future
        # can only be woken in its own loop, so a request that waited for a place of another loop
        # would wait forever.
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Places] = WeakKeyDictionary()
        self._making = threading.Lock()

    @property
    def _places(self) -> Places:
        loop = asyncio.get_running_loop()
        with self._making:
            if loop not in self._of_loop:
                self._of_loop[loop] = Places(AT_ONCE, IN_LINE, TOO_MUCH)
            return self._of_loop[loop]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        credential = self._credential_of(scope) if scope["type"] == "http" else None
        if credential is None:
            is_annotators = scope["type"] == "http" and scope["path"].startswith(ANNOTATION)
            await self.app(scope, receive, _noting_annotators(send) if is_annotators else send)
            return
        holder = await self._holder(scope, credential)
        early = EarlyMessages(receive)
        try:
            has_left = not await self._taken(holder, early)
        except TooManyAtOnce as error:
            reply = refusal(error.status, error.code, str(error), error.headers)
            await reply(scope, receive, _slow_to_refuse(send))
            return
        if has_left:
            await _CUT_OFF(scope, receive, send)
            return
        use = self._pace.begin(holder)
        place = Place(self._places, holder, use)
        scope["state"]["place"] = place
        try:
            if use.wait_seconds and not await early.client_stays(use.turn()):
                await _CUT_OFF(scope, receive, send)
                return
            await self.app(scope, early.receive, place.left_by(_slow_to_refuse(send)))
        finally:
            place.leave()

    async def _holder(self, scope: Scope, credential: str) -> Hashable:
        digest = hashlib.sha256(credential.encode()).digest()
        owner = _owners.get(digest)
        if owner is None:
            owner = await run_in_threadpool(self._owner_of, scope)
            if owner is not None:
                _owners[digest] = owner
                if len(_owners) > _REMEMBERED:
                    _owners.popitem(last=False)
        return owner or ("address", (scope.get("client") or ("",))[0])

    async def _taken(self, holder: Hashable, early: "EarlyMessages") -> bool:
        """Wait for a place; False if the client disconnects while waiting."""
        if self._places.take_now(holder):
            return True
        return await early.client_stays(self._places.take(holder))


def refuse_at_once() -> None:
    """Leave the delay of refusals to the process that the client is connected to."""
    global REFUSAL_SECONDS
    REFUSAL_SECONDS = 0.0


def _noting_annotators(send: Send) -> Send:
    """`send` that notes an annotator whose request is accepted; anyone can send others."""

    async def send_and_note(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            annotator_seen()
        await send(message)

    return send_and_note


def _slow_to_refuse(send: Send) -> Send:
    """`send` that holds refusals (429) back for a moment, in which they cost nothing."""

    async def send_later(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 429:
            await asyncio.sleep(REFUSAL_SECONDS)
        await send(message)

    return send_later


class EarlyMessages:
    """Notices that the client has disconnected before anything is read, and keeps what it has
    read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: deque[Message] = deque()

    async def client_stays(self, waiting: Coroutine[Any, Any, None]) -> bool:
        """Wait for something; False if the client disconnects in the meantime. Raises what
        `waiting` raises."""
        turn, left = asyncio.ensure_future(waiting), asyncio.ensure_future(self._until_left())
        try:
            await asyncio.wait({turn, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_left = not turn.done()
            turn.cancel()
            left.cancel()
            await asyncio.wait({turn, left})
        if not has_left:
            turn.result()
        return not has_left

    async def _until_left(self) -> None:
        message = await self._receive()
        self._read.append(message)
        if message.get("more_body", False):
            # More of the body follows, and waits outside.
            await asyncio.Event().wait()
        while message["type"] != "http.disconnect":
            message = await self._receive()
            self._read.append(message)

    async def receive(self) -> Message:
        return self._read.popleft() if self._read else await self._receive()
