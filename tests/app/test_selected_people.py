"""Several people at once on MTurk and through links: approvals, bonuses by hand, messages."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import AnnotatorIdentity
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import LikewiseError
from app.recruitment import selected
from app.recruitment.models import ChannelCall, Submission
from app.recruitment.steps import work_once
from emulators.mturk.faults import FaultRule, Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from testbed.builders import an_account, sign_in
from testbed.recruits import differences, do_all_due, look, opened, payments, recruit
from tests.support import links
from tests.support.mturk_recruiting import GRIDS, a_paying_campaign, paid_there, recruiting_on

Json = dict[str, Any]
REVIEW = {"approve": "review"}


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    with running() as emulator:
        yield emulator


@pytest.fixture
def turk(
    served: Emulator, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Emulator]:
    with recruiting_on(served, monkeypatch) as emulator:
        yield emulator


@pytest.fixture
def owner(turk: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_paying_campaign(owner)


def somebody(client: TestClient, turk: Emulator, grids: int = GRIDS) -> str:
    """A worker who submits so many grids. Returns the worker's id."""
    person = recruit(client, turk)
    person.enter()
    person.answer(grids)
    person.announce_and_submit()
    return person.held.worker_id


def ask(client: TestClient, campaign: Campaign, route: str, **body: Any) -> Any:
    return client.post(f"/api/v1/campaigns/{campaign.id}/selected/{route}", json=body)


def left_out(reply: Any) -> dict[int, str]:
    assert reply.status_code in (200, 202), reply.text
    return {person["annotator"]: person["why"] for person in reply.json()["people"]}


def letters(turk: Emulator) -> list[tuple[list[str], str]]:
    return [(letter["workers"], letter["text"]) for letter in turk.state.letters]


def fail(turk: Emulator, kind: str, operation: str, share: float = 1) -> None:
    rule = FaultRule(kind=kind, share=share, operations=[operation])
    turk.state.faults = Faults(FaultSettings(calls=[rule]))


def no_faults(turk: Emulator) -> None:
    turk.state.faults = Faults(FaultSettings())


def test_all_that_waits_is_approved_and_the_rest_is_named(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, settings=REVIEW)
    for grids in (GRIDS, GRIDS, GRIDS - 1):
        somebody(client, turk, grids)
    look()
    sign_in(client, owner)
    everybody = {"annotators": [0, 1, 2]}
    preview = ask(client, campaign, "check", **everybody, action="approve")
    costs = [(p["amount_cents"], p["fee_cents"]) for p in preview.json()["people"]]
    assert costs == [(100, 20), (100, 20), (0, 0)]
    assert [bool(why) for why in left_out(preview).values()] == [False, False, True]
    assert payments(campaign) == []
    dearer = ask(client, campaign, "approve", **everybody, most_cents=239)
    assert (dearer.status_code, dearer.json()["code"]) == (409, "costs_changed")
    fail(turk, "error_before", "ApproveAssignment", 0.5)
    approved = left_out(ask(client, campaign, "approve", **everybody, most_cents=240))
    assert "closer look" in approved.pop(2)
    assert approved == {0: "", 1: ""}
    do_all_due()
    no_faults(turk)
    look()
    assert [payment.state for payment in payments(campaign)] == ["paid", "paid"]
    assert paid_there(turk, "reward") == Decimal("2.00")
    assert all(left_out(ask(client, campaign, "approve", **everybody, most_cents=0)).values())
    assert differences(recruitment) == ["incomplete"]


def test_bonuses_are_paid_once_however_often_they_are_asked_for(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, spend_limit_cents=480)
    for _ in range(2):
        somebody(client, turk)
    look()
    sign_in(client, owner)
    bonus: Json = {"annotators": [0, 1], "amount_cents": 50, "request": str(uuid4())}
    bonus |= {"reason": "Good work!", "most_cents": 120}
    preview = ask(client, campaign, "check", annotators=[0, 1], action="bonus", amount_cents=50)
    assert [(p["amount_cents"], p["fee_cents"]) for p in preview.json()["people"]] == [(50, 10)] * 2
    # Three places at 1.20 with fees: the limit has room for 1.20.
    assert preview.json()["problem"] == ""
    fail(turk, "error_after", "SendBonus")
    assert left_out(ask(client, campaign, "bonus", **bonus)) == {0: "", 1: ""}
    assert left_out(ask(client, campaign, "bonus", **bonus)) == {0: "", 1: ""}
    other = ask(client, campaign, "bonus", **bonus | {"amount_cents": 49})
    assert (other.status_code, other.json()["code"]) == (409, "request_used")
    do_work_with_faults(turk)
    assert [p.amount_cents for p in payments(campaign) if p.kind == "bonus"] == [50, 50]
    assert paid_there(turk, "bonus") == Decimal("1.00")
    over = ask(client, campaign, "bonus", **bonus | {"request": str(uuid4())})
    assert (over.status_code, over.json()["code"]) == (409, "over_spend_limit")
    preview = ask(client, campaign, "check", annotators=[0, 1], action="bonus", amount_cents=1)
    assert "0.04 USD with fees, but only 0.00 USD" in preview.json()["problem"]
    assert differences(recruitment) == []


def do_work_with_faults(turk: Emulator) -> None:
    while work_once():
        continue
    no_faults(turk)
    do_all_due()
    look()


