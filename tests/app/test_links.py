"""Links: who comes in by them, how many, and what is owed to them."""

import csv
import io
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

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
from app.recruitment.models import Invitation, Payment, Recruitment
from app.recruitment.people_list import read_people
from app.recruitment.report import reconcile
from app.recruitment.work import REWARDS
from testbed.builders import a_campaign, an_account, an_api_token
from tests.app.test_annotation import a_lease, submit

Result = TypeVar("Result")
Json = dict[str, Any]


@pytest.fixture
def owner(client: TestClient) -> Account:
    """Requester's calls come with this account's token."""
    account = an_account()
    client.headers["Authorization"] = f"Bearer {an_api_token(account)}"
    return account


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    return a_campaign(owner, budget=40, grids_per_assignment=3, reward_cents=100)


def links_of(campaign: Campaign) -> str:
    return f"/api/v1/campaigns/{campaign.id}/links"


def a_link(client: TestClient, campaign: Campaign, **body: Any) -> Json:
    reply = client.post(links_of(campaign), json=body)
    assert reply.status_code == 201, reply.text
    link: Json = reply.json()
    return link


def end_of(address: str) -> str:
    return address.rpartition("/a/")[2]


def come(client: TestClient, address: str, browser: str = "browser-a", **body: Any) -> Any:
    body = {"link": end_of(address), "annotator_key": f"{browser:-<20}", **body}
    return client.post("/api/v1/annotate/sessions", json=body)


def code_of(reply: Any) -> str:
    assert reply.status_code == 403, (reply.status_code, reply.text)
    return str(reply.json()["code"])


def token_of(reply: Any) -> dict[str, str]:
    """The bearer header of somebody who came in, ready for grids."""
    assert reply.status_code == 201, reply.text
    return {"Authorization": f"Bearer {reply.json()['token']}"}


def answer(client: TestClient, who: dict[str, str], n: int) -> Json:
    """Do n grids; the next handout."""
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    for _ in range(n):
        assert submit(client, who, a_lease(client, who)).status_code == 200
    handout: Json = client.post("/api/v1/annotate/leases", headers=who).json()
    return handout


def at_once(n: int, do: Callable[[int], Result]) -> list[Result]:
    together = threading.Barrier(n)

    def task(number: int) -> Result:
        together.wait()
        return do(number)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(task, range(n)))


def payments() -> list[tuple[str, str, int, str]]:
    with transaction() as session:
        rows = session.scalars(select(Payment).order_by(Payment.id)).all()
        return [
            (payment.kind, payment.rule, payment.amount_cents, payment.state) for payment in rows
        ]


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


# --- addresses for single people -----------------------------------------------------------------


def test_each_person_of_a_list_has_an_address(client: TestClient, campaign: Campaign) -> None:
    link = a_link(client, campaign, access="listed")
    assert link["address"] is None
    invitations = f"{links_of(campaign)}/{link['id']}/invitations"
    table = "mail;person\na@x.org;Ada\nb@x.org;Bob\nc@x.org;ADA\nd@x.org\n"
    report = client.post(invitations, json={"people": table}).json()
    assert [invitation["person"] for invitation in report["addresses"]] == ["Ada", "Bob"]
    assert [(line["line"], line["why"]) for line in report["bad_lines"]] == [
        (4, "is in the list twice"),
        (5, "no person in this line"),
    ]
    ada, bob = (invitation["address"] for invitation in report["addresses"])
    # Only hashes of the addresses are kept.
    with transaction() as session:
        kept = session.scalars(select(Invitation)).all()
        base = session.get_one(Recruitment, uuid.UUID(link["id"])).link_token
        assert all(invitation.token_hash not in ada + bob for invitation in kept)
    opened = come(client, ada, "ada-at-work")
    who = token_of(opened)
    assert answer(client, who, 1)["answered"] == 1
    # The same person from home: where they were.
    assert come(client, ada, "ada-at-home").json()["answered"] == 1
    assert come(client, bob, "ada-at-home").json()["answered"] == 0
    # The link's own address is nobody's.
    from app.campaigns.links import link_address

    assert code_of(come(client, link_address(base, ""))) == "personal_link"
    answer(client, who, 2)
    shown = client.get(invitations).json()["items"]
    assert [
        (invitation["person"], invitation["state"], invitation["n_answered"])
        for invitation in shown
    ] == [
        ("Ada", "finished", 3),
        ("Bob", "begun", 0),
    ]
    again = client.post(invitations, json={"people": "person\nbob\nCarl\n"}).json()
    assert [(invitation["number"], invitation["person"]) for invitation in again["addresses"]] == [
        (3, "Carl")
    ]
    assert again["bad_lines"][0]["why"] == "already has an address"
    assert client.post(invitations, json={"number": 2}).json()["code"] == "other_access"
    wanted = {"access": "open"}
    refused = client.patch(f"{links_of(campaign)}/{link['id']}", json=wanted)
    assert refused.json()["code"] == "access_stays"


