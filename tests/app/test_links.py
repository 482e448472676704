"""Links: who comes in by them, how many, and what is owed to them."""

import csv
import io
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from limits import RateLimitItemPerMinute
from sqlalchemy import func, select, update

from app.accounts import passwords
from app.accounts.models import Account
from app.annotation.models import Annotator, Answer, Assignment
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.service import finish_campaign
from app.core.database import transaction
from app.recruitment.bonus_work import BONUSES
from app.recruitment.models import Payment, Recruitment
from app.recruitment.report import reconcile
from app.recruitment.work import REWARDS
from testbed.builders import a_campaign, sign_in
from tests.app.test_annotation import a_lease, submit
from tests.support.links import (
    a_link,
    answer,
    at_once,
    campaign,
    code_of,
    come,
    end_of,
    links_of,
    owner,
    payments,
    token_of,
)

__all__ = ["campaign", "owner"]


# --- the first link ------------------------------------------------------------------------------


def test_a_campaigns_own_address_is_its_first_link(client: TestClient, campaign: Campaign) -> None:
    [first] = client.get(links_of(campaign)).json()["items"]
    assert first["address"] == annotator_link(campaign, "http://testserver")
    assert (first["is_first"], first["access"], first["state"]) == (True, "open", "open")
    assert (first["places"], first["reward_cents"]) == (0, 100)
    own = f"/api/v1/campaigns/{campaign.id}"
    # It follows the campaign's reward until it is given one of its own.
    assert client.patch(own, json={"reward_cents": 150}).status_code == 200
    link = f"{links_of(campaign)}/{first['id']}"
    assert client.get(link).json()["reward_cents"] == 150
    assert client.patch(link, json={"reward_cents": 70}).json()["reward_cents"] == 70
    client.patch(own, json={"reward_cents": 200})
    assert client.get(link).json()["reward_cents"] == 70
    # On platforms there is none of it.
    assert client.get(f"{own}/recruitments").json()["items"] == []
    assert client.get(f"{own}/recruitments/{first['id']}").status_code == 404


def test_a_paused_link_lets_nobody_new_in_and_those_at_work_go_on(
    client: TestClient, campaign: Campaign
) -> None:
    [first] = client.get(links_of(campaign)).json()["items"]
    link = f"{links_of(campaign)}/{first['id']}"
    begun = token_of(come(client, first["address"], "early"))
    answer(client, begun, 1)
    assert client.post(f"{link}/pause").json()["state"] == "paused"
    assert code_of(come(client, first["address"], "late")) == "link_closed"
    again = come(client, first["address"], "early")
    assert again.json()["answered"] == 1
    assert answer(client, token_of(again), 2)["status"] == "done"
    # Done, and no other one is to be had.
    assert code_of(come(client, first["address"], "early")) == "link_closed"
    assert client.post(f"{link}/stop").json()["state"] == "stopped"
    assert client.post(f"{link}/pause").json()["code"] == "conflict"
    assert client.post(f"{link}/resume").json()["state"] == "open"
    assert come(client, first["address"], "late").status_code == 201
    # The page itself is there all the while; it says what is the matter.
    client.post(f"{link}/stop")
    assert client.get(f"/a/{end_of(first['address'])}").status_code == 200
    # The end of the campaign is no word on its links.
    client.post(f"{link}/resume")
    with transaction() as session:
        finish_campaign(session, session.get_one(Account, campaign.owner_id), campaign.id)
    assert client.get(link).json()["state"] == "open"


# --- passwords -----------------------------------------------------------------------------------


