"""How long the requests of one account keep the server busy while annotators are at work."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from app.core import pace as pace_module
from app.core import places
from app.core.pace import (
    AT_WORK_SECONDS,
    DEAREST_SECONDS,
    SHARE,
    Pace,
)
from app.core.places import AT_ONCE, FairShare

CREDIT_SECONDS, RESERVED_SECONDS = 1.5, 0.2


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def busy_seconds(pace: Pace, clock: Clock, takes: float, lasts: float) -> float:
    """What an account takes that sends requests of `takes` seconds one after another."""
    began, used = clock.now, 0.0
    while clock.now < began + lasts:
        use = pace.begin("greedy")
        clock.now = max(clock.now, use.turn_at) + takes
        use.end()
        used += takes
    return used


@pytest.mark.parametrize("takes", [0.01, 0.3, 2.0])
def test_an_account_takes_its_share_of_the_time_and_its_credit(takes: float) -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: True)
    lasts = 300.0
    used = busy_seconds(pace, clock, takes, lasts)
    assert used == pytest.approx(SHARE * lasts + CREDIT_SECONDS, abs=2 * (takes + RESERVED_SECONDS))
    # Another account's credit is its own.
    assert pace.begin("quiet").turn_at == clock.now


def test_many_short_requests_at_once_are_not_held_back_for_what_they_might_have_taken() -> None:
    """As the thumbnails of a page."""
    clock = Clock()
    pace = Pace(places.CREDIT_SECONDS, places.RESERVED_SECONDS, clock, lambda: True)
    for _ in range(200 // AT_ONCE):
        together = [pace.begin("me") for _ in range(AT_ONCE)]
        assert {use.turn_at for use in together} == {clock.now}
        clock.now += 0.02
        for use in together:
            use.end()


def test_credit_comes_back() -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: True)
    busy_seconds(pace, clock, 0.3, 60.0)
    assert pace.begin("greedy").turn_at > clock.now
    clock.now += 2 * CREDIT_SECONDS / SHARE
    assert [pace.begin("greedy").turn_at for _ in range(6)] == [clock.now] * 6


def test_requests_at_once_without_credit_begin_one_after_another() -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: True)
    busy_seconds(pace, clock, 0.3, 60.0)
    turns = [pace.begin("greedy").turn_at for _ in range(5)]
    pauses = [later - earlier for earlier, later in pairwise(turns)]
    assert pauses == pytest.approx([RESERVED_SECONDS / SHARE] * 4)


def test_a_slow_export_does_not_close_the_other_pages() -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: True)
    export = pace.begin("me")
    clock.now += 600.0
    export.end()
    export.end()
    # Credit came back while it ran.
    assert pace.begin("me").turn_at == clock.now
    for _ in range(4):
        slow = pace.begin("me")
        clock.now = max(clock.now, slow.turn_at) + 30.0
        slow.end()
        assert pace.begin("me").turn_at - clock.now <= DEAREST_SECONDS / SHARE


def test_a_body_that_comes_slowly_costs_nothing() -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: True)
    for _ in range(20):
        upload = pace.begin("me")
        upload.pause()
        clock.now += 60.0
        upload.restart()
        clock.now += 0.01
        upload.end()
        cut_off = pace.begin("me")
        cut_off.pause()
        clock.now += 60.0
        cut_off.end()
    assert [pace.begin("me").turn_at for _ in range(6)] == [clock.now] * 6


def test_nobody_is_slowed_while_no_annotator_is_at_work() -> None:
    clock = Clock()
    pace = Pace(CREDIT_SECONDS, RESERVED_SECONDS, clock, lambda: False)
    assert busy_seconds(pace, clock, 0.3, 60.0) == pytest.approx(60.0, abs=0.3)


def test_annotators_are_at_work_until_a_while_after_their_last_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    monkeypatch.setattr(pace_module, "_seen_at", float("-inf"))

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        status = 401 if scope["path"].endswith("refused") else 200
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def receive() -> Any:
        return {"type": "http.request"}

    async def ignore(_: Any) -> None:
        return None

    app = FairShare(answer, lambda _: None, lambda _: None)
    for path, at_work in (
        ("/healthz", False),
        ("/static/build/annotator.js", False),
        ("/api/v1/annotate/refused", False),
        ("/api/v1/annotate/leases", True),
    ):
        scope = {"type": "http", "path": path, "state": {}}
        asyncio.run(app(scope, receive, ignore))
        assert pace_module.annotators_at_work() is at_work, path
    clock.now += AT_WORK_SECONDS
    assert not pace_module.annotators_at_work()
