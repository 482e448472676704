"""Delivery of webhooks: never lost, tried again, and not into our own network."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpcore
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app.core.database import transaction
from app.core.guard import GuardedNetwork, ending_within, is_public
from app.webhooks import delivery
from app.webhooks.delivery import (
    DELIVERIES,
    WAITS,
    deliver_next,
    forget_old_deliveries,
    record,
    send,
)
from app.webhooks.guard import checked_addresses
from app.webhooks.models import Delivery, Webhook
from app.webhooks.service import redeliver
from testbed.builders import a_delivery, a_webhook, an_account, an_api_token
from tests.conftest import forget_settings
from tests.support.receiver import Receiver, a_trickle
from tests.support.webhooks import a_local_receiver, deliveries

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def receiver(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with a_local_receiver(monkeypatch) as running:
        yield running


def make_due() -> None:
    with transaction() as session:
        past = datetime.now(UTC) - timedelta(seconds=1)
        session.execute(update(Delivery).values(due_at=past))


def statuses(delivered: Delivery) -> list[int | None]:
    """HTTP status of each attempt."""
    return [attempt["status"] for attempt in delivered.history]


# --- attempts --------------------------------------------------------------------------------


def test_a_delivery_that_is_cut_off_is_made_again(receiver: Receiver) -> None:
    webhook = a_webhook(an_account(), receiver.url)
    a_delivery(webhook)
    attempt = DELIVERIES.claim()
    assert attempt is not None
    assert send(attempt).is_success
    # Killed here: it was sent, and nothing was recorded. Nobody else takes it meanwhile.
    assert not deliver_next()
    with transaction() as session:
        (lost,) = session.scalars(select(Delivery))
        assert timedelta(seconds=50) < lost.due_at - datetime.now(UTC) <= delivery.CLAIM
    make_due()
    assert deliver_next()
    first, second = (headers["webhook-id"] for headers, _ in receiver.came)
    assert first == second
    assert receiver.came[0][1] == receiver.came[1][1]
    (done,) = deliveries()
    assert (done.state, done.attempts, statuses(done)) == ("delivered", 2, [204])
    # The first, had it only been slow, comes too late to say anything.
    with transaction() as session:
        record(session, attempt, delivery.Outcome(500, "late", 1.0))
    assert deliveries()[0].state == "delivered"


def test_failures_are_tried_again_ever_later_and_then_given_up(receiver: Receiver) -> None:
    receiver.statuses = [500]
    receiver.reply = b"<b>broken</b>" + b"x" * 10_000
    a_delivery(a_webhook(an_account(), receiver.url))
    waits = []
    for _ in range(len(WAITS) + 1):
        make_due()
        assert deliver_next()
        (row,) = deliveries()
        waits.append((row.due_at - datetime.now(UTC)).total_seconds())
    for wait, expected in zip(waits, WAITS, strict=False):
        assert expected * 0.9 < wait <= expected * 1.2
    assert (row.state, statuses(row)) == ("failed", [500] * 9)
    assert all(len(attempt["said"]) == 300 for attempt in row.history)
    make_due()
    assert not deliver_next()
    with transaction() as session:
        redeliver(session, session.get_one(Webhook, row.webhook_id), row.id)
    receiver.statuses = [200]
    assert deliver_next()
    (row,) = deliveries()
    assert (row.state, statuses(row)[-1]) == ("delivered", 200)
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1


def test_the_receiver_may_say_that_it_wants_no_more(receiver: Receiver) -> None:
    receiver.statuses = [410]
    webhook = a_webhook(an_account(), receiver.url)
    a_delivery(webhook)
    assert deliver_next()
    with transaction() as session:
        row = session.get_one(Webhook, webhook.id)
        assert row.disabled_at is not None
        assert "410" in row.disabled_because


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.statuses, receiver.headers = [302], {"location": receiver.url + "/elsewhere"}
    a_delivery(a_webhook(an_account(), receiver.url))
    assert deliver_next()
    assert len(receiver.came) == 1
    assert statuses(deliveries()[0]) == [302]
    assert deliveries()[0].state == "pending"


def test_a_reply_that_trickles_ends_with_the_time(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then: each read alone is quick, all of them together are not."""
    monkeypatch.setattr(delivery, "TIMEOUT_SECONDS", 0.6)
    owner = an_account()
    with a_trickle(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" + b"x: y\r\n" * 50) as url:
        a_delivery(a_webhook(owner, url))
        assert deliver_next()
    (row,) = deliveries()
    assert (row.history[0]["status"], row.state) == (None, "pending")
    assert row.history[0]["said"] == "The receiver did not respond within 0.6 seconds."
    assert row.history[0]["seconds"] < 2
    # Of a reply whose status has come, the rest is only shown.
    receiver.statuses, receiver.reply, receiver.seconds_per_byte = [200], b"x" * 200, 0.1
    a_delivery(a_webhook(owner, receiver.url))
    assert deliver_next()
    other = deliveries()[1]
    assert (other.history[0]["status"], other.state) == (200, "delivered")
    assert other.history[0]["seconds"] < 2


def test_an_unreachable_receiver_and_a_lost_key_are_told(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    a_delivery(a_webhook(an_account(), f"http://127.0.0.1:{port}/"))
    assert deliver_next()
    assert "ConnectError" in deliveries()[0].history[0]["said"]
    monkeypatch.setenv("LIKEWISE_SECRET_KEY", "another")
    forget_settings()
    make_due()
    assert deliver_next()
    assert "another LIKEWISE_SECRET_KEY" in deliveries()[0].history[1]["said"]


def test_what_ended_long_ago_is_forgotten(receiver: Receiver) -> None:
    webhook = a_webhook(an_account(), receiver.url)
    a_delivery(webhook)
    assert deliver_next()
    waiting = a_delivery(webhook)
    with transaction() as session:
        long_ago = datetime.now(UTC) - delivery.KEPT - timedelta(hours=1)
        session.execute(update(Delivery).values(created_at=long_ago))
        forget_old_deliveries(session)
    assert [row.id for row in deliveries()] == [waiting]


# --- not into our own network ----------------------------------------------------------------

ADDRESSES = [
    ("93.184.216.34", True),
    ("2606:2800:220:1:248:1893:25c8:1946", True),
    ("127.0.0.1", False),
    ("10.1.2.3", False),
    ("172.16.0.1", False),
    ("192.168.1.1", False),
    ("169.254.169.254", False),
    ("100.64.0.1", False),
    ("0.0.0.0", False),
    ("224.0.0.1", False),
    ("255.255.255.255", False),
    ("::1", False),
    ("::", False),
    ("fe80::1", False),
    ("fe80::1%eth0", False),
    ("fd00::1", False),
    ("ff02::1", False),
    ("::ffff:127.0.0.1", False),
    ("::ffff:10.0.0.1", False),
    ("2002:7f00:1::", False),
    ("64:ff9b::a00:1", False),
    # Where there is IPv6 alone, DNS64 gives public hosts such addresses.
    ("64:ff9b::5db8:d822", True),
    ("64:ff9b:1::7f00:1", False),
    ("64:ff9b:1:7f00:0:100::", False),
    ("::127.0.0.1", False),
    ("::93.184.216.34", False),
    ("::ffff:0:7f00:1", False),
    ("2001:0:5db8:d822::f5ff:fffe", False),
    ("2001:db8::1", False),
    ("fec0::1", False),
    ("240.0.0.1", False),
    ("4000::1", False),
]
BAD_URLS = [
    "http://example.org/x",
    "https://127.0.0.1/x",
    "https://[::1]/x",
    "https://localhost/x",
    "https://169.254.169.254/latest/meta-data",
    "https://user:password@example.org/",
    "https://example.org/#part",
    "https://example.org:99999/",
    "https:///x",
    "https://exa mple.org/",
    "ftp://example.org/",
    "file:///etc/passwd",
    "https://exämple.org/",
    "https://example.org/" + "x" * 2000,
]


def test_addresses_of_private_networks_are_known() -> None:
    assert {address: is_public(address) for address, _ in ADDRESSES} == dict(ADDRESSES)


def test_addresses_that_no_webhook_has_are_refused_at_once(client: TestClient) -> None:
    client.headers["Authorization"] = f"Bearer {an_api_token(an_account())}"
    for url in BAD_URLS:
        reply = client.post("/api/v1/webhooks", json={"url": url, "events": ["job.failed"]})
        assert reply.status_code == 422, url
        assert reply.json()["code"] in ("bad_url", "forbidden_address"), url


def names(monkeypatch: pytest.MonkeyPatch, *replies: list[str]) -> list[str]:
    """Let the name server say these addresses, one list at each question; returns what is asked."""
    asked, left = [], list(replies)

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        addresses = left.pop(0)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_a_name_that_leads_into_a_private_network_is_not_followed(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = receiver.url.split(":")[2].split("/")[0]
    a_delivery(a_webhook(an_account(), f"http://inside.example.org:{port}/"))
    monkeypatch.setenv("LIKEWISE_WEBHOOKS_TO_PRIVATE", "0")
    forget_settings()
    # One private address among public ones is enough.
    for addresses in (["127.0.0.1"], ["93.184.216.34", "10.0.0.1"]):
        asked = names(monkeypatch, addresses)
        make_due()
        assert deliver_next()
        assert "private network" in deliveries()[0].history[-1]["said"]
        assert asked == ["inside.example.org"]
    assert receiver.came == []


def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that says another address at the second question (DNS rebinding) is asked once."""
    asked = names(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    reached = []

    def connect(_: object, host: str, *__: Any, **___: Any) -> httpcore.NetworkStream:
        reached.append(host)
        raise httpcore.ConnectError("far away")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    with pytest.raises(httpcore.ConnectError), ending_within(5):
        GuardedNetwork(checked_addresses).connect_tcp("example.org", 443)
    assert (asked, reached) == (["example.org"], ["93.184.216.34"])
