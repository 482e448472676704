"""Extra grids: nobody is promised what the limit cannot pay, and no promise is forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.accounts.models import Account
from app.annotation.models import Answer, Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment import ledger, service
from app.recruitment.models import Recruitment
from emulators.mturk.faults import Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import Recruit, do_all_due, look, opened, payments, recruit
from tests.conftest import forget_settings

GRIDS = 2
# With their fees.
PLACE, EXTRA = 120, 12


@pytest.fixture(scope="module")
def served() -> Iterator[Emulator]:
    with running() as emulator:
        yield emulator


@pytest.fixture
def turk(
    served: Emulator, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Emulator]:
    monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", served.endpoint_url)
    monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", served.endpoint_url)
    forget_settings()
    served.state.reset()
    yield served
    assert served.state.violations == []


@pytest.fixture
def owner(turk: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=40, grids_per_assignment=GRIDS, reward_cents=100)


def opened_with_room(
    owner: Account, campaign: Campaign, places: int, extras: int, each: int = 1
) -> Recruitment:
    """The limit has room for so many extra grids; each person may do so many."""
    settings = {"extra_grids": each, "extra_cents": 10}
    limit = places * PLACE + extras * EXTRA
    return opened(owner, campaign, places=places, settings=settings, spend_limit_cents=limit)


def entered(client: TestClient, turk: Emulator) -> Recruit:
    person = recruit(client, turk)
    assert person.enter().status_code == 201
    return person


def money(recruitment: Recruitment) -> ledger.Commitments:
    with transaction() as session:
        return ledger.commitments(session, session.get_one(Recruitment, recruitment.id))


def bonuses(campaign: Campaign) -> list[str]:
    return [payment.state for payment in payments(campaign) if payment.kind == "bonus"]


def test_who_is_at_work_when_recruiting_stops_keeps_what_was_promised(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=2, extras=1)
    first, second = entered(client, turk), entered(client, turk)
    for person in (first, second):
        assert person.answer(GRIDS)["more"]["left"] == 1
    with transaction() as session:
        service.act(session, owner, recruitment.id, "stop")
    do_all_due()
    assert first.ask("POST", "/more").status_code == 200
    assert second.ask("POST", "/more").json()["code"] == "no_more"
    assert money(recruitment).at_work_cents == EXTRA
    look()
    assert money(recruitment).at_work_cents == EXTRA
    first.answer(1)
    for person in (first, second):
        person.announce_and_submit()
    look()
    assert bonuses(campaign) == ["paid"]
    assert money(recruitment).left_cents == 0


def test_who_has_left_a_task_that_ended_is_promised_nothing(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=1, extras=1)
    person = entered(client, turk)
    person.answer(GRIDS)
    assert person.ask("POST", "/more").status_code == 200
    with transaction() as session:
        service.act(session, owner, recruitment.id, "stop")
    do_all_due()
    look()
    assert money(recruitment).at_work_cents == EXTRA
    person.give_back()
    look()
    assert money(recruitment).committed_cents == 0


def test_what_was_promised_stays_so_until_the_platform_lists_the_work(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=1, extras=1)
    person = entered(client, turk)
    person.answer(GRIDS)
    assert person.ask("POST", "/more").status_code == 200
    person.answer(1)
    turk.state.faults = Faults(FaultSettings(late_share=1, late_seconds=600))
    person.announce_and_submit()
    # The task has ended, and nobody is at work there any more.
    look()
    assert payments(campaign) == []
    assert money(recruitment).left_cents == 0
    with turk.state.lock:
        turk.state.clock.advance(700)
    look()
    assert bonuses(campaign) == ["paid"]


def test_an_extra_grid_that_was_left_costs_nothing_once_the_reward_is_paid(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=2, extras=1)
    first, second = entered(client, turk), entered(client, turk)
    first.answer(GRIDS)
    assert first.ask("POST", "/more").status_code == 200
    assert second.answer(GRIDS)["more"] is None
    first.announce_and_submit()
    look()
    assert [payment.kind for payment in payments(campaign)] == ["reward"]
    assert money(recruitment).at_work_cents == 0
    assert second.ask("POST", "/leases").json()["more"]["left"] == 1


def test_a_bonus_that_was_refused_comes_before_new_promises(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened_with_room(owner, campaign, places=2, extras=1)
    first, second = entered(client, turk), entered(client, turk)
    second.answer(GRIDS)
    first.answer(GRIDS)
    assert first.ask("POST", "/more").status_code == 200
    first.answer(1)
    first.announce_and_submit()
    [requester] = turk.state.requesters.values()
    deposit, requester.deposit = requester.deposit, Decimal("2.45")
    look()
    assert bonuses(campaign) == ["failed"]
    assert second.ask("POST", "/more").json()["code"] == "no_more"
    requester.deposit = deposit
    [bonus] = [payment for payment in payments(campaign) if payment.kind == "bonus"]
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/payments/{bonus.id}/release"
    assert client.post(address, json={}).status_code == 200
    do_all_due()
    assert bonuses(campaign) == ["paid"]


def a_lease_that_runs_out(person: Recruit, other: Recruit) -> dict[str, Any]:
    """The person's grid goes to somebody else, but stays on their page."""
    lease: dict[str, Any] = person.ask("POST", "/leases").json()["lease"]
    with transaction() as session:
        session.execute(
            update(Answer)
            .where(Answer.id == lease["id"])
            .values(lease_expires_at=datetime.now(UTC))
        )
    taken = other.ask("POST", "/leases").json()["lease"]
    assert taken["grid_id"] == lease["grid_id"]
    return lease


