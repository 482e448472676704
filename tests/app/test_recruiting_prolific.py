"""From a planned recruitment to paid people, against the Prolific emulator, in process."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, func, select, update

from app.accounts.models import Account
from app.annotation.models import Annotator, Assignment
from app.campaigns.models import Campaign
from app.core.database import get_engine, transaction
from app.recruitment.models import ChannelCall, Posting
from app.recruitment.steps import work_once
from emulators.prolific.server import Emulator
from testbed.builders import an_account, sign_in
from testbed.recruits import differences, do_all_due, look, payments
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


def set_call(state: str, study: str | None) -> None:
    with transaction() as session:
        session.execute(update(ChannelCall).values(state=state, attempts=1))
        session.execute(update(Posting).values(external_id=study))


@pytest.mark.parametrize("at_the_same_moment", [False, True])
def test_who_comes_before_the_study_is_known_here_is_not_refused(
    client: TestClient,
    prolific: Emulator,
    owner: Account,
    campaign: Campaign,
    at_the_same_moment: bool,
) -> None:
    """Also when it becomes known while the person's address is looked at."""
    opened(prolific, owner, campaign)
    person = Participant(client, prolific)
    [study] = prolific.state.studies
    set_call("running", None)
    looks: list[str] = []

    def note(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        if "FROM posting" in statement and "external_id = " in statement:
            looks.append(statement)
            if len(looks) == 1 and at_the_same_moment:
                set_call("done", study)

    event.listen(get_engine(), "after_cursor_execute", note)
    try:
        reply = person.enter()
    finally:
        event.remove(get_engine(), "after_cursor_execute", note)
    assert looks
    if not at_the_same_moment:
        assert (reply.status_code, reply.json()["code"]) == (503, "not_yet")
        set_call("done", study)
        reply = person.enter()
    assert reply.status_code == 201


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
        f"{prolific.url}/market/submissions/{hasty.submission}/complete",
        json={"code": "WRONG"},
        timeout=60,
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


@pytest.mark.parametrize("kind", ["5xx-before", "5xx-after"])
def test_a_message_arrives_once_whatever_prolific_answers(
    client: TestClient, prolific: Emulator, owner: Account, campaign: Campaign, kind: str
) -> None:
    opened(prolific, owner, campaign)
    person = Participant(client, prolific)
    person.enter()
    person.answer(GRIDS)
    person.come_back()
    look()
    sign_in(client, owner)
    root = f"/api/v1/campaigns/{campaign.id}"
    before = len(prolific.state.messages)
    fault = [{"operation": "send-message", "kind": kind}]
    httpx.put(f"{prolific.url}/emulator/faults", json=fault).raise_for_status()
    body = {"annotators": [0], "text": "Thank you!", "request": str(uuid4())}
    assert client.post(f"{root}/selected/message", json=body).status_code == 202
    while work_once():
        continue
    [sent] = client.get(f"{root}/messages").json()["items"]
    assert (sent["state"], "5" in sent["why"]) == ("due", True)
    httpx.put(f"{prolific.url}/emulator/faults", json=[]).raise_for_status()
    do_all_due()
    [sent] = client.get(f"{root}/messages").json()["items"]
    assert (sent["state"], sent["text"], sent["annotator"]) == ("done", "Thank you!", 0)
    arrived = [(m.recipient, m.body) for m in prolific.state.messages[before:]]
    assert arrived == [(person.id, "Thank you!")]
