"""How much of the server one account may take at once.

Requests of an account that come while it has AT_ONCE under way wait in line, its own and nobody
else's; beyond that they are refused. A place is given back when the reply begins: downloads and
live events, which go on from there, have limits of their own.
"""

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

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


class TooManyAtOnce(LikewiseError):
    """The account has as much under way as it may."""

    code = "too_many_at_once"
    status = 429
    headers = {"Retry-After": "2"}  # noqa: RUF012  # ClassVar of the base


@dataclass
class _Taken:
    n: int = 0
    line: deque[asyncio.Future[None]] = field(default_factory=deque)


class Places:
    """So many places for each holder, and so many who wait for them in the order of their coming.

    Of one event loop. refusal: what those are told for whom the line is too long
    """

    def __init__(self, at_once: int, in_line: int, refusal: str) -> None:
        self._at_once, self._in_line, self._refusal = at_once, in_line, refusal
        self._taken: dict[Hashable, _Taken] = {}

    async def take(self, holder: Hashable) -> None:
        """Raises TooManyAtOnce; whoever takes a place leaves it."""
        taken = self._taken.setdefault(holder, _Taken())
        if taken.n < self._at_once:
            taken.n += 1
            return
        if len(taken.line) >= self._in_line:
            raise TooManyAtOnce(self._refusal)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        taken.line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(holder)
            else:
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


uploads = Places(
    UPLOADS_AT_ONCE,
    0,
    f"This account sends {UPLOADS_AT_ONCE} files at the moment. Wait until one has gone in.",
)
streams = Places(
    STREAMS_AT_ONCE,
    0,
    f"This account follows {STREAMS_AT_ONCE} campaigns at the moment. Close some of their pages.",
)
_owners: OrderedDict[bytes, UUID] = OrderedDict()


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode()).digest()


def note_owner(credential: str, account_id: UUID) -> None:
    """Remember whose a cookie or a token is: all of an account's count together."""
    digest = _digest(credential)
    _owners[digest] = account_id
    _owners.move_to_end(digest)
    if len(_owners) > _REMEMBERED:
        _owners.popitem(last=False)


class FairShare:
    """Each account has AT_ONCE requests under way, and IN_LINE more that wait.

    credential_of: the cookie or token of a request, None where none counts: of annotators, and of
    whoever signs in
    """

    def __init__(self, app: ASGIApp, credential_of: Callable[[Scope], str | None]) -> None:
        self.app = app
        self._credential_of = credential_of
        self._places = Places(
            AT_ONCE,
            IN_LINE,
            "This account asks for too much at once. Wait for the replies to earlier requests.",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        credential = self._credential_of(scope) if scope["type"] == "http" else None
        if credential is None:
            await self.app(scope, receive, send)
            return
        digest = _digest(credential)
        holder = _owners.get(digest, digest)
        try:
            await self._places.take(holder)
        except TooManyAtOnce as error:
            reply = refusal(error.status, error.code, str(error), error.headers)
            await reply(scope, receive, send)
            return
        is_held = True

        def give_back() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self._places.leave(holder)

        async def send_and_leave(message: Message) -> None:
            if message["type"] == "http.response.start":
                give_back()
            await send(message)

        try:
            await self.app(scope, receive, send_and_leave)
        finally:
            give_back()
