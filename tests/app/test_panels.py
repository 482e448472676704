"""People from panels: what a link keeps of its address, and who they are."""

import logging
import uuid
from urllib.parse import quote, urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.annotation.models import Annotator, AnnotatorIdentity, Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import LinkParameters
from tests.support.links import (
    answer,
    at_once,
    campaign,
    code_of,
    owner,
    token_of,
)
from tests.support.panels import a_panel_link, arrive, connect, sona

__all__ = ["campaign", "owner"]
SITE = "https://school.sona-systems.com"
CONNECT = "https://connect.example.org"


def n_annotators() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Annotator)) or 0


def test_an_address_says_who_somebody_is_and_only_chosen_parameters_are_kept(
    client: TestClient, campaign: Campaign
) -> None:
    link = a_panel_link(client, campaign, connect(CONNECT))
    # Long enough not to be part of a token by chance.
    person = "PARTICIPANT0001"
    query = f"participantId={person}&assignmentId=A+1%26&utm_source=mail&projectId="
    came = arrive(client, link, query)
    assert came.status_code == 201
    with transaction() as session:
        identity = session.scalars(select(AnnotatorIdentity)).one()
        kept = session.scalars(select(LinkParameters)).one()
        assert (identity.external_id, identity.channel) == (person, "link")
        # The id stands at one place alone.
        # Panels leave "+" as it is.
        assert kept.values == {"assignmentId": "A+1&"}
    assert person not in came.text.replace(f"participantId={person}", "")


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
