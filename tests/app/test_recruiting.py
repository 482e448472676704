"""From a planned recruitment to paid people, against the MTurk emulator, in process."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.recruitment import ledger
from app.recruitment.channel import ChannelRefused
from app.recruitment.channels.mturk.client import MTurkChannel
from app.recruitment.models import Recruitment
from emulators.mturk import market
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.server import Emulator, running
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import (
    SECRET,
    an_account_on,
    differences,
    do_all_due,
    look,
    opened,
    payments,
    recruit,
)
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


def test_work_is_paid_with_its_bonuses_and_the_books_agree(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    settings = {"extra_grids": 2, "extra_cents": 7}
    recruitment = opened(owner, campaign, settings=settings, spend_limit_cents=600)
    person = recruit(client, turk)
    entered = person.enter()
    assert entered.status_code == 201, entered.text
    address = f"{turk.endpoint_url}/mturk/externalSubmit"
    assert entered.json()["hand_in"]["address"] == address
    done = person.answer(GRIDS)
    assert done["status"] == "done"
    assert done["more"] == {"left": 2, "cents": 7, "currency": "USD"}
    assert person.ask("POST", "/more").json()["status"] == "leased"
    assert person.answer(1)["more"]["left"] == 1
    person.announce_and_submit()
    look()
    look()
    books = [
        (payment.kind, payment.rule, payment.amount_cents, payment.state)
        for payment in payments(campaign)
    ]
    assert books == [("reward", "reward", 100, "paid"), ("bonus", "extra", 7, "paid")]
    assert paid_there(turk, "reward") == Decimal("1.00")
    assert paid_there(turk, "bonus") == Decimal("0.07")
    assert differences(recruitment) == []
    with transaction() as session:
        money = ledger.commitments(session, session.get_one(Recruitment, recruitment.id))
    assert money.paid_cents == 120 + 9
    assert money.committed_cents == 3 * 120 + 9


def test_a_returned_assignments_id_goes_to_the_next_who_alone_is_paid(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign, places=1)
    first = recruit(client, turk)
    first.enter()
    first.answer(1)
    first.give_back()
    second = recruit(client, turk)
    assert second.held.assignment_id == first.held.assignment_id
    refused = second.enter()
    assert (refused.status_code, refused.json()["code"]) == (409, "assignment_taken")
    # The first one's page says that it was left.
    assert first.ask("POST", "/presence", json={"left": True}).status_code == 204
    assert second.enter().status_code == 201
    gone = first.ask("POST", "/leases")
    assert (gone.status_code, gone.json()["code"]) == (409, "assignment_returned")
    second.answer(GRIDS)
    second.announce_and_submit()
    look()
    [payment] = payments(campaign)
    assert payment.state == "paid"
    with transaction() as session:
        rows = session.execute(
            select(Annotator.position, Assignment.state, Assignment.n_answered)
            .join(Assignment, Assignment.annotator_id == Annotator.id)
            .order_by(Annotator.position)
        ).all()
        assert [tuple(row) for row in rows] == [(0, "returned", 1), (1, "completed", GRIDS)]
        paid = session.get_one(Annotator, payment.annotator_id)
        assert paid.position == 1
    [entry] = [entry for entry in turk.state.journal if entry.kind == "reward"]
    assert entry.worker_id == second.held.worker_id
    assert differences(recruitment) == []


def test_forged_addresses_are_refused_and_leave_nothing(
    client: TestClient,
    turk: Emulator,
    owner: Account,
    campaign: Campaign,
    caplog: pytest.LogCaptureFixture,
) -> None:
    opened(owner, campaign)
    other = a_campaign(owner, budget=40, grids_per_assignment=GRIDS)
    person = recruit(client, turk)
    opened(owner, other)
    elsewhere = recruit(client, turk)
    while elsewhere.held.hit is person.held.hit:
        elsewhere = recruit(client, turk)
    cases = {
        "malformed_entry": {"assignment_id": "<script>"},
        "unknown_posting": {"hit_id": elsewhere.held.hit.hit_id},
        "bad_submit_address": {"turk_submit_to": "https://www.mturk.com.evil.example"},
        "unknown_link": {"link": person.entry["link"] + "x"},
    }
    for code, changes in cases.items():
        reply = person.enter(**changes)
        assert (reply.json()["code"], reply.status_code >= 400) == (code, True)
    assert "unknown_posting" in caplog.text or "another task" in caplog.text
    assert person.held.worker_id not in caplog.text
    page = client.get(f"/a/mturk/{person.entry['link']}?turkSubmitTo=https://evil.example")
    assert page.status_code == 400
    with transaction() as session:
        for table in (Annotator, Assignment, Answer):
            assert session.scalar(select(func.count()).select_from(table)) == 0


def test_nobody_at_work_there_means_nobody_comes_in(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign)
    person = recruit(client, turk)
    person.give_back()
    reply = person.enter(assignment_id="3FORGED")
    assert (reply.status_code, reply.json()["code"]) == (403, "not_accepted")


def test_people_come_in_while_mturk_refuses_to_say_who_is_at_work(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def refuses(*_: object) -> None:
        raise ChannelRefused("MTurk refused: HIT does not exist.")

    opened(owner, campaign)
    person = recruit(client, turk)
    monkeypatch.setattr(MTurkChannel, "status", refuses)
    assert person.enter().status_code == 201


def test_a_second_person_on_an_assignment_that_was_handed_in_is_refused(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign)
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.announce_and_submit()
    look()
    recruit(client, turk)
    reply = person.enter(worker_id="AFORGED")
    assert (reply.status_code, reply.json()["code"]) == (403, "second_person")


def test_a_preview_makes_no_rows_and_only_mturk_may_frame_it(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    person = recruit(client, turk)
    address = f"/a/mturk/{person.entry['link']}"
    page = client.get(f"{address}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=X")
    assert page.status_code == 200
    assert '"locked": true' in page.text
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors https://worker.mturk.com https://www.mturk.com" in policy
    assert turk.endpoint_url in policy.partition("form-action")[2]
    # In a frame without an origin, to WebKit 'self' is nobody.
    assert "'strict-dynamic' 'self' http://testserver; worker-src 'self' http://tests" in policy
    with transaction() as session:
        for table in (Annotator, Assignment, Answer):
            assert session.scalar(select(func.count()).select_from(table)) == 0
    assert recruitment.state == "open"


def test_a_dry_run_shows_what_would_be_asked_and_asks_nothing(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    account = an_account_on(owner, "mturk", SECRET)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/recruitments"
    plan = {"channel": "mturk", "channel_account_id": str(account.id), "places": 20}
    created = client.post(root, json=plan)
    assert created.status_code == 201, created.text
    before = len(turk.state.calls)
    shown = client.get(f"{root}/{created.json()['id']}/dry-run").json()
    assert len(turk.state.calls) == before
    assert [posting["places"] for posting in shown["postings"]] == [9, 9, 2]
    assert shown["total_cents"] == 20 * 120
    assert shown["problems"] == []
    names = [request["name"] for request in shown["requests"]]
    assert names == ["CreateHITType", "CreateHITWithHITType"]
    assert client.post(f"{root}/{created.json()['id']}/open").status_code == 200
    do_all_due()
    assert sorted(hit.max_assignments for hit in turk.state.hits.values()) == [2, 9, 9]
    hit = next(iter(turk.state.hits.values()))
    assert hit.hit_type.title == shown["requests"][0]["body"]["Title"]
    assert hit.url in shown["requests"][1]["body"]["Question"]


def test_who_was_at_work_when_recruiting_stopped_is_paid(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    person = recruit(client, turk)
    person.enter()
    person.answer(1)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}"
    assert client.post(f"{root}/stop").json()["state"] == "stopped"
    do_all_due()
    assert client.get(root).json()["money"]["committed_cents"] == 3 * 120
    look()
    # The others' places are gone; this one's money is still kept.
    assert client.get(root).json()["money"]["committed_cents"] == 120
    person.answer(GRIDS - 1)
    person.announce_and_submit()
    look()
    assert [payment.state for payment in payments(campaign)] == ["paid"]
    look()
    with transaction() as session:
        assert session.get_one(Recruitment, recruitment.id).poll_at is None


def test_pausing_is_undone_by_resuming(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}"
    client.post(f"{root}/pause")
    do_all_due()
    look()
    with turk.state.lock:
        [passer_by] = add_workers(turk.state, NewWorkers())
        assert market.open_to(turk.state, passer_by) == []
    assert client.post(f"{root}/more", json={"places": 1}).status_code == 409
    client.post(f"{root}/resume")
    do_all_due()
    look()
    assert recruit(client, turk).enter().status_code == 201


def test_an_editor_may_stop_but_not_spend(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    recruitment = opened(owner, campaign)
    editor = an_account("editor@example.org")
    with transaction() as session:
        row = session.get_one(Campaign, campaign.id)
        share_campaign(session, owner, row, "editor@example.org", "edit")
    sign_in(client, editor)
    root = f"/api/v1/campaigns/{campaign.id}/recruitments/{recruitment.id}"
    for path, body in (("more", {"places": 1}), ("resume", None)):
        client.post(f"{root}/pause") if path == "resume" else None
        reply = client.post(f"{root}/{path}", json=body)
        assert (reply.status_code, reply.json()["code"]) == (403, "not_your_money")
    raised = client.put(f"{root}/limit", json={"spend_limit_cents": 100_000})
    assert raised.json()["code"] == "not_your_money"
    assert client.post(f"{root}/stop").status_code == 200


def test_one_person_takes_one_place_at_a_time_and_once(
    client: TestClient, turk: Emulator, owner: Account, campaign: Campaign
) -> None:
    opened(owner, campaign, places=12)
    person = recruit(client, turk)
    assert person.enter().status_code == 201
    again = recruit(client, turk, person.held.worker_id)
    assert again.held.hit is not person.held.hit
    assert again.enter().json()["code"] == "took_part_before"
