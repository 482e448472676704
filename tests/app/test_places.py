"""How much of the server one account takes at once."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import NAMESPACE_DNS, UUID, uuid4, uuid5

import pytest

from app.core import places
from app.core.pace import Pace
from app.core.places import AT_ONCE, IN_LINE, FairShare, Places, TooManyAtOnce

Message = dict[str, Any]


def test_places_are_given_on_in_the_order_of_coming() -> None:
    async def run() -> list[int]:
        places, came = Places(1, 9, "full"), []

        async def ask(number: int) -> None:
            async with places.held("me"):
                came.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(ask(number) for number in range(6)))
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
        # It is cancelled, and then its turn comes before it has noticed.
        other = asyncio.ensure_future(places.take("me"))
        await asyncio.sleep(0)
        other.cancel()
        places.leave("me")
        with pytest.raises(asyncio.CancelledError):
            await other
        await places.take("me")
        # It was given the place, and is cancelled before it could use it.
        third = asyncio.ensure_future(places.take("me"))
        await asyncio.sleep(0)
        places.leave("me")
        third.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await third
        await asyncio.wait_for(places.take("me"), 1)

    asyncio.run(run())


class Owners:
    """Of credentials that end in a name: one account for each name; of strangers none."""

    def get_owner(self, scope: Any) -> UUID | None:
        kind, _, name = scope["credential"].rpartition("-")
        # Asked by several threads at once, each must find the same.
        return uuid5(NAMESPACE_DNS, name) if kind != "stranger" else None


OWNERS = Owners()


class Application:
    """Begins replies once `begin` is set, and ends them once `end` is set."""

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


class Watched:
    """A fair share that counts the requests in line: only they are read before their turn."""

    def __init__(self, app: FairShare) -> None:
        self.app = app
        self.in_line = 0

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Any) -> None:
        is_read = False

        async def counting() -> Message:
            nonlocal is_read
            self.in_line += not is_read
            is_read = True
            message: Message = await receive()
            return message

        await self.app(scope, counting, send)


def asking(
    app: FairShare | Watched, credential: str, receive: Callable[[], Any] | None = None
) -> Coroutine[Any, Any, list[Message]]:
    async def ask() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope: Any = {
            "type": "http", "credential": credential, "headers": [], "method": "GET", "state": {},
            "path": "/", "client": ("192.0.2.1", 1),
        }  # fmt: skip
        await app(scope, receive or still_there(), send)  # type: ignore[arg-type]
        return sent

    return ask()


def still_there() -> Callable[[], Any]:
    """A whole request, whose client waits for the reply."""
    left = iter([{"type": "http.request", "body": b"all", "more_body": False}])

    async def receive() -> Message:
        for message in left:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    return receive


async def until(is_true: Callable[[], bool]) -> None:
    """Owners are looked up in threads, which take as long as the machine is busy."""
    ends = asyncio.get_running_loop().time() + 30
    while not is_true():
        assert asyncio.get_running_loop().time() < ends
        await asyncio.sleep(0.005)


def credential_of(scope: Any) -> str | None:
    return scope["credential"] or None


def fair() -> tuple[Application, Watched]:
    application = Application()
    return application, Watched(FairShare(application, credential_of, OWNERS.get_owner))


def test_requests_of_an_account_wait_for_each_other_and_not_for_those_of_others() -> None:
    async def run() -> None:
        application, app = fair()
        token, cookie = "token-of-greedy", "cookie-of-greedy"
        greedy = [
            asyncio.ensure_future(asking(app, token if number % 2 else cookie))
            for number in range(AT_ONCE + 4)
        ]
        await until(lambda: app.in_line == 4)
        assert application.under_way == AT_ONCE
        others = [asyncio.ensure_future(asking(app, name)) for name in ("quiet", "", "", "")]
        await until(lambda: application.under_way == AT_ONCE + 4)
        application.begin.set()
        # Replies that go on, as live events do, hold no place.
        await until(lambda: application.begun == AT_ONCE + 4 + 4)
        application.end.set()
        replies = await asyncio.gather(*greedy, *others)
        assert all(reply[0]["status"] == 200 for reply in replies)

    asyncio.run(run())


def test_a_line_that_is_too_long_is_429() -> None:
    async def run() -> None:
        application, app = fair()
        held = [asyncio.ensure_future(asking(app, "me")) for _ in range(AT_ONCE + IN_LINE)]
        await until(lambda: app.in_line == IN_LINE)
        [start, body] = await asking(app, "me")
        assert start["status"] == 429
        assert (b"retry-after", b"2") in start["headers"]
        assert b"too_many_at_once" in body["body"]
        application.begin.set()
        application.end.set()
        await asyncio.gather(*held)

    asyncio.run(run())


def test_a_refusal_is_sent_after_a_while_in_which_it_holds_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "REFUSAL_SECONDS", 60.0)

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 429, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run() -> None:
        reached = 0

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            nonlocal reached
            reached += 1
            await refuse(scope, receive, send)

        app = FairShare(counted, credential_of, OWNERS.get_owner)
        waiting = [asyncio.ensure_future(asking(app, "me")) for _ in range(3 * AT_ONCE)]
        # More than there are places.
        await until(lambda: reached == 3 * AT_ONCE)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        monkeypatch.setattr(places, "REFUSAL_SECONDS", 0.0)
        [start, _] = await asking(app, "me")
        assert start["status"] == 429

    asyncio.run(run())


def test_an_application_that_fails_before_it_answers_gives_the_place_back() -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError

    async def run() -> None:
        app = FairShare(fail, lambda _: "me", lambda _: uuid4())
        for _ in range(3 * AT_ONCE):
            with pytest.raises(RuntimeError):
                await asking(app, "me")

    asyncio.run(run())


def test_who_leaves_the_line_is_not_worked_for() -> None:
    async def run() -> None:
        application, app = fair()
        held = [asyncio.ensure_future(asking(app, "me")) for _ in range(AT_ONCE)]
        await until(lambda: application.under_way == AT_ONCE)

        async def left() -> Message:
            return {"type": "http.disconnect"}

        [start, _] = await asking(app, "me", left)
        assert start["status"] == 400
        patient = asyncio.ensure_future(asking(app, "me"))
        # The one who left was the first in line.
        await until(lambda: app.in_line == 2)
        application.begin.set()
        application.end.set()
        await asyncio.gather(*held, patient)
        assert application.begun == AT_ONCE + 1

    asyncio.run(run())


def test_who_leaves_before_its_turn_is_not_worked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """While annotators are at work, the account having used its time."""
    answered = []

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        answered.append(scope["credential"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def run() -> None:
        app = FairShare(answer, credential_of, OWNERS.get_owner)
        in_debt = -60.0
        monkeypatch.setattr(app, "_pace", Pace(in_debt, 0.0, at_work=lambda: True))
        for _ in range(2 * AT_ONCE):
            [start, _] = await asking(app, "me", left)
            assert start["status"] == 400
        assert answered == []
        # Their places are free again.
        monkeypatch.setattr(app, "_pace", Pace(in_debt, 0.0, at_work=lambda: False))
        await asyncio.gather(*(asking(app, "me") for _ in range(AT_ONCE)))
        assert answered == ["me"] * AT_ONCE

    asyncio.run(run())


def test_a_request_that_waited_is_read_whole() -> None:
    bodies = []

    async def read(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.05)
        bodies.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def run() -> None:
        app = FairShare(read, lambda _: "me", lambda _: None)
        await asyncio.gather(*(asking(app, "stranger-me") for _ in range(3 * AT_ONCE)))

    asyncio.run(run())
    assert [message["body"] for message in bodies] == [b"all"] * 3 * AT_ONCE


def test_strangers_of_an_address_share_the_places_of_one() -> None:
    async def run() -> None:
        application, app = fair()
        guesses = [asyncio.ensure_future(asking(app, f"stranger-{n}")) for n in range(3 * AT_ONCE)]
        await until(lambda: app.in_line == 2 * AT_ONCE)
        assert application.under_way == AT_ONCE
        application.begin.set()
        application.end.set()
        await asyncio.gather(*guesses)

    asyncio.run(run())


def test_clients_with_loops_of_their_own_do_not_wait_for_each_other() -> None:
    """In one process, as in tests with many clients at once."""
    together = threading.Barrier(AT_ONCE + 2)

    async def answer_together(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.to_thread(together.wait, 20)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    app = FairShare(answer_together, credential_of, OWNERS.get_owner)

    def ask(_: int) -> int:
        return int(asyncio.run(asking(app, "me"))[0]["status"])

    with ThreadPoolExecutor(AT_ONCE + 2) as pool:
        assert list(pool.map(ask, range(AT_ONCE + 2))) == [200] * (AT_ONCE + 2)
