"""A campaign's fields: what the API takes and returns of them, and what is made from them."""

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from typer.testing import CliRunner

from app.campaigns.models import Campaign
from app.campaigns.plan import CHANGEABLE, RANGES, CampaignPlan
from app.campaigns.schemas import CampaignChanges
from app.core.database import transaction
from likewise.cli import cli
from testbed.builders import a_collection, an_account, sign_in
from tools.campaign_table import DOCUMENT, written

SCHEMAS = Path(__file__).with_name("campaign_schemas.json")
WORDS = ("title", "description", "examples")


def without_words(schema: Any) -> Any:
    """Leave out the texts for people: names, types, ranges and defaults remain."""
    if isinstance(schema, list):
        return [without_words(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_words(part)
        for name, part in schema.items()
        if name not in WORDS or isinstance(part, dict)
    }


def test_the_api_takes_and_returns_the_same_fields_as_ever(client: TestClient) -> None:
    schemas = client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    for name, before in json.loads(SCHEMAS.read_text()).items():
        assert without_words(schemas[name]) == before, name


def test_forms_get_ranges_and_helps_from_the_server(client: TestClient) -> None:
    sign_in(client, an_account())
    schema = client.get("/api/v1/options").json()["campaign"]
    assert schema["required"] == list(schema["properties"]) == list(RANGES)
    size = schema["properties"]["grid_size"]
    assert size["title"] == "Images per grid"
    assert (size["type"], size["minimum"], size["maximum"]) == ("integer", 2, 60)
    assert "default" not in size
    question = schema["properties"]["question"]
    assert (question["minLength"], question["maxLength"]) == (1, 2000)
    later = {name for name, field in schema["properties"].items() if "while_running" in field}
    assert later == set(CHANGEABLE) & set(RANGES)


def test_the_api_says_which_fields_can_change_later() -> None:
    assert all(name in str(CampaignChanges.__doc__) for name in CHANGEABLE)


def test_the_command_has_an_option_for_each_field(environment: dict[str, str]) -> None:
    owner = an_account()
    collection = a_collection(owner)
    values = ["--name", "Birds", "--grid-size", "6", "--max-groups", "3", "--reward-cents", "150"]
    result = CliRunner().invoke(cli, ["campaign", "create", collection.name, *values])
    assert result.exit_code == 0, result.output
    with transaction() as session:
        campaign = session.query(Campaign).one()
    assert (campaign.grid_size, campaign.max_groups, campaign.reward_cents) == (6, 3, 150)
    assert (campaign.rounds, campaign.budget) == (2, 100)


def test_the_user_guide_shows_the_fields() -> None:
    text = DOCUMENT.read_text()
    assert written(text) == text, "python -m tools.campaign_table"
    assert all(field.title and field.description for field in CampaignPlan.model_fields.values())