def hand_late(person: Recruit, lease: dict[str, Any]) -> None:
    images = [image["image"] for image in lease["images"]]
    body = {"images": images, "groups": [k % 2 for k in range(len(images))]}
    key = {"Idempotency-Key": f"late-{lease['id']}"}
    path = f"/leases/{lease['id']}/answer"
    assert person.ask("POST", path, json=body, headers=key).status_code == 200


def test_a_grid_that_comes_late_is_paid_as_the_extra_one(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened_with_room(owner, campaign, places=2, extras=1)
    person, other = entered(client, turk), entered(client, turk)
    late = a_lease_that_runs_out(person, other)
    assert person.answer(GRIDS)["more"]["left"] == 1
    hand_late(person, late)
    # One may be done, and is: a further one would be for nothing.
    assert person.ask("POST", "/leases").json()["more"] is None
    assert person.ask("POST", "/more").json()["code"] == "no_more"
    person.announce_and_submit()
    look()
    assert bonuses(campaign) == ["paid"]


def test_a_grid_that_comes_late_holds_back_nothing_that_was_promised(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=2, extras=1, each=2)
    person, other = entered(client, turk), entered(client, turk)
    late = a_lease_that_runs_out(person, other)
    person.answer(GRIDS)
    assert person.ask("POST", "/more").status_code == 200
    person.answer(1)
    hand_late(person, late)
    person.announce_and_submit()
    look()
    assert bonuses(campaign) == ["paid", "held"]
    assert money(recruitment).left_cents == 0


def test_what_came_late_is_promised_with_the_next_extra_grid(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=2, extras=2, each=2)
    person, other = entered(client, turk), entered(client, turk)
    late = a_lease_that_runs_out(person, other)
    person.answer(GRIDS)
    hand_late(person, late)
    assert person.ask("POST", "/more").json()["more"] is None
    assert money(recruitment).left_cents == 0
    assert other.answer(GRIDS)["more"] is None
    person.answer(1)
    person.announce_and_submit()
    look()
    assert [payment.amount_cents for payment in payments(campaign)] == [100, 20]
    assert bonuses(campaign) == ["paid"]


def test_what_the_platform_has_already_gets_no_extra_grids(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened_with_room(owner, campaign, places=2, extras=2)
    person = entered(client, turk)
    assert person.answer(GRIDS)["more"]["left"] == 1
    # The page could not say so here.
    person.submit()
    look()
    assert person.ask("POST", "/more").json()["code"] == "no_more"


def given_back(person: Recruit) -> None:
    """As when somebody else has come with the same assignment."""
    with transaction() as session:
        session.execute(
            update(Assignment)
            .where(Assignment.external_id == person.held.assignment_id)
            .values(state="returned")
        )


def test_work_that_is_whole_stays_so_when_it_is_accepted_again(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened_with_room(owner, campaign, places=2, extras=0)
    person = entered(client, turk)
    person.answer(GRIDS)
    given_back(person)
    again = person.enter().json()
    assert (again["answered"], again["next"]["status"]) == (GRIDS, "done")
    person.announce_and_submit()
    look()
    assert [payment.state for payment in payments(campaign)] == ["paid"]


def test_a_promise_ends_when_the_work_is_given_back(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened_with_room(owner, campaign, places=2, extras=1)
    first, second = entered(client, turk), entered(client, turk)
    for person in (first, second):
        person.answer(GRIDS)
    assert first.ask("POST", "/more").status_code == 200
    given_back(first)
    assert second.ask("POST", "/more").status_code == 200
    assert first.enter().json()["next"]["more"] is None
    assert first.ask("POST", "/more").json()["code"] == "no_more"
    assert money(recruitment).left_cents == 0
