"""People from panels: what a link keeps of its address, who they are, and where they go back to."""

import csv
import io
import logging
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account, AuditEvent
from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.recruitment.models import LinkParameters, Recruitment
from app.recruitment.panels import PANELS
from app.recruitment.returns import return_address
from app.recruitment.settings import LinkSettings
from testbed.builders import a_campaign, an_account, an_api_token
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
from tests.support.panels import RETURNS, a_panel_link, arrive, connect, sona

__all__ = ["campaign", "owner"]
SITE = "https://school.sona-systems.com"
CONNECT = "https://connect.example.org"


def said(address: str) -> dict[str, str]:
    """The query of an address."""
    return {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}


def n_annotators() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Annotator)) or 0


# --- what is kept --------------------------------------------------------------------------------


def test_an_address_says_who_somebody_is_and_only_chosen_parameters_are_kept(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, connect(CONNECT))
    came = arrive(client, link, "participantId=P1&assignmentId=A+1%26&utm_source=mail&projectId=")
    assert came.status_code == 201
    with transaction() as session:
        identity = session.scalars(select(AnnotatorIdentity)).one()
        kept = session.scalars(select(LinkParameters)).one()
        assert (identity.external_id, identity.channel) == ("P1", "link")
        # The id stands at one place alone.
        assert kept.values == {"assignmentId": "A 1&"}
    assert "P1" not in came.text.replace("participantId=P1", "")


def test_the_same_id_is_the_same_person_in_every_browser(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    office = token_of(arrive(client, link, "survey_code=123", "office"))
    assert answer(client, office, 1)["answered"] == 1
    assert arrive(client, link, "survey_code=123", "office").json()["answered"] == 1
    assert arrive(client, link, "survey_code=123", "home").json()["answered"] == 1
    # Another person in the same browser.
    assert arrive(client, link, "survey_code=124", "office").json()["answered"] == 0
    # The same number elsewhere is somebody else.
    other = a_panel_link(client, campaign, sona(SITE))
    assert arrive(client, other, "survey_code=123", "office").json()["answered"] == 0
    assert n_annotators() == 3


def test_many_browsers_at_once_are_still_one_person(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    replies = at_once(6, lambda number: arrive(client, link, "survey_code=5", f"browser-{number}"))
    assert {reply.status_code for reply in replies} == {201}
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Assignment)) == 1
    assert n_annotators() == 1


REFUSED = [
    ("", "id_missing"),
    ("survey_code=", "id_missing"),
    ("SURVEY_CODE=12", "id_missing"),
    ("survey_code=12&survey_code=13", "parameter_repeated"),
    ("survey_code=12&survey_code=12", "parameter_repeated"),
    (f"survey_code={'1' * 201}", "parameter_long"),
    ("&".join(["x=1"] * 200) + "&survey_code=12", "parameter_long"),
    ("survey_code=1%00", "parameter_malformed"),
    ("survey_code=1%0d%0aSet-Cookie:x", "parameter_malformed"),
    ("survey_code=%ff%fe", "parameter_malformed"),
    ("survey_code=%SURVEY_CODE%", "parameter_unfilled"),
    ("survey_code=%25SURVEY_CODE%25", "parameter_unfilled"),
    ("survey_code={{id}}", "parameter_unfilled"),
    ("survey_code=[ID]", "parameter_unfilled"),
    ("survey_code=${e://Field/RID}", "parameter_unfilled"),
    ("survey_code=<script>alert(1)</script>", "parameter_unfilled"),
    ("survey_code=12<b>", "id_malformed"),
    ("survey_code=12%20or%201=1", "id_malformed"),
    ("survey_code=https://evil.example", "id_malformed"),
    ("survey_code=..", "id_malformed"),
    ("survey_code=%F0%9F%92%A9", "id_malformed"),
    ("survey_code=١٢", "id_malformed"),
]


@pytest.mark.parametrize(("query", "code"), REFUSED)
def test_what_cannot_be_an_id_is_refused_and_nothing_is_written(
    client: TestClient, campaign: Campaign, query: str, code: str
) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    at_work = token_of(arrive(client, link, "survey_code=12"))
    answer(client, at_work, 1)
    reply = arrive(client, link, query)
    assert code_of(reply) == code
    assert "Go back to the site that sent you here" in reply.json()["detail"]
    assert reply.json()["detail"].startswith(reply.json()["reason"])
    assert "return_address" not in reply.json()
    # The page itself opens, and says why nothing else does.
    assert client.get(f"{urlsplit(link['address']).path}?{query}").status_code == 200
    assert n_annotators() == 1
    assert arrive(client, link, "survey_code=12").json()["answered"] == 1


