"""Account → Platforms without JavaScript, and what the page of recruiting asks the server for."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.core.database import transaction
from app.recruitment.accounts import PURPOSE
from app.recruitment.channel import PlatformSubmission, PostingStatus
from app.recruitment.models import ChannelAccount, Payment, Recruitment, Submission
from app.recruitment.people import person_hash
from app.recruitment.reconcile import Seen, take_in
from app.recruitment.settling import settle
from app.results.monitor import read_monitor
from emulators.mturk.server import Emulator
from emulators.mturk.server import running as running_emulator
from testbed.builders import (
    a_campaign,
    a_payment,
    a_recruitment,
    a_submission,
    an_account,
    reloaded,
    sign_in,
)
from testbed.recruits import an_account_on
from tests.app.test_annotation import a_lease, a_session, submit
from tests.conftest import forget_settings

PAGE = "/account/platforms"
SECRET = "emulator-secret"
KEYS = {"access_key_id": "emulator", "secret_access_key": SECRET}


@pytest.fixture
def owner(client: TestClient) -> Account:
    """Signed in."""
    account = an_account()
    sign_in(client, account)
    return account


@pytest.fixture
def emulator(owner: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """One that the operator has set as the server's own endpoint."""
    with running_emulator() as running:
        monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", running.endpoint_url)
        monkeypatch.setenv("LIKEWISE_MTURK_WORKER_SITE", running.endpoint_url)
        forget_settings()
        yield running


def add(client: TestClient, **form: str) -> Any:
    values = {"channel": "mturk", "environment": "sandbox", "name": "Mine", **KEYS, **form}
    return client.post(PAGE, data=values)


def stored() -> list[ChannelAccount]:
    with transaction() as session:
        return list(session.query(ChannelAccount).order_by(ChannelAccount.id))


def test_an_account_is_added_and_its_secret_never_shown(client: TestClient, owner: Account) -> None:
    page = add(client)
    assert page.status_code == 200
    assert "Not checked yet" in page.text
    assert SECRET not in page.text
    [account] = stored()
    assert account.secret is not None
    assert SECRET.encode() not in account.secret
    assert PURPOSE.encode() not in account.secret


def test_a_mistake_shows_the_form_again_without_the_secret(
    client: TestClient, owner: Account
) -> None:
    refused = add(client, name="Typed", access_key_id="")
    assert refused.status_code == 422
    assert "Missing: access key id." in refused.text
    assert 'value="Typed"' in refused.text
    assert SECRET not in refused.text
    assert stored() == []


def test_environments_are_those_that_this_server_knows(
    client: TestClient, owner: Account, emulator: Emulator
) -> None:
    assert "this server&#39;s own endpoint" in client.get(PAGE).text
    assert add(client, environment="custom").status_code == 200
    refused = add(client, channel="prolific", environment="custom", token="t")
    assert "For prolific, choose the environment production." in refused.text


def test_a_check_shows_the_balance_or_what_is_wrong(
    client: TestClient, owner: Account, emulator: Emulator
) -> None:
    add(client, environment="custom")
    [account] = stored()
    assert "10000.00 USD" in client.post(f"{PAGE}/{account.id}/check").text
    client.post(f"{PAGE}/{account.id}/secret", data={**KEYS, "secret_access_key": "wrong"})
    page = client.post(f"{PAGE}/{account.id}/check").text
    assert "Not ready for recruiting yet" in page
    assert "10000.00 USD" not in page


def test_the_servers_own_credentials_are_for_admins(client: TestClient, owner: Account) -> None:
    assert "server's own AWS credentials" not in client.get(PAGE).text
    refused = add(client, credentials="server")
    assert refused.status_code == 422
    with transaction() as session:
        session.get_one(Account, owner.id).role = "admin"
    assert "The server's own AWS credentials" in client.get(PAGE).text
    assert add(client, credentials="server", profile="lab").status_code == 200
    [account] = stored()
    assert (account.source, account.profile, account.secret) == ("environment", "lab", None)


