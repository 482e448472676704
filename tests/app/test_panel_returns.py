"""People from panels: where they go back to, by how their visit ended."""

import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.annotation.models import Annotator, Assignment
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Recruitment
from app.recruitment.parameters import return_address
from testbed.builders import a_campaign, an_account, an_api_token
from tests.support.links import (
    a_link,
    answer,
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
    # There is no other assignment after the end.
    again = arrive(client, link, visit.format("second"))
    assert code_of(again) == "study_over"
    address = again.json()["return_address"]
    assert urlsplit(address).path == "/participant/project/7/completed"
    assert said(address) == {"participantId": "1", "assignmentId": "second", "code": code}
    client.post(f"{links_of(campaign)}/{link['id']}/stop")
    with transaction() as session:
        for assignment in session.scalars(select(Assignment)):
            assignment.state = "completed"
        session.get_one(Campaign, campaign.id).state = "running"
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


def test_a_pause_sends_nobody_back_for_good(client: TestClient, campaign: Campaign) -> None:
    link = a_panel_link(client, campaign, sona(SITE))
    own = f"{links_of(campaign)}/{link['id']}"
    for action, is_sent_back in (("pause", False), ("stop", True)):
        assert client.post(f"{own}/{action}").status_code == 200
        refused = arrive(client, link, "survey_code=7").json()
        assert refused["code"] == "link_closed"
        assert ("return_address" in refused) == is_sent_back


def test_without_an_id_nobody_goes_to_an_address_that_needs_one(
    client: TestClient, campaign: Campaign
) -> None:
    returns = {"over_quota": f"{SITE}/?code={{survey_code}}"}
    link = a_panel_link(client, campaign, sona(SITE, person_required=False, returns=returns))
    client.post(f"{links_of(campaign)}/{link['id']}/stop")
    assert "return_address" not in arrive(client, link, "").json()
    sent = arrive(client, link, "survey_code=7", "browser-b").json()
    assert sent["return_address"] == f"{SITE}/?code=7"


def test_a_plus_in_an_address_is_a_plus(client: TestClient, campaign: Campaign) -> None:
    returns = {"over_quota": f"{SITE}/?code={{id}}"}
    link = a_panel_link(client, campaign, sona(SITE, person_form="any", returns=returns))
    client.post(f"{links_of(campaign)}/{link['id']}/stop")
    sent = arrive(client, link, "survey_code=ada+1@example.org").json()
    assert sent["return_address"] == f"{SITE}/?code=ada%2B1%40example.org"


def test_codes_are_listed_to_those_whom_no_address_names(client: TestClient, owner: Any) -> None:
    """Anybody can type another person's ID into an address."""
    del owner
    account = _account(client)
    plain = a_campaign(account, budget=40, grids_per_assignment=1)
    done = answer(client, token_of(come(client, annotator_link(plain, ""))), 1)
    assert done["codes"] == [{"code": done["completion_code"], "answered": 1}]
    panel = a_campaign(account, budget=40, grids_per_assignment=1)
    link = a_panel_link(client, panel, sona(SITE))
    assert answer(client, token_of(arrive(client, link, "survey_code=77")), 1)["codes"] == []
