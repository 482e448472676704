"""Asking again: for every kind of task, with checks of quality, for rejected and unfinished work of
a platform, at the same moment, and through archives."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text

from app.accounts.models import Account
from app.annotation.models import Answer, Assignment
from app.annotation.quality import decide as decide_about
from app.campaigns.models import Grid
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.recruitment import decisions
from app.recruitment.models import Posting, Recruitment, Submission
from app.recruitment.paid_work import take_back_paid_work
from app.recruitment.settling import settle
from app.results.dataset import load_learning_data
from emulators.mturk.server import Emulator, running
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from testbed.invariants import broken_invariants
from testbed.recruits import do_all_due, look, opened, recruit
from testbed.settings import forget_settings
from tests.app.test_annotation import a_lease, a_session, an_answer, submit
from tests.app.test_asking_again import (
    CHECKED,
    HONEST,
    OTHER,
    SPAMMER,
    answer,
    counts,
    decide,
    marks,
    price,
)
from tests.app.test_quality_control import a_checked_campaign, roles, work
from tests.support.archives import archive_of, bring, changed, packed, unpacked
from tests.support.kinds import PLANS
from tests.support.mturk_recruiting import GRIDS, a_paying_campaign, recruiting_on


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


def answer_any(client: TestClient, kind: str, who: dict[str, str], n: int) -> None:
    """Put one image apart, which is an answer of every kind."""
    rest = 0 if PLANS[kind]["grid_size"] == 3 else -1
    for _ in range(n):
        lease = a_lease(client, who)
        groups = [rest] * (len(lease["images"]) - 1) + [rest + 1]
        body = an_answer(lease, groups=groups, descriptions=[])
        reply = submit(client, who, lease, **body)
        assert reply.json()["status"] == "stored", reply.text


@pytest.mark.parametrize("kind", PLANS)
def test_answers_of_every_kind_are_asked_again(
    client: TestClient, owner: Account, kind: str
) -> None:
    plan = {"strategy": "crowdster", **PLANS[kind]}
    collection = a_collection(owner)
    campaign = a_campaign(owner, collection, kind=kind, budget=6, grids_per_assignment=9, **plan)
    answer_any(client, kind, a_session(client, campaign, SPAMMER), 2)
    answer_any(client, kind, a_session(client, campaign, HONEST), 4)
    decide(client, campaign, "leave_out")
    assert counts(campaign) == ("running", 4, 2, 2)
    answer_any(client, kind, a_session(client, campaign, OTHER), 2)
    assert counts(campaign) == ("running", 6, 2, 0)
    assert [whose for *_, whose in marks()][-2:] == [0, 0]


def test_checks_and_repeats_are_no_places(client: TestClient, owner: Account) -> None:
    campaign = a_checked_campaign(owner=owner)
    work(client, campaign, 30, "random")
    counted = Counter(roles())
    assert counted["gold"] > 0
    assert counted["repeat"] > 0
    assert price(client, campaign)["answers"] == counted["ask"]
    decide(client, campaign, "leave_out")
    assert reloaded(campaign.id).n_reopened == counted["ask"]
    with transaction() as session:
        lost = select(Grid.role).join(Answer).where(Answer.reopened_at.is_not(None))
        assert set(session.scalars(lost)) == {"ask"}


def test_an_account_without_room_can_still_leave_somebody_out(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_campaign(owner, budget=8)
    answer(client, campaign, SPAMMER, 2)
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_ANSWERS", "9")
    forget_settings()
    with pytest.raises(InvalidInput), transaction() as session:
        decide_about(session, owner, campaign, 0, "leave_out")
    assert counts(campaign) == ("running", 2, 0, 0)
    decide(client, campaign, "leave_out", ask_again=False)
    assert counts(campaign) == ("running", 2, 0, 0)


@pytest.mark.parametrize("turns", [["leave_out", "leave_out"], ["leave_out", "restore"]])
def test_two_requesters_decide_while_others_work(
    client: TestClient, owner: Account, turns: list[str]
) -> None:
    campaign = a_campaign(
        owner, a_collection(owner), budget=40, answers_per_grid=2, grids_per_assignment=40
    )
    answer(client, campaign, SPAMMER, 12)
    keys = [f"annotator-00001{k}" for k in range(3)]

    def act(what: str) -> None:
        if what.startswith("annotator"):
            answer(client, campaign, what, 4)
            return
        with transaction() as session:
            decide_about(session, owner, campaign, 0, what)  # type: ignore[arg-type]

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(act, [keys[0], turns[0], keys[1], turns[1], keys[2]]))
    assert not broken_invariants(CHECKED)
    if turns[1] == "restore":
        decide(client, campaign, "leave_out")
    found = marks()
    n_filled = sum(whose == 0 for *_, whose in found)
    assert sum(is_lost for _, _, is_lost, _ in found) == 12
    assert counts(campaign) == ("running", 12, 12, 12 - n_filled)


def test_rejected_work_is_asked_again_until_it_is_paid_after_all(
    client: TestClient, turk: Emulator
) -> None:
    owner = an_account()
    campaign = a_paying_campaign(owner)
    opened(owner, campaign, settings={"approve": "review"})
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.announce_and_submit()
    look()
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    (listed,) = client.get(f"{root}/submissions").json()["items"]
    address = f"{root}/submissions/{listed['id']}"
    assert client.get(f"{address}/ask-again").json()["answers"] == GRIDS
    body = {"reason": "These answers are random."}
    assert client.post(f"{address}/reject", json=body).status_code == 202
    assert counts(campaign) == ("running", 0, GRIDS, GRIDS)
    with transaction() as session, pytest.raises(ValueError, match="no answers"):
        load_learning_data(session, reloaded(campaign.id))
    # Taking the annotator back does not concern rejected work.
    decide(client, campaign, "restore")
    assert counts(campaign) == ("running", 0, GRIDS, GRIDS)
    answer(client, campaign, OTHER, 1)
    do_all_due()
    look()
    assert client.post(f"{address}/approve", json={"reason": "Sorry."}).status_code == 200
    # Nothing is used before it is paid.
    assert take_back_paid_work() == 0
    assert counts(campaign) == ("running", 1, GRIDS, GRIDS - 1)
    do_all_due()
    look()
    assert take_back_paid_work() == 1
    assert take_back_paid_work() == 0
    # One place was filled in the meantime. All of the work is learned from again.
    assert counts(campaign) == ("running", 2, 1, 0)
    with transaction() as session:
        (data,) = load_learning_data(session, reloaded(campaign.id)).rounds
        assert len(data.images) == 3
    assert not broken_invariants(CHECKED)


def test_rejected_work_that_the_platform_pays_is_taken_back(
    client: TestClient, turk: Emulator
) -> None:
    owner = an_account()
    campaign = a_paying_campaign(owner)
    recruitment = opened(owner, campaign, settings={"approve": "review"})
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.announce_and_submit()
    look()
    with transaction() as session:
        row = session.scalars(select(Submission)).one()
        decisions.reject(session, owner, campaign.id, row.id, "", "Random.")
    assert counts(campaign) == ("running", 0, GRIDS, GRIDS)
    with transaction() as session:
        # The rejection came too late, or was reversed there.
        row = session.scalars(select(Submission)).one()
        row.state = "approved"
        settle(session, session.get_one(Recruitment, recruitment.id), row)
    assert take_back_paid_work() == 1
    assert counts(campaign) == ("running", GRIDS, 0, 0)
    assert not broken_invariants(CHECKED)


def test_nobody_works_on_after_a_rejection(client: TestClient, turk: Emulator) -> None:
    """They would not be paid, and their leases would keep grids from others."""
    owner = an_account()
    campaign = a_paying_campaign(owner)
    opened(owner, campaign, settings={"approve": "review"})
    person = recruit(client, turk)
    person.enter()
    assert person.answer(1)["status"] == "leased"
    person.submit()
    look()
    with transaction() as session:
        row = session.scalars(select(Submission)).one()
        assert row.flag == "incomplete"
        decisions.reject(session, owner, campaign.id, row.id, "", "One grid of three.")
    assert person.ask("POST", "/leases").json()["status"] == "done"
    assert (
        client.post("/api/v1/annotate/leases", headers=a_session(client, campaign, OTHER)).json()[
            "status"
        ]
        == "leased"
    )


def test_work_may_be_rejected_without_asking_again(client: TestClient, turk: Emulator) -> None:
    owner = an_account()
    campaign = a_paying_campaign(owner)
    opened(owner, campaign, settings={"approve": "review"})
    person = recruit(client, turk)
    person.enter()
    person.answer(GRIDS)
    person.announce_and_submit()
    look()
    with transaction() as session:
        (row,) = session.execute(text("SELECT id FROM submission")).all()
        decisions.reject(session, owner, campaign.id, row.id, "", "Random.", ask_again=False)
    assert counts(campaign) == ("running", GRIDS, 0, 0)


@pytest.mark.parametrize("how", ["timed_out", "taken_over"])
def test_what_somebody_returned_on_the_platform_is_free_at_once(
    client: TestClient, turk: Emulator, how: str
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=2, grids_per_assignment=GRIDS, reward_cents=100)
    recruitment = opened(owner, campaign, places=1)
    person = recruit(client, turk)
    person.enter()
    person.answer(1)
    lease = person.ask("POST", "/leases").json()["lease"]
    other = a_session(client, campaign, OTHER)
    assert client.post("/api/v1/annotate/leases", headers=other).json()["status"] == "wait"
    person.give_back()
    if how == "taken_over":
        person.ask("POST", "/presence", json={"left": True})
        assert recruit(client, turk).enter().status_code == 201
    else:
        with transaction() as session:
            (assignment,) = session.scalars(select(Assignment).where(Assignment.n_answered == 1))
            posting = session.scalars(select(Posting)).one()
            row = Submission(
                recruitment_id=recruitment.id,
                posting_id=posting.id,
                assignment_id=assignment.id,
                external_id="A1",
                person_hash="0" * 64,
                state="timed_out",
            )
            session.add(row)
            session.flush()
            settle(session, recruitment, row)
    freed = a_lease(client, other)
    assert [shown["image"] for shown in freed["images"]] == [
        shown["image"] for shown in lease["images"]
    ]
    # The answer that was given stays: finished work is kept and paid.
    assert reloaded(campaign.id).n_answers == 1


def test_an_archive_keeps_what_is_asked_again(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, a_collection(owner), budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 3)
    answer(client, campaign, HONEST, 1)
    decide(client, campaign, "leave_out")
    answer(client, campaign, HONEST, 1)
    archive = archive_of(client, campaign)
    reply = bring(client, archive)
    assert reply.status_code == 201, reply.text
    restored = reloaded(reply.json()["id"])
    assert (restored.n_answers, restored.n_surplus, restored.n_reopened) == (2, 3, 2)
    assert not broken_invariants(CHECKED)
    answers = client.get(f"/api/v1/campaigns/{restored.id}/answers").json()["items"]
    (filling,) = [each for each in answers if each["replaces"]]
    (lost,) = [each for each in answers if each["id"] == filling["replaces"]]
    assert (lost["asked_again"], lost["left_out"], lost["grid"]) == (True, True, filling["grid"])


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("campaign", "n_reopened", 1), ("grid", "n_reopened", 0), ("answer", "reopened_at", None)],
)
def test_an_archive_that_miscounts_places_is_refused(
    client: TestClient, owner: Account, table: str, column: str, value: object
) -> None:
    campaign = a_campaign(owner, a_collection(owner), budget=4, rounds=1)
    answer(client, campaign, SPAMMER, 3)
    decide(client, campaign, "leave_out")
    answer(client, campaign, HONEST, 1)
    members = unpacked(archive_of(client, campaign))
    changes = changed(members, table, lambda row: row.update({column: value}))
    reply = bring(client, packed(changes))
    assert reply.status_code == 422, reply.text


def test_exports_say_what_was_asked_again(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, a_collection(owner), budget=2, rounds=1)
    answer(client, campaign, SPAMMER, 1)
    decide(client, campaign, "leave_out")
    answer(client, campaign, HONEST, 2)
    exported = client.get(f"/api/v1/campaigns/{campaign.id}/export/answers.jsonl").text
    rows: list[dict[str, Any]] = [json.loads(line) for line in exported.splitlines()]
    lost, *others = sorted(rows, key=lambda row: not row["asked_again"])
    assert (lost["state"], lost["left_out"], lost["replaces"]) == ("surplus", True, None)
    assert [row["replaces"] for row in others].count(lost["answer"]) == 1