def test_the_same_request_at_the_same_time_pays_once_and_two_requests_keep_the_limit(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign, spend_limit_cents=480)
    for _ in range(2):
        somebody(client, turk)
    look()

    def pay(request: Any) -> str:
        try:
            with transaction() as session:
                selected.pay_bonuses(
                    session, owner, campaign.id, [0, 1], 50, "Good work!", request, 120
                )
            return "paid"
        except LikewiseError as error:
            return error.code

    same, others = uuid4(), [uuid4() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(pay, [same] * 4))
        refused = list(pool.map(pay, others))
    assert replies == ["paid"] * 4
    assert refused == ["over_spend_limit"] * 4
    assert [p.amount_cents for p in payments(campaign) if p.kind == "bonus"] == [50, 50]


def test_two_requests_at_the_same_time_share_the_limit(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign, spend_limit_cents=480)
    for _ in range(2):
        somebody(client, turk)
    look()

    def pay(request: Any) -> bool:
        try:
            with transaction() as session:
                selected.pay_bonuses(session, owner, campaign.id, [0, 1], 50, "Well", request, 120)
        except LikewiseError:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(pay, [uuid4() for _ in range(6)])) == 1
    assert [p.amount_cents for p in payments(campaign) if p.kind == "bonus"] == [50, 50]


def test_messages_reach_those_whom_the_platform_lets_us_reach(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign, settings=REVIEW)
    workers = [somebody(client, turk) for _ in range(2)]
    look()
    sign_in(client, owner)
    ask(client, campaign, "approve", annotators=[0], most_cents=120)
    do_all_due()
    message: Json = {"annotators": [0, 1], "text": "Thanks.\nMore soon!", "request": str(uuid4())}
    fail(turk, "error_before", "NotifyWorkers", 1)
    for _ in range(2):
        assert left_out(ask(client, campaign, "message", **message)) == {0: "", 1: ""}
    other = ask(client, campaign, "message", **message | {"text": "Another."})
    assert (other.status_code, other.json()["code"]) == (409, "request_used")
    no_faults(turk)
    do_all_due()
    assert letters(turk) == [([workers[0]], "Thanks.\nMore soon!")]
    sent = client.get(f"/api/v1/campaigns/{campaign.id}/messages").json()["items"]
    states = {item["annotator"]: (item["state"], item["why"]) for item in sent}
    assert states[0] == ("done", "")
    assert states[1][0] == "failed"
    assert "not reviewed any work" in states[1][1]
    assert {item["sender"] for item in sent} == {owner.email}
    # A message changes nothing about the work, and does not get in the way of a decision.
    with transaction() as session:
        assert sorted(session.scalars(select(Submission.state))) == ["approved", "submitted"]
    assert left_out(ask(client, campaign, "approve", annotators=[1], most_cents=120)) == {1: ""}


def test_a_message_that_may_have_been_sent_is_not_sent_again(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign)
    somebody(client, turk)
    look()
    sign_in(client, owner)
    fail(turk, "error_after", "NotifyWorkers")
    ask(client, campaign, "message", annotators=[0], text="Hello", request=str(uuid4()))
    do_all_due()
    assert len(letters(turk)) == 1
    [sent] = client.get(f"/api/v1/campaigns/{campaign.id}/messages").json()["items"]
    assert (sent["state"], "may or may not" in sent["why"]) == ("failed", True)


def test_people_whose_id_was_deleted_get_no_message(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign)
    somebody(client, turk)
    look()
    sign_in(client, owner)
    ask(client, campaign, "message", annotators=[0], text="Hello", request=str(uuid4()))
    with transaction() as session:
        session.scalars(select(AnnotatorIdentity)).one().external_id = None
    do_all_due()
    with transaction() as session:
        call = session.scalars(select(ChannelCall).where(ChannelCall.action == "message")).one()
        assert (call.state, "was deleted" in call.why) == ("failed", True)
    assert letters(turk) == []


def test_people_of_links_get_bonuses_that_the_requester_pays_and_no_messages(
    client: TestClient, owner: Account
) -> None:
    campaign = a_paying_campaign(owner)
    sign_in(client, owner)
    link = links.a_link(client, campaign, reward_cents=100)
    token = links.token_of(links.come(client, link["address"]))
    links.answer(client, token, 1)
    sign_in(client, owner)
    why = left_out(ask(client, campaign, "check", annotators=[0], action="message"))
    assert why == {0: "They came through a link, so Likewise can't send them messages."}
    bonus: Json = {"annotators": [0], "amount_cents": 50, "request": str(uuid4())}
    bonus |= {"reason": "Good work!", "most_cents": 50}
    for _ in range(2):
        assert left_out(ask(client, campaign, "bonus", **bonus)) == {0: ""}
    [payment] = payments(campaign)
    assert (payment.kind, payment.amount_cents, payment.fee_cents) == ("outside", 50, 0)
    links.answer(client, token, GRIDS - 1)
    # What the answers earn is not reduced by the bonus.
    assert sorted(p.amount_cents for p in payments(campaign)) == [50, 100]


def test_nobody_acts_on_people_of_others_or_with_the_money_of_others(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign, settings=REVIEW)
    somebody(client, turk)
    look()
    sign_in(client, owner)
    assert ask(client, campaign, "check", annotators=[8], action="approve").status_code == 404
    colleague = an_account("grace@example.org")
    share = {"email": colleague.email, "access": "edit"}
    shared = client.put(f"/api/v1/campaigns/{campaign.id}/shares", json=share)
    assert shared.status_code in (200, 201, 204), shared.text
    sign_in(client, colleague)
    for action, body in (
        ("approve", {"most_cents": 1000}),
        ("message", {"text": "Hello", "request": str(uuid4())}),
        ("bonus", {"amount_cents": 1, "reason": "x", "most_cents": 2, "request": str(uuid4())}),
    ):
        why = left_out(ask(client, campaign, action, annotators=[0], **body))
        assert "Someone else's platform account" in why[0]
    assert payments(campaign) == []
    do_all_due()
    assert letters(turk) == []