def test_a_revoked_address_opens_nothing_and_its_work_is_owed(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, access="listed", reward_cents=100)
    invitations = f"{links_of(campaign)}/{link['id']}/invitations"
    addresses = client.post(invitations, json={"people": "Ada\nBob"}).json()["addresses"]
    who = token_of(come(client, addresses[0]["address"]))
    handout = answer(client, who, 1)
    ids = [invitation["id"] for invitation in client.get(invitations).json()["items"]]
    for invitation_id in ids:
        revoked = client.post(f"{invitations}/{invitation_id}/revoke")
        assert revoked.json()["state"] == "revoked", revoked.text
    assert client.post(f"{invitations}/{ids[0]}/revoke").status_code == 409
    for invitation in addresses:
        assert code_of(come(client, invitation["address"])) == "revoked"
    assert payments() == [("outside", "reward", 34, "due")]
    # The grid that was at hand is taken still, and booked on top.
    assert submit(client, who, handout["lease"]).status_code == 200
    assert payments()[1:] == [("outside", "late:2", 33, "due")]
    ended = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (ended["status"], ended["earned_cents"], ended["again"]) == ("done", 67, False)
    # The name may be invited anew, to another address.
    assert client.post(invitations, json={"people": "Ada"}).json()["bad_lines"] == []


def test_an_address_for_one_assignment_is_the_first_browsers(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_link(client, campaign, access="single_use")
    invitations = f"{links_of(campaign)}/{link['id']}/invitations"
    addresses = client.post(invitations, json={"number": 2}).json()["addresses"]
    address = addresses[0]["address"]
    replies = at_once(4, lambda number: come(client, address, f"browser-{number}").status_code)
    assert sorted(replies) == [201, 403, 403, 403]
    first = replies.index(201)
    done = answer(client, token_of(come(client, address, f"browser-{first}")), 3)
    assert (done["status"], done["again"]) == ("done", False)
    # Whose it is may have lost the page with the code; others are told nothing.
    own = come(client, address, f"browser-{first}")
    assert code_of(own) == "link_used"
    assert done["completion_code"] in own.json()["detail"]
    other = come(client, address, f"browser-{(first + 1) % 4}")
    assert code_of(other) == "link_used"
    assert done["completion_code"] not in other.json()["detail"]
    assert come(client, addresses[1]["address"], "browser-9").status_code == 201
    listed = client.get(links_of(campaign)).json()["items"][-1]
    assert (listed["addresses"], listed["used"], listed["finished"]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("table", "people", "lines"),
    [
        ("Ada\r\n\r\n Bob \r\n", ["Ada", "Bob"], []),
        ("\ufeffPerson\nAda", ["Ada"], []),
        ('person,group\n"Doe, Jane",1\n', ["Doe, Jane"], []),
        ("person\nDoe, Jane\n", [], [2]),
        ("Doe, Jane\nBob\n", ["Bob"], [1]),
        ("'=cmd\n" + "x" * 201 + "\n\x07\n", ["=cmd"], [2, 3]),
        ("Straße\nSTRASSE\n", ["Straße"], [2]),
    ],
)
def test_lists_of_people(table: str, people: list[str], lines: list[int]) -> None:
    parsed = read_people(table, set())
    assert parsed.people == people
    assert [line.line for line in parsed.bad_lines] == lines


def test_lists_that_are_none(client: TestClient, campaign: Campaign) -> None:
    link = a_link(client, campaign, access="listed")
    invitations = f"{links_of(campaign)}/{link['id']}/invitations"
    for table, code in (
        ("", "empty_list"),
        ('"open', "bad_list"),
        ("\n".join(map(str, range(10_001))), "long_list"),
    ):
        assert client.post(invitations, json={"people": table}).json()["code"] == code
    many = client.post(invitations, json={"people": "\n".join(map(str, range(10_000)))})
    assert len({invitation["address"] for invitation in many.json()["addresses"]}) == 10_000
    assert client.post(invitations, json={"people": "one more"}).json()["code"] == "long_list"


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
