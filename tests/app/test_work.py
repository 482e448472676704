"""Work that is due: each row is done by one, and none stops the others."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.core.database import transaction
from app.core.work import Backoff, DueWork, WorkQueue, renewed
from app.recruitment.accounts import ChannelClient
from app.recruitment.channel import ChannelError, ChannelRefused
from app.recruitment.channels.spec import Credentials
from app.recruitment.models import ChannelCall
from app.recruitment.work import CALLS, CallAttempt
from app.webhooks.delivery import DELIVERIES, Attempt, Outcome
from app.webhooks.models import Delivery
from testbed.builders import (
    a_campaign,
    a_delivery,
    a_recruitment,
    a_webhook,
    an_account,
)
from testbed.system import wait_until

pytestmark = pytest.mark.usefixtures("environment")
DONE = Outcome(200, "", 0.0)


def some_deliveries(owner: Account, n: int) -> list[UUID]:
    webhook = a_webhook(owner)
    return [a_delivery(webhook) for _ in range(n)]


def doing(do: Callable[[Attempt], Outcome]) -> DueWork[Attempt, Outcome]:
    return replace(DELIVERIES, do=do)


def states() -> dict[UUID, str]:
    with transaction() as session:
        return {row.id: row.state for row in session.scalars(select(Delivery))}


def make_due() -> None:
    with transaction() as session:
        session.execute(update(Delivery).values(due_at=datetime.now(UTC) - timedelta(seconds=1)))


def test_many_threads_do_each_row_once() -> None:
    ids = [
        delivery
        for number in range(4)
        for delivery in some_deliveries(an_account(f"{number}@example.org"), 5)
    ]
    done: Counter[UUID] = Counter()

    def do(attempt: Attempt) -> Outcome:
        done[attempt.row_id] += 1
        return DONE

    # A queue each, as dispatchers have: only the database keeps them apart.
    queues = [WorkQueue(doing(do), most=2) for _ in range(4)]

    def work(queue: WorkQueue) -> None:
        while queue.do_next():
            continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, queues))
    assert done == Counter(ids)
    assert set(states().values()) == {"delivered"}


def test_work_that_fails_is_parked_and_the_next_is_done() -> None:
    first, second = some_deliveries(an_account(), 2)

    def do(attempt: Attempt) -> Outcome:
        if attempt.row_id == first:
            raise KeyError("magic")
        return DONE

    queue = WorkQueue(doing(do), most=1)
    assert [queue.do_next() for _ in range(3)] == [True, True, False]
    assert states() == {first: "failed", second: "delivered"}
    with transaction() as session:
        assert "KeyError" in session.get_one(Delivery, first).history[0]["said"]


def test_a_row_that_cannot_be_begun_is_parked_on_its_own() -> None:
    first, second = some_deliveries(an_account(), 2)

    def begin(session: Session, row_id: UUID) -> Attempt | None:
        if row_id == first:
            raise KeyError("magic")
        # What was parked before is stored, whatever becomes of this claim.
        assert states()[first] == "failed"
        return DELIVERIES.begin(session, row_id)

    attempt = replace(DELIVERIES, begin=begin).claim()
    assert attempt is not None
    assert attempt.row_id == second


def test_a_lost_connection_parks_nothing() -> None:
    [delivery] = some_deliveries(an_account(), 1)

    def do(attempt: Attempt) -> Outcome:
        raise OperationalError("SELECT 1", None, ConnectionError("gone"))

    queue = WorkQueue(doing(do), most=1)
    with pytest.raises(OperationalError):
        queue.do_next()
    assert states() == {delivery: "pending"}
    assert not queue.do_next(), "the claim has not expired"
    make_due()
    with pytest.raises(OperationalError):
        queue.do_next()


def test_only_the_newest_attempt_records_an_outcome() -> None:
    [delivery] = some_deliveries(an_account(), 1)
    kind = doing(lambda _: DONE)
    slow = kind.claim()
    make_due()
    newest = kind.claim()
    assert slow is not None
    assert newest is not None
    kind.complete(slow)
    assert states() == {delivery: "pending"}
    kind.complete(newest)
    assert states() == {delivery: "delivered"}


def cannot(*_: object) -> Any:
    raise KeyError("magic")


@pytest.mark.parametrize("ends_first", [False, True])
@pytest.mark.parametrize(
    "failing",
    [replace(DELIVERIES, do=cannot), replace(DELIVERIES, do=lambda _: DONE, record=cannot)],
    ids=["work fails", "record fails"],
)
def test_only_the_newest_attempt_parks_a_row(
    failing: DueWork[Attempt, Outcome], ends_first: bool
) -> None:
    [delivery] = some_deliveries(an_account(), 1)
    kind = doing(lambda _: DONE)
    slow = kind.claim()
    make_due()
    newest = kind.claim()
    assert slow is not None
    assert newest is not None
    if ends_first:
        kind.complete(newest)
        failing.complete(slow)
    else:
        failing.complete(slow)
        assert states() == {delivery: "pending"}
        kind.complete(newest)
    assert states() == {delivery: "delivered"}
    with transaction() as session:
        assert len(session.get_one(Delivery, delivery).history) == 1


@pytest.mark.parametrize(
    "failing",
    [replace(CALLS, do=cannot), replace(CALLS, do=lambda _: {}, record=cannot)],
    ids=["work fails", "record fails"],
)
def test_a_failed_attempt_puts_off_no_call_that_another_attempt_makes(
    failing: DueWork[CallAttempt, dict[str, Any] | ChannelError],
) -> None:
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner))
    with transaction() as session:
        call = ChannelCall(
            recruitment_id=recruitment.id, action="notify", state="running", attempts=2
        )
        session.add(call)
    client = ChannelClient(owner.id, "mturk", Credentials("sandbox", None))
    for number, state in ((1, "running"), (2, "due")):
        failing.complete(CallAttempt(call.id, client, recruitment.id, number, ChannelRefused("")))
        with transaction() as session:
            assert session.get_one(ChannelCall, call.id).state == state


def test_an_account_that_has_its_share_is_passed_over_until_a_piece_ends() -> None:
    greedy = some_deliveries(an_account("greedy@example.org"), 3)
    [quiet] = some_deliveries(an_account("quiet@example.org"), 1)
    begun: list[UUID] = []
    released = threading.Event()

    def do(attempt: Attempt) -> Outcome:
        begun.append(attempt.row_id)
        if attempt.row_id in greedy:
            released.wait(20)
        return DONE

    queue = WorkQueue(doing(do), most=2)
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(queue.do_next) for _ in range(2)]
        wait_until("the greedy account's share", lambda: len(begun) == 2)
        assert queue.do_next()
        assert begun[2:] == [quiet]
        assert not queue.do_next()
        released.set()
        assert all(future.result() for future in working)
    assert queue.do_next()
    assert set(begun) == {*greedy, quiet}


def test_claims_are_renewed_until_the_block_ends_or_another_attempt_begins() -> None:
    owner = an_account()
    recruitment = a_recruitment(owner, a_campaign(owner))
    with transaction() as session:
        calls = [
            ChannelCall(
                recruitment_id=recruitment.id, action="notify", state="running", attempts=attempts
            )
            for attempts in (1, 2)
        ]
        session.add_all(calls)
    mine, taken_over = (call.id for call in calls)
    later = datetime.now(UTC) + timedelta(hours=1)

    def due_at(call_id: UUID) -> datetime:
        with transaction() as session:
            return session.get_one(ChannelCall, call_id).due_at

    with renewed(ChannelCall, {mine: 1, taken_over: 1}, lambda: later, every=0.05):
        wait_until("the renewal", lambda: due_at(mine) == later)
    assert due_at(taken_over) < later
    later += timedelta(hours=1)
    assert due_at(mine) < later


def test_waits_grow_and_the_last_one_is_repeated() -> None:
    backoff = Backoff((1, 10), spread=1.2)
    for attempts, least in ((0, 1), (1, 1), (2, 10), (3, 10), (1000, 10)):
        assert least <= backoff.seconds(attempts) <= least * 1.2
