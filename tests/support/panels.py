"""Links for people from panels, and the people who come by them."""

from typing import Any
from urllib.parse import urlsplit

from fastapi.testclient import TestClient

from app.campaigns.models import Campaign
from app.recruitment.settings import Outcome
from tests.support.links import Json, a_link, come

RETURNS: tuple[Outcome, ...] = ("completed", "screened_out", "no_consent", "over_quota")


def sona(site: str, **changes: Any) -> Json:
    """A link's settings as for SONA, whose site is `site`."""
    credit = f"{site}/webstudy_credit.aspx?experiment_id=7&credit_token=abc"
    returns = {outcome: f"{credit}&survey_code={{id}}&outcome={outcome}" for outcome in RETURNS}
    return {
        "name": "SONA",
        "parameters": [{"name": "survey_code", "placeholder": "%SURVEY_CODE%"}],
        "person": "survey_code",
        "person_form": "digits",
        "per_device": 1,
        "returns": returns,
        **changes,
    }


def connect(site: str, **changes: Any) -> Json:
    """A link's settings as for CloudResearch Connect, whose site is `site`."""
    end = f"{site}/participant/project/7/{{outcome}}?participantId={{{{id}}}}"
    returns = {
        outcome: end.format(outcome=outcome) + "&assignmentId={assignmentId}&code={code}"
        for outcome in RETURNS
    }
    names = ("participantId", "assignmentId", "projectId")
    return {
        "name": "Connect",
        "parameters": [{"name": name} for name in names],
        "person": "participantId",
        "per_device": 1,
        "returns": returns,
        **changes,
    }


def a_panel_link(client: TestClient, campaign: Campaign, settings: Json) -> Json:
    return a_link(client, campaign, **settings)


def arrive(client: TestClient, link: Json, query: str, browser: str = "browser-a") -> Any:
    """Come by a link whose address has this query."""
    address = urlsplit(link["address"])
    return come(client, address.path, browser, query=query)
