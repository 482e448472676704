"""Prolific's notifications are signed hints to look; a platform that is away is asked later."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.channels.prolific.hooks import signature
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Recruitment, Submission
from app.recruitment.reconcile import LONGEST_WAIT
from app.recruitment.steps import hook_secret
from emulators.prolific.server import Emulator
from testbed.builders import an_account
from testbed.recruits import differences, look, payments
from tests.support.prolific_recruiting import (
    GRIDS,
    Participant,
    a_paying_campaign,
    opened,
    paid_there,
    recruiting_on,
    served_prolific,
)


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    with served_prolific() as emulator:
        yield emulator


@pytest.fixture
def prolific(
    served: Emulator, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Emulator]:
    with recruiting_on(served, monkeypatch) as emulator:
        yield emulator


@pytest.fixture
def owner(prolific: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_paying_campaign(owner)


def notified(
    client: TestClient,
    account_id: object,
    secret: str,
    *,
    age: float = 0,
    event: str = "event-1",
    **fields: str,
) -> int:
    """fields: what the notification says, beside that a submission changed."""
    payload = {"event_type": "submission.status.change", "resource_id": "x", **fields}
    body = json.dumps(payload).encode()
    stamp = str(int(time.time() - age))
    headers = {
        "X-Prolific-Request-Signature": signature(secret, stamp, body),
        "X-Prolific-Request-Timestamp": stamp,
        "X-Event-ID": event,
        "X-Event-Type": "submission.status.change",
    }
    return client.post(f"/hooks/prolific/{account_id}", content=body, headers=headers).status_code


def test_a_platform_that_is_away_is_asked_ever_more_seldom_and_never_forgotten(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(prolific, owner, campaign)
    fault = [{"operation": "*", "kind": "5xx-before"}]
    httpx.put(f"{prolific.url}/emulator/faults", json=fault).raise_for_status()
    waits = [until_the_next_look(recruitment) for _ in range(12)]
    assert waits[0] < LONGEST_WAIT / 10
    assert all(LONGEST_WAIT - 5 < wait <= LONGEST_WAIT for wait in waits[-3:])
    with transaction() as session:
        assert session.get_one(Recruitment, recruitment.id).poll_failures == 12
    httpx.put(f"{prolific.url}/emulator/faults", json=[]).raise_for_status()
    assert until_the_next_look(recruitment) < LONGEST_WAIT / 10
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        assert (row.poll_failures, row.poll_error) == (0, "")


def until_the_next_look(recruitment: Recruitment) -> float:
    """Seconds that pass after one that is had now."""
    look()
    with transaction() as session:
        poll_at = session.get_one(Recruitment, recruitment.id).poll_at
        assert poll_at is not None
        return (poll_at - datetime.now(UTC)).total_seconds()


def test_notifications_are_hints_that_are_signed_and_taken_once(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(prolific, owner, campaign)
    account_id = recruitment.channel_account_id
    with transaction() as session:
        assert account_id is not None
        [call] = session.scalars(select(ChannelCall).where(ChannelCall.action == "notify"))
        assert call.state == "done", call.why
        assert "secret" not in json.dumps(call.history)
        secret = hook_secret(session, "prolific", account_id)
        assert session.get_one(ChannelAccount, account_id).hook_secret != secret.encode()
    assert notified(client, account_id, "wrong") == 401
    assert notified(client, account_id, secret, age=301) == 401
    assert notified(client, account_id, secret, age=-400) == 401
    assert notified(client, recruitment.id, secret) == 404
    assert notified(client, account_id, secret) == 202
    assert notified(client, account_id, secret) == 200
    assert notified(client, account_id, secret, event="event-2") in (200, 202)
    with transaction() as session:
        moment = session.scalar(select(func.max(Recruitment.poll_at)))
        assert moment is not None
        assert moment <= datetime.now(UTC)
        assert session.scalar(select(func.count()).select_from(Payment)) == 0


STATUSES = ("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED")


@pytest.mark.parametrize(
    "order",
    [
        STATUSES,
        tuple(reversed(STATUSES)),
        ("APPROVED", "RETURNED", "REJECTED", "TIMED-OUT", "ACTIVE"),
    ],
    ids=["in order", "backwards", "never so"],
)
def test_notifications_in_any_order_end_in_what_the_platform_says(
    client: TestClient,
    prolific: Emulator,
    owner: Account,
    campaign: Campaign,
    order: tuple[str, ...],
) -> None:
    recruitment = opened(prolific, owner, campaign)
    assert recruitment.channel_account_id is not None
    with transaction() as session:
        secret = hook_secret(session, "prolific", recruitment.channel_account_id)
    person = Participant(client, prolific)
    person.enter()
    person.answer(GRIDS)
    for number, status in enumerate(order):
        # The first half comes before the work is handed in, the rest behind it.
        if number == len(order) // 2:
            person.come_back()
        fields = {"resource_id": person.submission, "status": status, "participant_id": person.id}
        event = f"event-{number}"
        assert (
            notified(client, recruitment.channel_account_id, secret, event=event, **fields) == 202
        )
        look()
    for _ in range(2):
        look()
    with transaction() as session:
        submission = session.scalars(select(Submission)).one()
        assert (submission.state, submission.flag) == ("approved", "")
    assert [
        (payment.kind, payment.amount_cents, payment.state) for payment in payments(campaign)
    ] == [("reward", 300, "paid")]
    assert paid_there(prolific, "reward") == [300]
    assert differences(recruitment) == []