def test_an_account_that_the_books_refer_to_stays(client: TestClient, owner: Account) -> None:
    add(client)
    [unused] = stored()
    used = a_recruitment(owner, a_campaign(owner)).channel_account_id
    kept = client.post(f"{PAGE}/{used}/remove")
    assert kept.status_code == 409
    assert "their ledgers refer to it" in kept.text
    assert client.post(f"{PAGE}/{unused.id}/remove").status_code == 200
    assert [account.id for account in stored()] == [used]


def test_nobody_sees_or_touches_the_account_of_another(client: TestClient, owner: Account) -> None:
    add(client, name="Secretly mine")
    [account] = stored()
    sign_in(client, an_account("other@example.org"))
    assert "Secretly mine" not in client.get(PAGE).text
    for action in ("check", "secret", "remove"):
        assert client.post(f"{PAGE}/{account.id}/{action}", data=KEYS).status_code == 404
    assert stored()[0].secret == account.secret


# --- what the page of recruiting asks for ------------------------------------------------------


def test_the_plan_suggests_places_for_the_answers_still_wanted(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=100, grids_per_assignment=8, reward_cents=90)
    root = f"/api/v1/campaigns/{campaign.id}"
    options = client.get(f"{root}/recruiting/options").json()
    # 100 answers of which 8 go into one assignment.
    assert (options["answers_wanted"], options["places"], options["reward_cents"]) == (100, 13, 90)
    titles = {channel["channel"]: channel["settings"]["title"] for channel in options["channels"]}
    assert titles == {"prolific": "ProlificSettings", "mturk": "MTurkSettings"}
    [prolific] = [channel for channel in options["channels"] if channel["channel"] == "prolific"]
    assert prolific["least_reason"] == 100
    assert "LOW_EFFORT" in prolific["rejection_categories"]
    recruitment = a_recruitment(owner, campaign, places=5)
    a_submission(recruitment)  # Three places stand; nobody has taken one.
    with transaction() as session:
        session.get_one(Recruitment, recruitment.id).state = "open"
    assert client.get(f"{root}/recruiting/options").json()["places"] == 10


def test_an_estimate_has_fees_and_bonuses_apart_and_keeps_nothing(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, reward_cents=100)
    address = f"/api/v1/campaigns/{campaign.id}/recruiting/estimate"
    bonuses = {"extra_grids": 2, "extra_cents": 10, "quality_cents": 50}
    body = {"channel": "mturk", "places": 20, "settings": bonuses}
    estimate = client.post(address, json=body).json()
    # 20 x 1.00, 20 % of it; 20 x (2 x 0.10 + 0.50), 20 % of each.
    assert estimate == {
        "postings": 3, "rewards_cents": 2000, "fees_cents": 400, "screen_outs_cents": 0,
        "bonuses_cents": 1400, "bonus_fees_cents": 280, "total_cents": 4080, "currency": "USD",
    }  # fmt: skip
    whole = {**body, "settings": {**bonuses, "keep_low_fee": False}}
    assert client.post(address, json=whole).json()["fees_cents"] == 800
    with transaction() as session:
        assert {recruitment.channel for recruitment in session.query(Recruitment)} <= {"link"}
    wrong = client.post(address, json={**body, "settings": {"extra_cents": -1}})
    assert wrong.status_code == 422
    assert "Bonus for each extra grid" in wrong.json()["detail"]
    for country, status in (("us", 200), ("Germany", 422)):
        reply = client.post(address, json={**body, "settings": {"countries": [country]}})
        assert reply.status_code == status
    assert "“Germany” is not a country code such as US" in reply.json()["detail"]


