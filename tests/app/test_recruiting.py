"""From a planned recruitment to paid people, against the MTurk emulator, in process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.recruitment import ledger, report
from app.recruitment.models import Recruitment, Submission
from app.recruitment.report import PATIENCE
from emulators.mturk import market
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.faults import FaultRule, Faults, FaultSettings
from emulators.mturk.server import Emulator, running
from testbed.builders import a_campaign, an_account, sign_in
from testbed.recruits import (
    SECRET,
    an_account_on,
    do_all_due,
    look,
    opened,
    payments,
    recruit,
)
from tests.conftest import forget_settings

GRIDS = 2


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


def paid_there(turk: Emulator, *kinds: str) -> Decimal:
    return sum((entry.amount for entry in turk.state.journal if entry.kind in kinds), Decimal(0))


def differences(recruitment: Recruitment) -> list[str]:
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        return [difference.what for difference in report.reconcile(session, row).differences]


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
