"""Links for panels: their settings, who may frame them, exports and erasure."""

import csv
import io
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account, AuditEvent
from app.annotation.models import Annotator
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.recruitment.settings import PANELS, LinkSettings
from testbed.builders import an_account, an_api_token
from tests.support.links import (
    a_link,
    campaign,
    come,
    links_of,
    owner,
)
from tests.support.panels import a_panel_link, arrive, connect, sona

__all__ = ["campaign", "owner"]
SITE = "https://school.sona-systems.com"
CONNECT = "https://connect.example.org"


def n_annotators() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Annotator)) or 0


BAD_RETURNS = [
    "http://example.org/?x={id}",
    "javascript:alert(1)",
    "data:text/html,x",
    "//example.org/?{id}",
    "ftp://example.org/",
    "https://{id}.example.org/",
    "https://example.org/{id}",
    "https://me@example.org/?{id}",
    "https://example.org/?x={name}",
    "https://example.org/?x={id",
    "https://example.org/?x=}",
    "https://example.org/?x={}",
    "https://example.org/a b",
    "https://example.org/\r\nX: y",
    'https://example.org/?x="',
    "https://….sona-systems.com/?x={id}",
    "https://[::1/?x={id}",
    "https://example.org:99999999/?x={id}",
    "https:///?x={id}",
    f"https://example.org/?{'x' * 2000}",
]


@pytest.mark.parametrize("address", BAD_RETURNS)
def test_return_addresses_are_checked_when_they_are_set(
    client: TestClient, campaign: Campaign, address: str
) -> None:
    settings = sona(SITE, returns={"no_consent": address})
    reply = client.post(links_of(campaign), json=settings)
    assert reply.status_code == 422, reply.text
    assert "return" in reply.json()["detail"].lower()


@pytest.mark.parametrize(
    "changes",
    [
        {"person": "other"},
        {"parameters": [{"name": "survey_code"}] * 2},
        {"parameters": [{"name": "lang"}], "person": ""},
        {"parameters": [{"name": "a b"}], "person": ""},
        {"parameters": [{"name": ""}], "person": ""},
        {"parameters": [{"name": "id"}, {"name": "survey_code"}]},
        {"parameters": [{"name": f"p{k}"} for k in range(9)], "person": "p1"},
        {"parameters": [{"name": "survey_code", "placeholder": "<b>"}]},
        {"access": "listed"},
        {"framed_by": ["https://*.example.org"]},
        {"framed_by": ["http://example.org"]},
        {"framed_by": ["https://example.org/page"]},
        {"framed_by": ["https://example.org; script-src *"]},
        {"framed_by": ["*"]},
        {"framed_by": ["data:"]},
        {"framed_by": [f"https://s{k}.example.org" for k in range(6)]},
        {"person_form": "anything"},
    ],
)
def test_other_settings_are_checked_too(
    client: TestClient, campaign: Campaign, changes: dict[str, Any]
) -> None:
    assert client.post(links_of(campaign), json=sona(SITE, **changes)).status_code == 422


def test_settings_can_be_changed_and_are_shown(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    assert link["panel_address"] == f"{link['address']}?survey_code=%SURVEY_CODE%"
    assert link["returns"]["completed"].endswith("survey_code={id}&outcome=completed")
    own = f"{links_of(campaign)}/{link['id']}"
    changed = client.patch(own, json={"framed_by": ["https://Survey.example.org/"]}).json()
    assert changed["framed_by"] == ["https://survey.example.org"]
    assert changed["person"] == "survey_code"
    refused = client.patch(own, json={"parameters": []})
    assert refused.status_code == 422
    bare = {"parameters": [], "person": "", "returns": {}}
    assert client.patch(own, json=bare).json()["panel_address"] == link["address"]


def test_who_people_are_stays_once_they_have_come(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE, person_required=False))
    own = f"{links_of(campaign)}/{link['id']}"
    assert client.patch(own, json={"person_required": True}).status_code == 200
    assert client.patch(own, json={"person_required": False}).status_code == 200
    assert arrive(client, link, "survey_code=7").status_code == 201
    for change in ({"person_required": True}, {"person": "", "returns": {}}):
        refused = client.patch(own, json=change)
        assert (refused.status_code, refused.json()["code"]) == (422, "person_stays"), change
    assert client.patch(own, json={"person_form": "digits"}).status_code == 200


def test_an_id_is_no_way_round_a_password(client: TestClient, campaign: Campaign) -> None:
    body = {**sona(SITE), "access": "password", "password": "a word of its own"}
    refused = client.post(links_of(campaign), json=body)
    assert refused.status_code == 422
    assert "without the password" in refused.json()["detail"]


def test_people_with_an_id_can_do_one_assignment_unless_chosen_otherwise(
    client: TestClient, campaign: Campaign
) -> None:
    settings = {name: value for name, value in sona(SITE).items() if name != "per_device"}
    assert a_panel_link(client, campaign, settings)["per_device"] == 1
    assert a_panel_link(client, campaign, {**settings, "per_device": 0})["per_device"] == 0
    assert a_panel_link(client, campaign, {})["per_device"] == 0


