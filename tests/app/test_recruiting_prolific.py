"""From a planned recruitment to paid people, against the Prolific emulator, in process."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.models import Annotator, Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment import bonus_work, report
from app.recruitment.channels.prolific_hooks import signature
from app.recruitment.models import (
    ChannelAccount,
    ChannelCall,
    Payment,
    Recruitment,
    Submission,
)
from app.recruitment.notices import hook_secret
from app.recruitment.reconcile import LONGEST_WAIT
from app.recruitment.service import RecruitmentPlan, open_recruitment, plan_recruitment
from emulators.prolific.server import Emulator, running
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import an_account_on, do_all_due, look, payments
from tests.conftest import forget_settings

GRIDS = 2


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    with running(submitted_seconds=0.0, bonus_seconds=0.0, fault_seconds=0.05) as emulator:
        yield emulator


@pytest.fixture
def prolific(
    served: Emulator, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Emulator]:
    monkeypatch.setenv("LIKEWISE_PROLIFIC_ENDPOINT", served.url)
    monkeypatch.setenv("LIKEWISE_PROLIFIC_SITE", served.url)
    # Nobody listens there: what is sent to it is not what is tested here.
    monkeypatch.setenv("LIKEWISE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(bonus_work, "LOOKS", 3)
    forget_settings()
    httpx.post(f"{served.url}/emulator/reset").raise_for_status()
    yield served
    assert served.state.violations == []


@pytest.fixture
def owner(prolific: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(
        owner, budget=40, grids_per_assignment=GRIDS, reward_cents=300, currency="GBP"
    )


def opened(prolific: Emulator, owner: Account, campaign: Campaign, **plan: Any) -> Recruitment:
    account = an_account_on(owner, "prolific", {"token": prolific.token})
    values = {"places": 3, "spend_limit_cents": 5000, **plan}
    with transaction() as session:
        recruitment = plan_recruitment(
            session,
            owner,
            campaign.id,
            RecruitmentPlan("prolific", channel_account_id=account.id, **values),
        )
        open_recruitment(session, owner, recruitment.id)
    do_all_due()
    return recruitment


class Participant:
    """Somebody who takes part in the only study that is open."""

    def __init__(self, client: TestClient, prolific: Emulator, number: int = 0) -> None:
        self.client, self.url = client, prolific.url
        people = httpx.get(f"{self.url}/emulator/participants").json()
        self.id = people[number]["id"]
        [study] = httpx.get(f"{self.url}/market/studies", params={"participant": self.id}).json()
        body = {"participant": self.id, "start": True}
        taken = httpx.post(f"{self.url}/market/studies/{study['id']}/take-part", json=body)
        taken.raise_for_status()
        self.submission = taken.json()["submission_id"]
        parts = urlsplit(taken.json()["url"])
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.entry = {
            "link": parts.path.removeprefix("/a/prolific/"),
            "participant": query["PROLIFIC_PID"],
            "study": query["STUDY_ID"],
            "session": query["SESSION_ID"],
        }
        self.ways: dict[str, Any] = {}
        self.stage = ""

    def enter(self, **changes: str) -> Any:
        path = "/api/v1/annotate/sessions/prolific"
        reply = self.client.post(path, json={**self.entry, **changes})
        if reply.status_code == 201:
            opened = reply.json()
            self.headers = {"Authorization": f"Bearer {opened['token']}"}
            self.ways = {way: opened[way] for way in ("hand_in", "declined", "screened_out")}
            self.stage = opened["stage"]
            if self.stage == "instructions":
                self.stage = self.ask("/steps", step="instructions").json()["stage"]
        return reply

    def ask(self, path: str, **body: Any) -> Any:
        key = {"Idempotency-Key": f"key-of-{path}"}
        return self.client.post(
            f"/api/v1/annotate{path}", json=body or None, headers={**self.headers, **key}
        )

    def answer(self, n: int) -> dict[str, Any]:
        for _ in range(n):
            lease = self.ask("/leases").json()["lease"]
            images = [image["image"] for image in lease["images"]]
            groups = [k % 2 for k in range(len(images))]
            reply = self.ask(f"/leases/{lease['id']}/answer", images=images, groups=groups)
            assert reply.status_code == 200, reply.text
        handout: dict[str, Any] = self.ask("/leases").json()
        return handout

    def come_back(self, way: str = "hand_in") -> None:
        """What the browser does at the end: our word first, then Prolific's address."""
        if way == "hand_in":
            assert self.ask("/hand-in").status_code == 204
        address = self.ways[way]["address"]
        code = parse_qs(urlsplit(address).query)["cc"][0]
        back = httpx.post(
            f"{self.url}/market/submissions/{self.submission}/complete", json={"code": code}
        )
        back.raise_for_status()


def paid_there(prolific: Emulator, kind: str) -> list[int]:
    journal = prolific.state.wallet.journal
    return [-entry.amount for entry in journal if (entry.kind, entry.part) == (kind, "money")]


def differences(recruitment: Recruitment) -> list[str]:
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        return [difference.what for difference in report.reconcile(session, row).differences]


