"""No account has all threads of the dispatcher."""

import threading
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from app.core.shares import Shares
from app.webhooks import delivery
from app.webhooks.delivery import AT_ONCE, Attempt, Outcome, deliver_next
from testbed.builders import a_delivery, a_webhook, an_account

GREEDY, QUIET = uuid4(), uuid4()


@dataclass
class Work:
    account_id: UUID


def greedy_first(busy: Collection[UUID]) -> Work | None:
    return next((Work(one) for one in (GREEDY, QUIET) if one not in busy), None)


def test_an_account_that_has_its_share_is_passed_over_until_a_piece_ends() -> None:
    shares = Shares(2)
    with shares.claimed(greedy_first) as first:
        with shares.claimed(greedy_first) as second, shares.claimed(greedy_first) as third:
            assert [one and one.account_id for one in (first, second, third)] == [
                GREEDY, GREEDY, QUIET,
            ]  # fmt: skip
        with shares.claimed(greedy_first) as again:
            assert again is not None
            assert again.account_id == GREEDY


def fail_at(shares: Shares) -> None:
    with shares.claimed(greedy_first) as work:
        assert work == Work(GREEDY)
        raise RuntimeError


def test_a_piece_of_work_that_fails_gives_its_share_back() -> None:
    shares = Shares(1)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            fail_at(shares)


def test_where_nothing_is_due_nothing_is_counted() -> None:
    shares = Shares(1)
    for _ in range(3):
        with shares.claimed(lambda _: None) as work:
            assert work is None


@pytest.mark.usefixtures("environment")
def test_slow_receivers_of_one_account_leave_threads_for_the_webhooks_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    greedy, quiet = an_account("greedy@example.org"), an_account("quiet@example.org")
    slow = a_webhook(greedy, "https://slow.example.org/")
    for _ in range(AT_ONCE + 2):
        a_delivery(slow)
    wanted = a_delivery(a_webhook(quiet))
    sent: list[UUID] = []
    released, all_at_work = threading.Event(), threading.Barrier(AT_ONCE + 1)

    def no_network(attempt: Attempt) -> Outcome:
        if attempt.url == slow.url:
            all_at_work.wait(20)
            released.wait(20)
        sent.append(attempt.delivery_id)
        return Outcome(200, "", 0.0)

    monkeypatch.setattr(delivery, "send", no_network)
    threads = [threading.Thread(target=deliver_next) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    all_at_work.wait(20)
    assert deliver_next(), "somebody else's goes on"
    assert sent == [wanted]
    assert not deliver_next(), "what is left waits for its account's share"
    released.set()
    for thread in threads:
        thread.join()
    assert len(sent) == 1 + AT_ONCE