def test_what_no_json_can_say_is_refused_too(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    body = '{"link":"%s","annotator_key":"browser-aaaaaaaaaaaa","query":"survey_code=\\ud800"}'
    end = urlsplit(link["address"]).path.removeprefix("/a/")
    headers = {"Content-Type": "application/json"}
    reply = client.post("/api/v1/annotate/sessions", content=body % end, headers=headers)
    assert 400 <= reply.status_code < 500
    assert arrive(client, link, "x" * 70_001).status_code == 422
    assert n_annotators() == 0


def test_an_optional_id_leaves_people_to_their_browsers(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, sona(SITE, person_required=False))
    first = token_of(arrive(client, link, "", "a"))
    answer(client, first, 1)
    assert arrive(client, link, "", "a").json()["answered"] == 1
    assert arrive(client, link, "", "b").json()["answered"] == 0
    assert arrive(client, link, "survey_code=1", "a").json()["answered"] == 0
    # Without an id there is nowhere to go back to with one.
    assert arrive(client, link, "", "a").json()["declined"] is None


def test_the_forms_of_ids(client: TestClient, campaign: Campaign) -> None:
    known = str(uuid.uuid4())
    for form, fits, does_not in (
        ("any", "ada+1@x.org", "a b"),
        ("word", "R_1a-B", "a@x"),
        ("hex", "5f0c", "xyz"),
        ("uuid", known, known[1:]),
    ):
        link = a_panel_link(client, campaign, sona(SITE, person_form=form))
        assert arrive(client, link, f"survey_code={quote(fits)}").status_code == 201
        assert code_of(arrive(client, link, f"survey_code={quote(does_not)}")) == "id_malformed"


def test_nothing_of_it_is_in_logs(
    client: TestClient, campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    link = a_panel_link(client, campaign, connect(CONNECT))
    path = urlsplit(link["address"]).path
    with caplog.at_level(logging.DEBUG, logger="app"):
        arrive(client, link, "participantId=secretperson&assignmentId=secretvisit")
        arrive(client, link, "participantId=secret%00person&assignmentId=secretvisit")
        client.get(f"{path}?participantId=secretperson")
    assert "secret" not in caplog.text


# --- where people go back to ---------------------------------------------------------------------


def test_everyone_is_sent_back_with_their_id_however_it_ends(
    client: TestClient, owner: Any
) -> None:
    del owner
    consenting = a_campaign(_account(client), budget=40, grids_per_assignment=1,
                            annotation={"consent": "We *agree*."})  # fmt: skip
    for settings, name in ((sona(SITE), "survey_code"), (connect(CONNECT), "participantId")):
        link = a_panel_link(client, consenting, {**settings, "places": 1})
        opened = arrive(client, link, f"{name}=77&assignmentId=visit%2F1")
        declined = opened.json()["declined"]["address"]
        assert said(declined)[name] == "77"
        assert "no_consent" in declined
        assert "screened_out" in opened.json()["screened_out"]["address"]
        who = token_of(opened)
        agreed = client.post("/api/v1/annotate/steps", json={"step": "consent"}, headers=who)
        assert agreed.status_code == 200
        handout = answer(client, who, 1)
        completed = handout["return_address"]
        assert said(completed)[name] == "77"
        assert "completed" in completed
        if name == "participantId":
            assert said(completed)["assignmentId"] == "visit/1"
            assert said(completed)["code"] == handout["completion_code"]
            assert "code" not in said(declined)
        # No place is left, and this person has done their share.
        full = arrive(client, link, f"{name}=78")
        assert code_of(full) == "link_full"
        assert said(full.json()["return_address"])[name] == "78"
        assert "over_quota" in full.json()["return_address"]
        again = arrive(client, link, f"{name}=77&assignmentId=visit%2F1", "elsewhere")
        assert code_of(again) == "device_limit"
        assert again.json()["return_address"] == completed
        closed = f"{links_of(consenting)}/{link['id']}/stop"
        assert client.post(closed).status_code == 200
        late = arrive(client, link, f"{name}=79")
        assert code_of(late) == "link_closed"
        assert said(late.json()["return_address"])[name] == "79"
    assert n_annotators() == 2


def _account(client: TestClient) -> Any:
    account = an_account(f"{uuid.uuid4().hex[:8]}@example.org")
    client.headers["Authorization"] = f"Bearer {an_api_token(account)}"
    return account


def test_failed_practice_ends_where_the_link_says(client: TestClient, owner: Any) -> None:
    campaign = a_campaign(owner, annotation={"known_attribute": "colour", "practice": 1})
    link = a_panel_link(client, campaign, sona(SITE))
    plain = a_link(client, campaign)
    assert _failed_practice(client, arrive(client, link, "survey_code=9")) == "screened_out"
    again = arrive(client, link, "survey_code=9", "elsewhere").json()
    assert again["stage"] == "screened_out"
    assert said(again["screened_out"]["address"])["outcome"] == "screened_out"
    assert again["next"] is None
    # As before where nobody is sent anywhere.
    assert _failed_practice(client, come(client, plain["address"])) == "work"


def _failed_practice(client: TestClient, opened: Any) -> str:
    who = token_of(opened)
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    stage = "practice"
    while stage == "practice":
        practice = client.get("/api/v1/annotate/practice", headers=who).json()
        images = [shown["image"] for shown in practice["images"]]
        wrong = {"images": images, "groups": [0] * len(images)}
        tried = client.post("/api/v1/annotate/practice", json=wrong, headers=who).json()
        stage = tried["state"]["stage"]
    return str(stage)


def test_who_is_stopped_early_is_screened_out_and_who_was_done_is_not(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    who = token_of(arrive(client, link, "survey_code=1"))
    answer(client, who, 1)
    _stop(campaign)
    handout = client.post("/api/v1/annotate/leases", headers=who).json()
    assert handout["status"] == "stopped"
    assert said(handout["return_address"])["outcome"] == "screened_out"
    # The work is owed all the same.
    assert [payment[2] for payment in payments()] == [34]


def _stop(campaign: Campaign) -> None:
    with transaction() as session:
        annotator = session.scalars(
            select(Annotator).where(Annotator.campaign_id == campaign.id)
        ).one()
        annotator.stopped_at = datetime.now(UTC)


def test_nothing_left_to_do_is_over_quota(client: TestClient, owner: Any) -> None:
    campaign = a_campaign(owner, budget=1, rounds=1, grids_per_assignment=1)
    link = a_panel_link(client, campaign, sona(SITE))
    early = token_of(arrive(client, link, "survey_code=1"))
    late = token_of(arrive(client, link, "survey_code=2"))
    answer(client, early, 1)
    with transaction() as session:
        session.get_one(Campaign, campaign.id).state = "finished"
    handout = answer(client, late, 0)
    assert (handout["status"], handout["answered"]) == ("done", 0)
    assert said(handout["return_address"]) == {
        "experiment_id": "7", "credit_token": "abc", "survey_code": "2", "outcome": "over_quota",
    }  # fmt: skip


def test_who_has_finished_has_completed_whatever_brings_them_back(
    client: TestClient, owner: Any
) -> None:
    campaign = a_campaign(owner, budget=1, rounds=1, grids_per_assignment=1)
    link = a_panel_link(client, campaign, connect(CONNECT, per_device=0))
    visit = "participantId=1&assignmentId={}"
    handout = answer(client, token_of(arrive(client, link, visit.format("first"))), 1)
    code = handout["completion_code"]
    with transaction() as session:
        session.get_one(Campaign, campaign.id).state = "finished"
    # Another assignment, for which nothing is left.
    again = arrive(client, link, visit.format("second")).json()["next"]
    assert (again["status"], again["answered"]) == ("done", 0)
    address = again["return_address"]
    assert urlsplit(address).path == "/participant/project/7/completed"
    assert said(address) == {"participantId": "1", "assignmentId": "second", "code": code}
    client.post(f"{links_of(campaign)}/{link['id']}/stop")
    with transaction() as session:
        for assignment in session.scalars(select(Assignment)):
            assignment.state = "completed"
    closed = arrive(client, link, visit.format("third"))
    assert code_of(closed) == "link_closed"
    assert said(closed.json()["return_address"])["code"] == code


def test_one_function_says_where_somebody_goes(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    arrive(client, link, "survey_code=4")
    bare = a_link(client, campaign)
    come(client, bare["address"], "b")
    with transaction() as session:
        for assignment in session.scalars(select(Assignment)):
            row = session.get_one(Recruitment, assignment.recruitment_id)
            for outcome in RETURNS:
                address = return_address(session, row, assignment, outcome)
                if str(row.id) == link["id"]:
                    assert address is not None
                    assert said(address)["survey_code"] == "4"
                    assert said(address)["outcome"] == outcome
                else:
                    assert address is None


def test_a_value_never_changes_where_an_address_leads(
    client: TestClient, campaign: Campaign
) -> None:
    returns = {"completed": f"{SITE}/end?source={{source}}&id={{id}}#{{source}}"}
    settings = sona(
        SITE, parameters=[{"name": "id"}, {"name": "source"}], person="id", person_form="any",
        returns=returns, per_device=0,
    )  # fmt: skip
    link = a_panel_link(client, campaign, settings)
    nasty = "a&b=c#d/../..//x@y?z=%0a\"'<>{id}{code}"
    who = token_of(arrive(client, link, f"id=ada%2B1%40x.org&source={quote(nasty[:20], safe='')}"))
    address = answer(client, who, 3)["return_address"]
    assert urlsplit(address).netloc == "school.sona-systems.com"
    assert urlsplit(address).path == "/end"
    assert said(address) == {"source": nasty[:20], "id": "ada+1@x.org"}
    assert not set("<>\"' \n") & set(address)


# --- settings ------------------------------------------------------------------------------------

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


# --- frames --------------------------------------------------------------------------------------


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


# --- exports and erasure -------------------------------------------------------------------------


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
