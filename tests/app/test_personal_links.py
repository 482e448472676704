"""Links with an address for each person: lists of people, revoked addresses, single use."""

import uuid

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.invitations import read_people
from app.recruitment.models import Invitation, Recruitment
from tests.app.test_annotation import submit
from tests.support.links import (
    a_link,
    answer,
    at_once,
    campaign,
    code_of,
    come,
    links_of,
    owner,
    payments,
    token_of,
)

__all__ = ["campaign", "owner"]


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