def test_a_password_is_asked_of_who_comes_for_the_first_time(
    client: TestClient, campaign: Campaign
) -> None:
    assert client.post(links_of(campaign), json={"access": "password"}).status_code == 422
    short = client.post(links_of(campaign), json={"access": "password", "password": "short"})
    assert short.json()["code"] == "bad_password"
    link = a_link(client, campaign, access="password", password="open sesame")
    assert code_of(come(client, link["address"])) == "password_needed"
    wrong = come(client, link["address"], password="open barley")
    assert code_of(wrong) == "wrong_password"
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Annotator)) == 0
    assert come(client, link["address"], password="open sesame").status_code == 201
    assert come(client, link["address"]).status_code == 201
    # Whoever is in stays in when it changes; everybody else needs the new one.
    address = f"{links_of(campaign)}/{link['id']}"
    assert client.patch(address, json={"password": "another one"}).status_code == 200
    assert come(client, link["address"]).status_code == 201
    assert code_of(come(client, link["address"], "b", password="open sesame")) == "wrong_password"
    assert come(client, link["address"], "b", password="another one").status_code == 201
    assert client.patch(address, json={"access": "open"}).json()["access"] == "open"
    assert come(client, link["address"], "c").status_code == 201
    assert client.patch(address, json={"access": "password"}).json()["code"] == "bad_password"


def test_nothing_tells_a_links_password(client: TestClient, campaign: Campaign) -> None:
    link = a_link(client, campaign, access="password", password="open sesame")
    with transaction() as session:
        stored = session.get_one(Recruitment, uuid.UUID(link["id"])).password_hash
    assert stored is not None
    assert stored.startswith("$argon2id$")
    own = f"/api/v1/campaigns/{campaign.id}"
    archive = client.get(f"{own}/export/archive.zip").content
    for text in (client.get(links_of(campaign)).text, str(link), archive.decode("latin-1")):
        assert "argon2" not in text
        assert "sesame" not in text


def test_wrong_passwords_are_counted_by_address_and_right_ones_are_not(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "WRONG_PER_MINUTE", RateLimitItemPerMinute(3))
    link = a_link(client, campaign, access="password", password="open sesame")
    other = a_link(client, campaign, access="password", password="open sesame")
    for number in range(6):
        browser = f"right-{number}"
        assert come(client, link["address"], browser, password="open sesame").status_code == 201
    for _ in range(3):
        assert code_of(come(client, link["address"], "eve", password="x" * 9)) == "wrong_password"
    # Not even the right one is looked at now; nor is anybody kept out who is in.
    blocked = come(client, link["address"], "eve", password="open sesame")
    assert (blocked.status_code, blocked.json()["code"]) == (429, "too_many_attempts")
    assert come(client, link["address"], "right-1").status_code == 201
    assert come(client, other["address"], "eve", password="open sesame").status_code == 201


# --- how many ------------------------------------------------------------------------------------


def test_a_browser_does_as_many_assignments_as_it_may(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, per_device=2)
    assert answer(client, token_of(come(client, link["address"])), 3)["again"] is True
    last = answer(client, token_of(come(client, link["address"])), 3)
    assert last["again"] is False
    refused = come(client, link["address"])
    assert code_of(refused) == "device_limit"
    assert last["completion_code"] in refused.json()["detail"]
    assert come(client, link["address"], "another").status_code == 201
    # By another link of the campaign the same key is somebody else.
    [first, _] = client.get(links_of(campaign)).json()["items"]
    assert come(client, first["address"]).json()["answered"] == 0


def test_another_assignment_is_offered_only_while_there_are_grids_for_it(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=6, grids_per_assignment=3)
    link = a_link(client, campaign)
    assert answer(client, token_of(come(client, link["address"])), 3)["again"] is True
    last = answer(client, token_of(come(client, link["address"])), 3)
    assert (last["status"], last["again"]) == ("done", False)


def test_of_many_who_come_at_once_as_many_get_in_as_there_are_places(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, places=3)
    replies = at_once(10, lambda number: come(client, link["address"], f"b-{number}"))
    assert [reply.status_code for reply in replies].count(201) == 3
    assert {code_of(reply) for reply in replies if reply.status_code != 201} == {"link_full"}
    with transaction() as session:
        # Nothing of those who were sent away is kept.
        assert sorted(session.scalars(select(Annotator.position))) == [0, 1, 2]