def test_presets_need_only_what_the_panel_says(client: TestClient, campaign: Campaign) -> None:
    presets = client.get(f"{links_of(campaign)}/panels").json()["panels"]
    assert [preset["key"] for preset in presets] == ["sona", "connect", "qualtrics", "limesurvey"]
    for preset in presets:
        fields = {name: preset[name] for name in LinkSettings.model_fields if name in preset}
        left = client.post(links_of(campaign), json=fields)
        assert left.status_code == 422
        assert "…" in left.json()["detail"]
        returns = {
            outcome: address.replace("…", "x") for outcome, address in preset["returns"].items()
        }
        link = a_link(client, campaign, **{**fields, "returns": returns})
        assert link["person"] == preset["person"]
        assert link["panel_address"].startswith(link["address"])
    assert len({panel.key for panel in PANELS}) == len(PANELS)


def ancestors(client: TestClient, address: str) -> str:
    policy = client.get(urlsplit(address).path).headers["content-security-policy"]
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert directives["form-action"] == "'self'"
    return directives["frame-ancestors"]


def test_only_named_sites_may_frame_the_page_of_a_link(
    client: TestClient, campaign: Campaign
) -> None:
    sites = ["https://survey.example.org", "http://localhost:8080"]
    link = a_link(client, campaign, framed_by=sites)
    assert ancestors(client, link["address"]) == " ".join(sites)
    assert ancestors(client, a_link(client, campaign)["address"]) == "'none'"
    # What is not the page stays as it was.
    reply = client.get("/api/v1/annotate/practice")
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def parameters_csv(client: TestClient, campaign: Campaign, query: str = "") -> list[dict[str, str]]:
    address = f"/api/v1/campaigns/{campaign.id}/export/link_parameters.csv{query}"
    reply = client.get(address)
    assert reply.status_code == 200, reply.text
    return list(csv.DictReader(io.StringIO(reply.text)))


def test_exports_have_pseudonyms_unless_identities_are_asked_for(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, connect(CONNECT))
    arrive(client, link, "participantId=P1&projectId=%3D1%2B1", "a")
    arrive(client, link, "participantId=P2&projectId=%3D1%2B1", "b")
    come(client, a_link(client, campaign)["address"], "c")
    rows = parameters_csv(client, campaign)
    assert [(row["annotator"], row["link"], row["parameter"]) for row in rows] == [
        ("0", "Connect", "participantId"),
        ("0", "Connect", "projectId"),
        ("1", "Connect", "participantId"),
        ("1", "Connect", "projectId"),
    ]
    values = [row["value"] for row in rows]
    assert not {"P1", "P2"} & set(values)
    assert values[0] != values[2]
    assert values[1] == values[3]
    assert {len(value) for value in values} == {16}
    shown = [row["value"] for row in parameters_csv(client, campaign, "?identities=true")]
    assert shown == ["P1", "'=1+1", "P2", "'=1+1"]
    with transaction() as session:
        actions = session.scalars(select(AuditEvent.action)).all()
    assert actions.count("campaign.identities_downloaded") == 1
    # Whoever may only look gets pseudonyms.
    viewer = an_account("viewer@example.org")
    own = f"/api/v1/campaigns/{campaign.id}"
    with transaction() as session:
        sharer = session.get_one(Account, campaign.owner_id)
        share_campaign(session, sharer, campaign, "viewer@example.org", "view")
    client.headers["Authorization"] = f"Bearer {an_api_token(viewer)}"
    assert parameters_csv(client, campaign) == rows
    refused = client.get(f"{own}/export/link_parameters.csv?identities=true")
    assert refused.status_code in (403, 404)


def test_forgetting_people_takes_what_their_addresses_said(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, connect(CONNECT))
    for number in (1, 2):
        arrive(client, link, f"participantId=P{number}&assignmentId=visit", f"browser-{number}")
    keeper = a_link(client, campaign, parameters=[{"name": "source"}])
    arrive(client, keeper, "source=class", "c")
    people = f"/api/v1/campaigns/{campaign.id}/people"
    assert client.get(people).json()["people"] == 3
    gone = client.post(f"{people}/forget", json={"platform_id": "P1"}).json()
    assert gone == {"forgotten": 1, "kept": 0}
    rows = parameters_csv(client, campaign, "?identities=true")
    assert [row["value"] for row in rows] == ["P2", "visit", "class"]
    assert client.post(f"{people}/forget", json={}).json()["forgotten"] == 2
    assert parameters_csv(client, campaign, "?identities=true") == []
    assert client.get(people).json()["people"] == 0
    # The same person is still the same annotator.
    arrive(client, link, "participantId=P1", "browser-9")
    assert n_annotators() == 3
