"""No account has all threads of the dispatcher."""

import threading
from uuid import UUID

import pytest

from app.webhooks import delivery
from app.webhooks.delivery import AT_ONCE, Attempt, deliver_next
from testbed.builders import a_delivery, a_webhook, an_account


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

    def no_network(attempt: Attempt) -> tuple[int, str]:
        if attempt.url == slow.url:
            all_at_work.wait(20)
            released.wait(20)
        sent.append(attempt.row_id)
        return 200, ""

    monkeypatch.setattr(delivery, "_post", no_network)
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