def test_a_place_is_free_again_when_its_holder_has_gone(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, places=2)
    idle, began = (token_of(come(client, link["address"], name)) for name in ("idle", "began"))
    answer(client, began, 1)
    assert code_of(come(client, link["address"], "third")) == "link_full"
    assert idle != began
    with transaction() as session:
        long_ago = datetime.now(UTC) - timedelta(hours=2)
        session.execute(update(Assignment).values(created_at=long_ago, seen_at=long_ago))
        session.execute(update(Answer).values(lease_expires_at=long_ago))
    shown = client.get(f"{links_of(campaign)}/{link['id']}").json()
    assert (shown["at_work"], shown["left"], shown["finished"]) == (0, 1, 0)
    answer(client, token_of(come(client, link["address"], "third")), 3)
    assert come(client, link["address"], "fourth").status_code == 201
    # Who has done something may finish it; who has done nothing was too slow.
    assert come(client, link["address"], "began").json()["answered"] == 1
    assert code_of(come(client, link["address"], "idle")) == "link_full"


def test_links_of_a_finished_campaign_are_closed(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    link = a_link(client, campaign)
    began = token_of(come(client, link["address"], "began"))
    token_of(come(client, link["address"], "idle"))
    sorting = token_of(come(client, link["address"], "sorting"))
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=sorting)
    draft = {"version": 1, "groups": [0, *[-1] * (campaign.grid_size - 1)], "descriptions": []}
    first = a_lease(client, sorting)["id"]
    saved = client.put(f"/api/v1/annotate/leases/{first}/draft", json=draft, headers=sorting)
    assert saved.status_code == 200, saved.text
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=began)
    lease = a_lease(client, began)
    remark = {"kind": "broken_image", "lease_id": lease["id"], "image": lease["images"][0]["image"]}
    client.post("/api/v1/annotate/remarks", json=remark, headers=began)
    answer(client, began, 1)
    progress = f"/api/v1/campaigns/{campaign.id}/progress"
    codes = {alert["code"] for alert in client.get(progress).json()["monitor"]["alerts"]}
    assert "broken_images" in codes
    with transaction() as session:
        finish_campaign(session, owner, campaign.id)
    # Who has begun gets to the end; nobody else can start.
    assert come(client, link["address"], "began").json()["answered"] == 1
    assert come(client, link["address"], "sorting").status_code == 201
    for late in ("idle", "newcomer"):
        assert code_of(come(client, link["address"], late)) == "study_over"
    shown = client.get(f"{links_of(campaign)}/{link['id']}").json()
    assert (shown["state"], shown["campaign_finished"]) == ("open", True)
    sign_in(client, owner)
    page = client.get(f"/campaigns/{campaign.id}", headers={"accept": "text/html"}).text
    assert "Its links are closed" in page
    assert "Link for annotators" not in page
    assert client.get(progress).json()["monitor"]["alerts"] == []


def test_after_the_end_people_get_the_codes_of_what_they_did(
    client: TestClient, owner: Account, campaign: Campaign
) -> None:
    link = a_link(client, campaign)
    code = answer(client, token_of(come(client, link["address"])), 3)["completion_code"]
    with transaction() as session:
        finish_campaign(session, owner, campaign.id)
    again = come(client, link["address"])
    handout = client.post("/api/v1/annotate/leases", headers=token_of(again)).json()
    assert (handout["status"], handout["completion_code"]) == ("done", code)
    assert handout["codes"] == [{"code": code, "answered": 3}]
    assert handout["again"] is False
    with transaction() as session:
        # No assignment was opened for them.
        assert session.scalar(select(func.count()).select_from(Assignment)) == 1


# --- what is owed --------------------------------------------------------------------------------