def test_estimate_dry_run_and_opening_agree_on_what_screen_outs_cost(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody is asked anything: only that there is such an address matters.
    monkeypatch.setenv("LIKEWISE_PROLIFIC_ENDPOINT", "http://127.0.0.1:9")
    forget_settings()
    campaign = a_campaign(owner, reward_cents=100)
    account = an_account_on(owner, "prolific", {"token": "t"})
    root = f"/api/v1/campaigns/{campaign.id}"
    plan = {"channel": "prolific", "places": 5, "settings": {"screen_out_cents": 20}}
    estimate = client.post(f"{root}/recruiting/estimate", json=plan).json()
    # 5 x 0.20, 42.8 % of each, and VAT of 20 % on that.
    assert estimate["screen_outs_cents"] == 5 * (20 + 9 + 2)
    assert estimate["total_cents"] == 5 * (100 + 43 + 9) + 5 * (20 + 9 + 2)
    body = {**plan, "channel_account_id": str(account.id), "spend_limit_cents": 5 * 152}
    recruitment = client.post(f"{root}/recruitments", json=body).json()
    shown = client.get(f"{root}/recruitments/{recruitment['id']}/dry-run").json()
    assert shown["total_cents"] == estimate["total_cents"]
    assert "The places cost more than the spending limit. Raise it." in shown["problems"]


def test_a_rejection_on_prolific_is_held_to_its_rules_at_once(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    row = a_submission(a_recruitment(owner, campaign, "prolific"), flag="unknown_person")
    address = f"/api/v1/campaigns/{campaign.id}/submissions/{row.id}"
    for body in ({"category": "OTHER", "reason": "Too short."}, {"reason": "x" * 120}):
        assert client.post(f"{address}/reject", json=body).status_code == 422
    right = {"category": "OTHER", "reason": "x" * 120}
    assert client.post(f"{address}/reject", json=right).status_code == 202
    listed = f"/api/v1/campaigns/{campaign.id}/submissions"
    [submission] = client.get(f"{listed}?rejected=true").json()["items"]
    assert (submission["id"], submission["reason"]) == (str(row.id), "x" * 120)
    assert client.get(f"{listed}?flagged=true").json()["items"] == []


def test_work_that_waits_for_its_reward_cannot_be_dismissed(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    row = a_submission(a_recruitment(owner, campaign), flag="unknown_person")
    address = f"/api/v1/campaigns/{campaign.id}/submissions/{row.id}/dismiss"
    assert client.post(address, json={"reason": "Seen."}).status_code == 409
    with transaction() as session:
        submission = session.get_one(Submission, row.id)
        submission.state, submission.flag = "rejected", "rejected_there"
    assert client.post(address, json={"reason": "Seen."}).status_code == 200
    with transaction() as session:
        submission = session.get_one(Submission, row.id)
        assert (submission.decision, submission.flag, submission.reason) == ("reject", "", "Seen.")


def settled_flag(submission: Submission) -> str:
    """The flag after the platform has been asked once more."""
    with transaction() as session:
        row = session.get_one(Submission, submission.id)
        settle(session, session.get_one(Recruitment, row.recruitment_id), row)
        return row.flag


@pytest.mark.parametrize("action", ["dismiss", "bonus", "compensate"])
def test_work_that_broke_off_is_decided_once(
    client: TestClient, owner: Account, action: str
) -> None:
    campaign = a_campaign(owner, grids_per_assignment=4)
    recruitment = a_recruitment(owner, campaign, spend_limit_cents=1000)
    who = a_session(client, campaign, "annotator-000001")
    submit(client, who, a_lease(client, who))
    with transaction() as session:
        assignment = session.query(Assignment).one()
        assignment.recruitment_id = recruitment.id
        assignment_id = assignment.id
    row = a_submission(recruitment, state="returned", assignment_id=assignment_id)
    assert settled_flag(row) == "broken_off"
    root = f"/api/v1/campaigns/{campaign.id}"
    [submission] = client.get(f"{root}/submissions?flagged=true").json()["items"]
    # One grid of four, of a reward of 1.00.
    assert (submission["assignment_id"], submission["earned_cents"]) == (str(assignment_id), 25)
    addresses = {
        "dismiss": f"{root}/submissions/{row.id}/dismiss",
        "bonus": f"{root}/submissions/{row.id}/bonus",
        "compensate": f"{root}/assignments/{assignment_id}/compensate",
    }
    amount = {} if action == "dismiss" else {"amount_cents": submission["earned_cents"]}
    done = client.post(addresses[action], json={"reason": "For one grid.", **amount})
    assert done.status_code < 300, done.text
    assert settled_flag(row) == ""


def paid(payment_id: UUID) -> None:
    with transaction() as session:
        payment = session.get_one(Payment, payment_id)
        payment.state, payment.paid_at = "paid", payment.created_at


def test_totals_files_and_monitor_agree_with_the_ledger(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, reward_cents=100)
    recruitment = a_recruitment(owner, campaign, name="=cmd()")
    payment = a_payment(recruitment, a_submission(recruitment, external_id="ASSIGNMENT9"))
    root = f"/api/v1/campaigns/{campaign.id}"
    held = client.get(f"{root}/payments/totals").json()["totals"]
    assert held == [
        {"state": "held", "currency": "USD", "n": 1, "amount_cents": 50, "fee_cents": 10}
    ]
    paid(payment.id)
    with transaction() as session:
        session.get_one(Recruitment, recruitment.id).state = "open"
    [total] = client.get(f"{root}/payments/totals").json()["totals"]
    money = client.get(f"{root}/recruitments/{recruitment.id}").json()["money"]
    assert total["amount_cents"] + total["fee_cents"] == money["paid_cents"] == 60
    monitor = client.get(f"{root}/progress").json()["monitor"]
    assert monitor["spent_cents"] == 60
    listed = client.get(f"{root}/payments?state=paid").json()["items"]
    assert [item["id"] for item in listed] == [str(payment.id)]
    assert client.get(f"{root}/payments?state=held").json()["items"] == []

    text = client.get(f"{root}/export/payments.csv").text
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["amount"], row["fee"], row["state"]) == ("0.50", "0.10", "paid")
    assert row["recruitment"] == "'=cmd()"
    lines = client.get(f"{root}/export/payments.jsonl").text
    assert json.loads(lines)["payment"] == str(payment.id)
    assert "ASSIGNMENT9" not in text + lines


def test_the_monitor_tells_money_in_the_currency_that_was_spent(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, currency="EUR", reward_cents=100)
    recruitment = a_recruitment(owner, campaign)
    payment = a_payment(recruitment, a_submission(recruitment))
    paid(payment.id)
    with transaction() as session:
        session.get_one(Recruitment, recruitment.id).state = "open"
    with transaction() as session:
        monitor = read_monitor(session, reloaded(campaign.id), [], payment.created_at)
    assert (monitor.currency, monitor.spent_cents) == ("USD", 60)


def test_the_page_of_recruiting_is_there_for_those_who_may_see_the_campaign(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    page = client.get(f"/campaigns/{campaign.id}/recruit")
    assert 'data-island="recruit"' in page.text
    settings = client.get(f"/campaigns/{campaign.id}/settings")
    assert "Your platform accounts are under" in settings.text
    sign_in(client, an_account("other@example.org"))
    assert client.get(f"/campaigns/{campaign.id}/recruit").status_code == 404


def test_a_payment_names_whose_work_it_was_once_that_is_known(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    recruitment = a_recruitment(owner, campaign)
    person = "A" + "1" * 13
    row = a_submission(recruitment, person_hash=person_hash(recruitment, person))
    a_payment(recruitment, row)
    listed = f"/api/v1/campaigns/{campaign.id}/payments"
    (payment,) = client.get(listed).json()["items"]
    assert payment["annotator"] is None
    with transaction() as session:
        annotator = Annotator(campaign_id=campaign.id, position=7)
        session.add(annotator)
        session.flush()
        assignment = Assignment(
            campaign_id=campaign.id, annotator_id=annotator.id, recruitment_id=recruitment.id,
            posting_id=row.posting_id, channel=recruitment.channel, external_id=row.external_id,
            state="completed", target=1, n_answered=1, completion_code="ABCD",
        )  # fmt: skip
        identity = AnnotatorIdentity(
            annotator_id=annotator.id, campaign_id=campaign.id, channel=recruitment.channel,
            key_hash=row.person_hash, external_id=person,
        )  # fmt: skip
        session.add_all([assignment, identity])
        session.flush()
        platform = PlatformSubmission(row.external_id, person, "submitted")
        status = PostingStatus("open", 3, 1, 0)
        seen = Seen(row.posting_id, status, [platform], datetime.now(UTC))
        take_in(session, recruitment.id, seen)
    payments = client.get(listed).json()["items"]
    assert {payment["annotator"] for payment in payments} == {7}
