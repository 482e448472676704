"""How much of the server one account may take at once.

Requests of an account that come while it has AT_ONCE under way wait in line, its own and nobody
else's; beyond that they are refused. A place is given back when the reply begins: downloads and
live events, which go on from there, have limits of their own.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import LikewiseError
from app.core.middleware import refusal

# Browsers ask for six things of a page at once.
AT_ONCE, IN_LINE = 6, 200
# Bodies of more than a few lines, and what becomes of them. The page for images sends three.
UPLOADS_AT_ONCE = 4
# Pages of progress that somebody leaves open.
STREAMS_AT_ONCE = 40
_REMEMBERED = 10_000
TOO_MUCH = "Your account has too many requests in progress. Wait until some of them have finished."


class TooManyAtOnce(LikewiseError):
    """The account has as much under way as it may."""

    code = "too_many_at_once"
    status = 429
    headers: ClassVar = {"Retry-After": "2"}


@dataclass
class _Taken:
    n: int = 0
    line: deque[asyncio.Future[None]] = field(default_factory=deque)


class Places:
    """So many places for each holder, and so many who wait for them in the order of their coming.

    Of one event loop. refusal: the error message when the line is full
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
        """Wait for a place, which the caller gives back with `leave`. Raises TooManyAtOnce."""
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
        """The place goes to the next in line."""
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
        """A place for the time of the block; raises TooManyAtOnce."""
        await self.take(holder)
        try:
            yield
        finally:
            self.leave(holder)


class Place:
    """One place that was taken, to be left once, at the latest when the reply begins."""

    def __init__(self, places: Places, holder: Hashable) -> None:
        self.holder = holder
        self._places: Places | None = places

    def leave(self) -> None:
        """May be called again."""
        places, self._places = self._places, None
        if places is not None:
            places.leave(self.holder)

    def left_by(self, send: Send) -> Send:
        """`send` that leaves the place at the reply's beginning."""

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
_owners: OrderedDict[bytes, UUID] = OrderedDict()


class FairShare:
    """Each account has AT_ONCE requests under way, and IN_LINE more that wait; strangers with a
    cookie or token that is nobody's share those of their address.

    A heavy request leaves its place for one of its own kind (app/core/heavy.py). credential_of: the
    cookie or token of a request, None where requests are not counted: those of annotators, and
    signing in; owner_of: its account, looked up in a thread and remembered
    """

    def __init__(
        self,
        app: ASGIApp,
        credential_of: Callable[[Scope], str | None],
        owner_of: Callable[[Scope], UUID | None],
    ) -> None:
        self.app = app
        self._credential_of, self._owner_of = credential_of, owner_of
        # A server has one event loop. Clients in a process of tests have one each, and a future is
        # woken in its own loop alone: who waited for a place of another loop would wait for ever.
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
            await self.app(scope, receive, send)
            return
        holder = await self._holder(scope, credential)
        early = _Early(receive)
        try:
            has_left = not await self._taken(holder, early)
        except TooManyAtOnce as error:
            reply = refusal(error.status, error.code, str(error), error.headers)
            await reply(scope, receive, send)
            return
        if has_left:
            # Nobody reads this; it is counted as what it is.
            reply = refusal(
                400, "body_cut_off", "The connection was lost while the request was waiting."
            )
            await reply(scope, receive, send)
            return
        place = Place(self._places, holder)
        scope["state"]["place"] = place
        try:
            await self.app(scope, early.receive, place.left_by(send))
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

    async def _taken(self, holder: Hashable, early: "_Early") -> bool:
        """False when who asked left while waiting."""
        if self._places.take_now(holder):
            return True
        turn = asyncio.ensure_future(self._places.take(holder))
        left = asyncio.ensure_future(early.until_left())
        try:
            await asyncio.wait({turn, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_left = not turn.done()
            turn.cancel()
            left.cancel()
            await asyncio.wait({turn, left})
        if not has_left:
            # Raises TooManyAtOnce.
            turn.result()
        return not has_left


class _Early:
    """Notices that who asked has left before anybody reads, and keeps what it read on the way."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: deque[Message] = deque()

    async def until_left(self) -> None:
        message = await self._receive()
        self._read.append(message)
        if message.get("more_body", False):
            # What follows is more of the body, which waits outside.
            await asyncio.Event().wait()
        while message["type"] != "http.disconnect":
            message = await self._receive()
            self._read.append(message)

    async def receive(self) -> Message:
        return self._read.popleft() if self._read else await self._receive()