def test_what_is_earned_is_booked_once_however_often_it_is_sent(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, reward_cents=250)
    who = token_of(come(client, link["address"]))
    assert answer(client, who, 2)["status"] == "leased"
    lease = a_lease(client, who)

    def finish(number: int) -> int:
        if number % 2:
            return int(client.post("/api/v1/annotate/leases", headers=who).status_code)
        return int(submit(client, who, lease, key="the-same-key").status_code)

    assert set(at_once(8, finish)) == {200}
    assert payments() == [("outside", "reward", 250, "due")]
    ended = come(client, link["address"], "other").json()
    assert ended["campaign"]["reward_cents"] == 250
    monitor = client.get(f"/api/v1/campaigns/{campaign.id}/progress").json()["monitor"]
    assert monitor["spent_cents"] == 250
    shown = client.get(f"{links_of(campaign)}/{link['id']}").json()
    assert (shown["owed_cents"], shown["paid_cents"]) == (250, 0)


def test_who_ends_early_because_nothing_is_left_has_earned_a_part(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=2, grids_per_assignment=3, reward_cents=100)
    [first] = client.get(links_of(campaign)).json()["items"]
    done = answer(client, token_of(come(client, first["address"])), 2)
    assert (done["status"], done["earned_cents"]) == ("done", 67)
    assert payments() == [("outside", "reward", 67, "due")]


def test_platforms_are_never_told_to_pay_what_is_owed_outside(
    client: TestClient, campaign: Campaign
) -> None:
    [first] = client.get(links_of(campaign)).json()["items"]
    answer(client, token_of(come(client, first["address"])), 3)
    with transaction() as session:
        session.execute(update(Payment).values(due_at=datetime.now(UTC) - timedelta(days=1)))
    assert REWARDS.claim() is None
    assert BONUSES.claim() is None
    with transaction() as session:
        link = session.get_one(Recruitment, uuid.UUID(first["id"]))
        assert reconcile(session, link).is_clean
    assert payments()[0][3] == "due"


def test_what_is_owed_is_taken_away_and_ticked_off(client: TestClient, campaign: Campaign) -> None:
    link = a_link(client, campaign, access="listed", name="=Panel", reward_cents=90)
    invitations = f"{links_of(campaign)}/{link['id']}/invitations"
    addresses = client.post(invitations, json={"people": "Ada\n@Bob"}).json()["addresses"]
    ends = [
        answer(client, token_of(come(client, invitation["address"])), 3) for invitation in addresses
    ]
    root = f"/api/v1/campaigns/{campaign.id}/owed"
    table = list(csv.DictReader(io.StringIO(client.get(f"{root}.csv?state=due").text)))
    booked = [(row["person"], row["completion_code"], row["amount"]) for row in table]
    codes = [end["completion_code"] for end in ends]
    assert booked == [("Ada", codes[0], "0.90"), ("'@Bob", codes[1], "0.90")]
    assert [row["annotator"] for row in table] == ["0", "1"]
    assert {row["link"] for row in table} == {"'=Panel"}
    ids = [row["payment"] for row in table]
    wrong = client.post(f"{root}/paid", json={"payment_ids": [*ids, str(uuid.uuid4())]})
    assert wrong.status_code == 404
    assert {payment["state"] for payment in client.get(root).json()["items"]} == {"due"}
    paid = client.post(f"{root}/paid", json={"payment_ids": ids, "note": "By bank."})
    assert paid.json() == {"marked": 2}
    assert client.post(f"{root}/paid", json={"payment_ids": ids}).json() == {"marked": 0}
    assert client.get(f"{root}?state=due").json()["items"] == []
    newest = client.get(f"{root}?state=paid").json()["items"]
    assert [(payment["person"], payment["note"]) for payment in newest] == [
        ("@Bob", "By bank."),
        ("Ada", "By bank."),
    ]
    shown = client.get(f"{links_of(campaign)}/{link['id']}").json()
    assert (shown["owed_cents"], shown["paid_cents"]) == (0, 180)