def test_work_is_paid_with_its_bonus_and_the_books_agree(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    settings = {"extra_grids": 1, "extra_cents": 30}
    recruitment = opened(prolific, owner, campaign, settings=settings)
    person = Participant(client, prolific)
    assert person.enter().status_code == 201
    assert person.answer(GRIDS)["more"]["cents"] == 30
    person.ask("/more")
    person.answer(1)
    person.come_back()
    for _ in range(3):
        look()
    assert [
        (payment.kind, payment.amount_cents, payment.state) for payment in payments(campaign)
    ] == [
        ("reward", 300, "paid"),
        ("bonus", 30, "paid"),
    ]
    assert (paid_there(prolific, "reward"), paid_there(prolific, "bonus")) == ([300], [30])
    assert differences(recruitment) == []


def test_who_comes_is_asked_of_prolific(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(prolific, owner, campaign)
    person, other = Participant(client, prolific), Participant(client, prolific, 1)
    cases = {
        "another_person": {"participant": other.id},
        "unknown_submission": {"session": "0" * 24},
        "unknown_posting": {"study": "0" * 24},
    }
    for code, changes in cases.items():
        reply = person.enter(**changes)
        assert (reply.status_code, reply.json()["code"]) == (403, code)
    fault = [{"operation": "*", "kind": "5xx-before"}]
    httpx.put(f"{prolific.url}/emulator/faults", json=fault).raise_for_status()
    assert person.enter().json()["code"] == "platform_silent"
    httpx.put(f"{prolific.url}/emulator/faults", json=[]).raise_for_status()
    with transaction() as session:
        for table in (Annotator, Assignment):
            assert session.scalar(select(func.count()).select_from(table)) == 0
    assert person.enter().status_code == 201


def test_without_consent_nobody_is_paid_and_wrong_codes_are_looked_at(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(prolific, owner, campaign)
    person = Participant(client, prolific)
    person.enter()
    person.come_back("declined")
    hasty = Participant(client, prolific, 1)
    hasty.enter()
    hasty.ways = person.ways
    httpx.post(
        f"{prolific.url}/market/submissions/{hasty.submission}/complete", json={"code": "WRONG"}
    )
    look()
    assert payments(campaign) == []
    assert differences(recruitment) == ["wrong_code"]


def test_a_bonus_whose_outcome_is_unknown_is_parked_and_never_paid_again(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(prolific, owner, campaign, settings={"extra_grids": 1, "extra_cents": 30})
    person = Participant(client, prolific)
    person.enter()
    person.answer(GRIDS)
    person.ask("/more")
    person.answer(1)
    person.come_back()
    pays = [call for call in prolific.state.calls if "pay" in call.operation]
    assert pays == []
    fault = [{"operation": "pay*", "kind": "5xx-before"}]
    httpx.put(f"{prolific.url}/emulator/faults", json=fault).raise_for_status()
    for _ in range(3):
        look()
    books = {payment.kind: payment for payment in payments(campaign)}
    assert books["bonus"].state == "parked"
    assert len([call for call in prolific.state.calls if call.operation.startswith("pay")]) == 1
    assert differences(recruitment) == ["parked"]
    httpx.put(f"{prolific.url}/emulator/faults", json=[]).raise_for_status()
    look()
    assert paid_there(prolific, "bonus") == []
    # A person has looked there: it was not paid, so it may be paid now.
    sign_in(client, owner)
    path = f"/api/v1/campaigns/{campaign.id}/payments/{books['bonus'].id}"
    reply = client.post(f"{path}/unpaid", json={"reason": "Not in the list there."})
    assert reply.json()["state"] == "held"
    assert client.post(f"{path}/release", json={}).json()["state"] == "due"
    do_all_due()
    assert paid_there(prolific, "bonus") == [30]
    assert differences(recruitment) == []


def test_a_bonus_that_was_paid_though_no_answer_came_is_found(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(prolific, owner, campaign, settings={"extra_grids": 1, "extra_cents": 30})
    person = Participant(client, prolific)
    person.enter()
    person.answer(GRIDS)
    person.ask("/more")
    person.answer(1)
    person.come_back()
    fault = [{"operation": "pay*", "kind": "timeout-after"}]
    httpx.put(f"{prolific.url}/emulator/faults", json=fault).raise_for_status()
    for _ in range(3):
        look()
    assert paid_there(prolific, "bonus") == [30]
    assert {payment.state for payment in payments(campaign)} == {"paid"}
    assert differences(recruitment) == []


def test_who_fails_practice_is_screened_out_and_paid_for_that(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign
) -> None:
    with transaction() as session:
        session.execute(
            update(Campaign)
            .where(Campaign.id == campaign.id)
            .values(annotation={**campaign.annotation, "practice": 1, "practice_pass": 0.9})
        )
    with_known_answers(client, owner, campaign)
    recruitment = opened(prolific, owner, campaign, settings={"screen_out_cents": 60})
    person = Participant(client, prolific)
    person.enter()
    assert person.stage == "practice"
    for _ in range(2):
        practice = client.get("/api/v1/annotate/practice", headers=person.headers).json()
        images = [image["image"] for image in practice["images"]]
        tried = person.ask("/practice", images=images, groups=[0] * len(images)).json()
    assert tried["state"]["stage"] == "screened_out"
    assert person.ask("/leases").status_code == 409
    person.come_back("screened_out")
    for _ in range(2):
        look()
    assert [
        (payment.kind, payment.amount_cents, payment.state) for payment in payments(campaign)
    ] == [("screen_out", 60, "paid")]
    assert sum(paid_there(prolific, "screen-out")) == 60
    assert differences(recruitment) == []


def with_known_answers(client: TestClient, owner: Account, campaign: Campaign) -> None:
    """A list of one known answer, for practice."""
    sign_in(client, owner)
    listed = client.get(f"/api/v1/collections/{campaign.collection_id}/images").json()["items"]
    lines = ["grid,filename,group"]
    lines += [f"1,{image['filename']},{k % 2}" for k, image in enumerate(listed[:6])]
    path = f"/api/v1/campaigns/{campaign.id}/known-answers"
    table = "\n".join(lines).encode()
    reply = client.post(path, files={"file": ("known.csv", table, "text/csv")})
    assert reply.status_code == 201, reply.text


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
        secret = hook_secret(session, account_id)
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
        secret = hook_secret(session, recruitment.channel_account_id)
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
