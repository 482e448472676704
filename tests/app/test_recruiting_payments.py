"""Payments for work on MTurk: once, within the limit, also for what the platform lists late."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.accounts.models import Account
from app.annotation.models import Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Recruitment, Submission
from app.recruitment.report import PATIENCE
from emulators.mturk import market
from emulators.mturk.faults import FaultRule, Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from testbed.builders import an_account, sign_in
from testbed.recruits import differences, do_all_due, look, opened, payments, recruit
from tests.support.mturk_recruiting import GRIDS, a_paying_campaign, paid_there, recruiting_on


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


def test_work_that_the_platform_knows_nothing_of_is_told_and_the_other_way_round(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    never_began = recruit(client, turk)
    never_began.submit()
    half = recruit(client, turk)
    half.enter()
    half.answer(1)
    half.submit()
    look()
    assert sorted(differences(recruitment)) == ["incomplete", "theirs_only"]
    assert payments(campaign) == []
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    listed = client.get(f"{root}/submissions?flagged=true").json()["items"]
    partial = next(item for item in listed if item["flag"] == "incomplete")
    assert partial["earned_cents"] == 50
    rejected = client.post(
        f"{root}/submissions/{partial['id']}/reject", json={"reason": "Half was left out."}
    )
    assert rejected.status_code == 202, rejected.text
    do_all_due()
    look()
    with transaction() as session:
        row = session.get_one(Submission, partial["id"])
        assert row.state == "rejected"
    # Taken back: rejected work is paid after all, and part of other work as a bonus.
    back = client.post(f"{root}/submissions/{partial['id']}/approve", json={"reason": "Sorry."})
    assert back.status_code == 200, back.text
    do_all_due()
    look()
    assert [(payment.kind, payment.state) for payment in payments(campaign)] == [("reward", "paid")]
    assert paid_there(turk, "reward") == Decimal("1.00")
    assert differences(recruitment) == ["theirs_only"]


def lower_the_limit(recruitment: Recruitment, cents: int) -> None:
    """Below what is promised, which no service does: as where others spend from the same money."""
    with transaction() as session:
        session.execute(
            update(Recruitment)
            .where(Recruitment.id == recruitment.id)
            .values(spend_limit_cents=cents)
        )


def test_extra_grids_are_offered_as_far_as_the_limit_pays_for_them(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    settings = {"extra_grids": 3, "extra_cents": 10}
    # Two places at 1.20 with fees, and room for two bonuses at 0.12.
    opened(owner, campaign, places=2, settings=settings, spend_limit_cents=264)
    first, second = recruit(client, turk), recruit(client, turk)
    for person in (first, second):
        assert person.enter().status_code == 201
    assert first.answer(GRIDS)["more"]["left"] == 2
    assert second.answer(GRIDS)["more"]["left"] == 2
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda person: person.ask("POST", "/more"), (first, second)))
    assert [reply.status_code for reply in replies] == [200, 200]
    for person in (first, second):
        assert person.answer(1)["more"] is None
        assert person.ask("POST", "/more").json()["code"] == "no_more"
        person.announce_and_submit()
    look()
    assert [(payment.kind, payment.state) for payment in payments(campaign)].count(
        ("bonus", "paid")
    ) == 2
    assert paid_there(turk, "bonus") == Decimal("0.20")


def test_two_who_ask_at_once_do_not_pass_the_limit(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    settings = {"extra_grids": 1, "extra_cents": 10}
    opened(owner, campaign, places=6, settings=settings, spend_limit_cents=6 * 120 + 24)
    people = [recruit(client, turk) for _ in range(6)]
    for person in people:
        person.enter()
        person.answer(GRIDS)
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda person: person.ask("POST", "/more"), people))
    assert sorted(reply.status_code for reply in replies) == [200] * 2 + [409] * 4


def test_a_limit_that_is_not_given_has_room_for_what_is_promised(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    settings = {"extra_grids": 2, "extra_cents": 10, "quality_cents": 20}
    recruitment = opened(owner, campaign, places=3, settings=settings)
    assert recruitment.spend_limit_cents == 3 * (120 + 24 + 24)


def test_the_limit_holds_bonuses_back_until_it_is_raised(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, places=1, settings={"extra_grids": 1, "extra_cents": 50})
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.ask("POST", "/more")
    person.answer(1)
    lower_the_limit(recruitment, 120)
    person.announce_and_submit()
    look()
    assert [(payment.kind, payment.state) for payment in payments(campaign)] == [
        ("reward", "paid"),
        ("bonus", "held"),
    ]
    assert differences(recruitment) == ["held"]
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}"
    more = client.post(f"{root}/more", json={"places": 1})
    assert (more.status_code, more.json()["code"]) == (409, "over_spend_limit")
    assert client.put(f"{root}/limit", json={"spend_limit_cents": 1}).status_code == 422
    raised = client.put(f"{root}/limit", json={"spend_limit_cents": 180})
    assert raised.json()["money"]["left_cents"] == 0
    do_all_due()
    assert paid_there(turk, "bonus") == Decimal("0.50")
    assert differences(recruitment) == []


def test_everything_is_paid_once_while_calls_fail_before_and_after_their_effect(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    rules = [
        FaultRule(kind="error_before", share=0.1),
        FaultRule(kind="error_after", share=0.1),
        FaultRule(kind="throttle", share=0.1),
    ]
    turk.state.faults = Faults(FaultSettings(calls=rules, seed=3))
    settings = {"extra_grids": 1, "extra_cents": 5, "exclude_former": True}
    recruitment = opened(owner, campaign, places=12, settings=settings, spend_limit_cents=5000)
    for number in range(12):
        person = recruit(client, turk)
        assert person.enter().status_code == 201
        person.answer(GRIDS)
        if number % 2:
            person.ask("POST", "/more")
            person.answer(1)
        person.announce_and_submit()
    for _ in range(6):
        look()
    books = payments(campaign)
    assert {payment.state for payment in books} == {"paid"}
    assert sorted(payment.kind for payment in books) == ["bonus"] * 6 + ["reward"] * 12
    assert paid_there(turk, "reward") == Decimal("12.00")
    assert paid_there(turk, "bonus") == Decimal("0.30")
    assert differences(recruitment) == []
    assert len(turk.state.hits) == 2


def test_who_could_not_hand_in_is_paid_by_a_task_for_them_alone(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, spend_limit_cents=500)
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.ask("POST", "/hand-in")
    # The form was lost on its way, and the time has run out.
    with transaction() as session:
        session.execute(update(Assignment).values(handed_in_at=datetime.now(UTC) - PATIENCE))
    look()
    assert differences(recruitment) == ["ours_only"]
    sign_in(client, owner)
    [listed] = client.get(
        f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}/reconciliation"
    ).json()["differences"]
    path = f"/api/v1/campaigns/{campaign.id}/assignments/{listed['assignment_id']}/compensate"
    compensation = {"amount_cents": 100, "reason": "Your work arrived, the form did not."}
    assert client.post(path, json={**compensation, "amount_cents": 1000}).status_code == 409
    assert client.post(path, json=compensation).status_code == 202
    assert client.post(path, json=compensation).status_code == 409
    do_all_due()
    assert differences(recruitment) == []
    state = turk.state
    hit = next(hit for hit in state.hits.values() if "/thanks" in hit.url)
    stranger = recruit(client, turk).held
    assert stranger.hit is not hit
    with state.lock:
        held = market.accept(state, state.workers[person.held.worker_id], hit)
    query = f"assignmentId={held.assignment_id}&turkSubmitTo={turk.endpoint_url}"
    page = client.get(f"{urlsplit(hit.url).path}?{query}").text
    assert f'action="{turk.endpoint_url}/mturk/externalSubmit"' in page
    with state.lock:
        market.submit(state, held, [("likewise", "compensation")])
    look()
    assert [
        (payment.kind, payment.amount_cents, payment.state) for payment in payments(campaign)
    ] == [("reward", 100, "paid")]
    assert paid_there(turk, "reward") == Decimal("1.00")
    assert differences(recruitment) == []
    # Nothing was asked of MTurk that it refused.
    shown = client.get(f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}").json()
    assert shown["problem"] == ""


def test_handing_in_before_all_is_done_pays_nothing_by_itself(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS - 1)
    person.announce_and_submit()
    look()
    assert payments(campaign) == []
    assert differences(recruitment) == ["incomplete"]


def test_the_part_that_was_done_is_paid_once_however_often_it_is_clicked(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, spend_limit_cents=1000)
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS - 1)
    person.announce_and_submit()
    look()
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/submissions"
    [submission] = client.get(f"{root}?flagged=true").json()["items"]
    assert (submission["flag"], submission["earned_cents"], submission["part_paid"]) == (
        "incomplete",
        50,
        False,
    )
    asked = {"amount_cents": submission["earned_cents"], "reason": "For one grid.", "part": True}
    first, second = (client.post(f"{root}/{submission['id']}/bonus", json=asked) for _ in range(2))
    assert first.status_code == 201, first.text
    assert (second.status_code, second.json()["code"]) == (409, "part_paid")
    do_all_due()
    look()
    [submission] = client.get(f"{root}?flagged=true").json()["items"]
    assert (submission["flag"], submission["part_paid"]) == ("incomplete", True)
    assert [
        (payment.rule, payment.amount_cents, payment.state) for payment in payments(campaign)
    ] == [("part", 50, "paid")]
    assert paid_there(turk, "bonus") == Decimal("0.50")
    assert differences(recruitment) == ["incomplete"]


def test_a_bonus_that_was_cancelled_stays_cancelled(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, places=1, settings={"extra_grids": 1, "extra_cents": 50})
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.ask("POST", "/more")
    person.answer(1)
    lower_the_limit(recruitment, 120)
    person.announce_and_submit()
    look()
    bonus = next(payment for payment in payments(campaign) if payment.kind == "bonus")
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    assert client.post(f"{root}/payments/{bonus.id}/cancel", json={}).status_code == 200
    path = f"{root}/recruitments/{recruitment.id}"
    client.put(f"{path}/limit", json={"spend_limit_cents": 10_000})
    client.post(f"{path}/poll")
    look()
    assert [payment.state for payment in payments(campaign)] == ["paid", "cancelled"]
    assert paid_there(turk, "bonus") == 0


def test_work_that_the_platform_lists_late_is_waited_for(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, places=2)
    prompt = recruit(client, turk)
    prompt.enter()
    prompt.answer(GRIDS)
    prompt.announce_and_submit()
    turk.state.faults = Faults(FaultSettings(late_share=1, late_seconds=600))
    late = recruit(client, turk)
    late.enter()
    late.answer(GRIDS)
    late.announce_and_submit()
    # Nobody is at work and no place is left: the task has ended, but one of two is not listed.
    look()
    look()
    assert len(payments(campaign)) == 1
    with turk.state.lock:
        turk.state.clock.advance(700)
    look()
    assert [payment.state for payment in payments(campaign)] == ["paid", "paid"]
    assert differences(recruitment) == []
