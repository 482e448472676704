"""How much of the server one account takes at once."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest

from app.core.places import AT_ONCE, IN_LINE, FairShare, Places, TooManyAtOnce, note_owner

Message = dict[str, Any]


def test_places_are_given_on_in_the_order_of_coming() -> None:
    async def run() -> list[int]:
        places, came = Places(1, 9, "full"), []

        async def one(number: int) -> None:
            async with places.held("me"):
                came.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(number) for number in range(6)))
        return came

    assert asyncio.run(run()) == list(range(6))


def test_who_finds_the_line_full_is_refused_and_the_others_are_not() -> None:
    async def run() -> None:
        places = Places(2, 1, "This is too much.")
        await places.take("greedy")
        await places.take("greedy")
        waiting = asyncio.ensure_future(places.take("greedy"))
        await asyncio.sleep(0)
        with pytest.raises(TooManyAtOnce, match="too much"):
            await places.take("greedy")
        await places.take("quiet")
        assert not waiting.done()
        places.leave("greedy")
        await waiting

    asyncio.run(run())


def test_who_gives_up_waiting_leaves_the_line_and_takes_no_place_along() -> None:
    async def run() -> None:
        places = Places(1, 5, "full")
        await places.take("me")
        first, second = (asyncio.ensure_future(places.take("me")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        places.leave("me")
        await second
        # It was given the place, and is cancelled before it could use it.
        third = asyncio.ensure_future(places.take("me"))
        await asyncio.sleep(0)
        places.leave("me")
        third.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await third
        await asyncio.wait_for(places.take("me"), 1)

    asyncio.run(run())


class Application:
    """Begins replies when it is told to, and goes on with them until it is told to end."""

    def __init__(self) -> None:
        self.under_way = self.most = self.begun = 0
        self.begin, self.end = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.begin.wait()
        self.under_way -= 1
        self.begun += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.end.wait()
        await send({"type": "http.response.body", "body": b""})


def asking(app: FairShare, credential: str) -> Coroutine[Any, Any, list[Message]]:
    async def ask() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        scope: Any = {"type": "http", "credential": credential, "headers": [], "method": "GET"}
        await app(scope, receive, send)  # type: ignore[arg-type]
        return sent

    return ask()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def fair() -> tuple[Application, FairShare]:
    application = Application()
    read: Callable[[Any], str | None] = lambda scope: scope["credential"] or None  # noqa: E731
    return application, FairShare(application, read)


def test_requests_of_an_account_wait_for_each_other_and_not_for_those_of_others() -> None:
    async def run() -> None:
        application, app = fair()
        token, cookie, account = "token-of-greedy", "cookie-of-greedy", uuid4()
        note_owner(token, account)
        note_owner(cookie, account)
        greedy = [
            asyncio.ensure_future(asking(app, token if number % 2 else cookie))
            for number in range(AT_ONCE + 4)
        ]
        await settled()
        assert application.under_way == AT_ONCE
        others = [asyncio.ensure_future(asking(app, name)) for name in ("quiet", "", "", "")]
        await settled()
        assert application.under_way == AT_ONCE + 4
        application.begin.set()
        await settled()
        # Replies that go on, as live events do, hold no place.
        assert application.begun == AT_ONCE + 4 + 4
        application.end.set()
        replies = await asyncio.gather(*greedy, *others)
        assert all(reply[0]["status"] == 200 for reply in replies)

    asyncio.run(run())


def test_a_line_that_is_too_long_is_429() -> None:
    async def run() -> None:
        application, app = fair()
        held = [asyncio.ensure_future(asking(app, "me")) for _ in range(AT_ONCE + IN_LINE)]
        await settled()
        [start, body] = await asking(app, "me")
        assert start["status"] == 429
        assert (b"retry-after", b"2") in start["headers"]
        assert b"too_many_at_once" in body["body"]
        application.begin.set()
        application.end.set()
        await asyncio.gather(*held)

    asyncio.run(run())


def test_an_application_that_fails_before_it_answers_gives_the_place_back() -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError

    async def run() -> None:
        app = FairShare(fail, lambda _: "me")
        for _ in range(3 * AT_ONCE):
            with pytest.raises(RuntimeError):
                await asking(app, "me")

    asyncio.run(run())
