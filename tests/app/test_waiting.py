"""When those who wait for a grid ask again."""

from uuid import uuid4

from app.annotation.waiting import (
    ASKED_PER_SECOND,
    KEPT,
    LONGEST_SECONDS,
    WAIT_SECONDS,
    Turns,
)


def test_few_ask_soon_and_many_one_after_the_other() -> None:
    turns, campaign = Turns(), uuid4()
    assert turns.seconds_until(campaign, uuid4(), now=100.0) == WAIT_SECONDS
    waits = [turns.seconds_until(campaign, uuid4(), now=100.0) for _ in range(249)]
    assert waits == sorted(waits)
    each_second = [waits.count(seconds) for seconds in range(WAIT_SECONDS + 1, max(waits))]
    assert max(each_second) <= ASKED_PER_SECOND
    assert max(waits) <= WAIT_SECONDS + 250 / ASKED_PER_SECOND + 1
    # Another campaign's people do not wait for these, and later nobody does.
    assert turns.seconds_until(uuid4(), uuid4(), now=100.0) == WAIT_SECONDS
    assert turns.seconds_until(campaign, uuid4(), now=200.0) == WAIT_SECONDS


def test_who_asks_before_their_turn_keeps_it_and_nobody_waits_longer_for_that() -> None:
    turns, campaign, eager = Turns(), uuid4(), uuid4()
    waits = [turns.seconds_until(campaign, eager, now=100.0 + k / 1000) for k in range(1900)]
    assert set(waits) == {1, WAIT_SECONDS}
    assert turns.seconds_until(campaign, uuid4(), now=101.9) == WAIT_SECONDS
    assert turns.seconds_until(campaign, eager, now=102.0) == WAIT_SECONDS


def test_nobody_waits_for_longer_than_half_a_minute() -> None:
    turns, campaign = Turns(), uuid4()
    waits = [turns.seconds_until(campaign, uuid4(), now=0.0) for _ in range(2000)]
    assert max(waits) == LONGEST_SECONDS
    assert turns.seconds_until(campaign, uuid4(), now=60.0) == WAIT_SECONDS


def test_campaigns_and_people_of_long_ago_are_forgotten() -> None:
    turns = Turns()
    for _ in range(KEPT + 1):
        turns.seconds_until(uuid4(), uuid4(), now=0.0)
    turns.seconds_until(uuid4(), uuid4(), now=60.0)
    assert (len(turns._next), len(turns._given)) == (1, 1)
