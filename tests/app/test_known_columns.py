"""Attributes of a model against columns of the collection's table."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.database import transaction
from app.results.vectors import one_at_a_time
from testbed.builders import a_campaign, an_account, sign_in
from tests.app.test_insight import INSIGHT, POOLED, a_model


def a_known_campaign(owner: Account, insight: dict[str, Any] | None = INSIGHT) -> Campaign:
    """Column 0 of the embedding parts `species`, column 2 is the `size`; `id` tells nothing."""
    campaign = a_campaign(owner)
    rng = np.random.default_rng(0)
    species = np.arange(campaign.n_images) % 2
    vectors = rng.normal(0, 0.1, (campaign.n_images, 3))
    vectors[:, 0] += species
    vectors[:, 2] = rng.normal(size=campaign.n_images)
    a_model(campaign, vectors, insight)
    with transaction() as session:
        query = select(Image).where(Image.collection_id == campaign.collection_id)
        for image in session.scalars(query):
            image.attributes = {
                "species": ["owl", "duck"][species[image.position]],
                "size": f"{vectors[image.position, 2]:.6f}",
                "id": f"bird {image.position}",
            }
    return campaign


def compare(client: TestClient, campaign: Campaign, query: str = "") -> Any:
    return client.get(f"/api/v1/campaigns/{campaign.id}/models/1/known-columns{query}")


def test_each_attribute_agrees_with_the_column_that_it_shows(
    client: TestClient, owner: Account
) -> None:
    comparison = compare(client, a_known_campaign(owner)).json()
    assert comparison["names"] == ["id", "size", "species"]
    assert [column["kind"] for column in comparison["columns"]] == [None, "numbers", "categories"]
    assert comparison["n_images"] == 30
    rows = {row["attribute"]: row["cells"] for row in comparison["attributes"]}
    assert list(rows) == [0, 2, None]
    assert all(cells[0] is None for cells in rows.values())
    assert rows[0][2]["score"] == pytest.approx(1.0)
    assert rows[0][2]["balanced_accuracy"] == pytest.approx(1.0)
    assert rows[0][2]["chance"] == pytest.approx(0.5)
    assert rows[2][2]["score"] < 0.2
    assert rows[2][1]["score"] == pytest.approx(1.0)
    assert rows[2][1]["balanced_accuracy"] is None
    assert rows[0][1]["score"] < 0.6
    assert comparison["attributes"][0]["high"] == ["blue"]


def test_only_the_chosen_columns_are_compared(client: TestClient, owner: Account) -> None:
    campaign = a_known_campaign(owner)
    comparison = compare(client, campaign, "?column=species").json()
    assert [column["name"] for column in comparison["columns"]] == ["species"]
    assert all(len(row["cells"]) == 1 for row in comparison["attributes"])
    missing = compare(client, campaign, "?column=weight")
    assert (missing.status_code, "weight" in missing.json()["detail"]) == (404, True)


def test_an_overall_similarity_is_one_row_and_a_model_without_attributes_too(
    client: TestClient, owner: Account
) -> None:
    [row] = compare(client, a_known_campaign(owner, POOLED)).json()["attributes"]
    assert (row["attribute"], row["overall"]) == (0, True)
    [row] = compare(client, a_known_campaign(owner, None)).json()["attributes"]
    assert (row["attribute"], row["overall"]) == (None, False)
    assert len(row["cells"]) == 3


def test_without_columns_there_is_nothing_to_compare(client: TestClient, owner: Account) -> None:
    campaign = a_known_campaign(owner)
    with transaction() as session:
        query = select(Image).where(Image.collection_id == campaign.collection_id)
        for image in session.scalars(query):
            image.attributes = {}
    comparison = compare(client, campaign).json()
    assert (comparison["names"], comparison["attributes"]) == ([], [])


def test_one_comparison_is_computed_at_a_time(client: TestClient, owner: Account) -> None:
    campaign = a_known_campaign(owner)
    with one_at_a_time():
        busy = compare(client, campaign)
    assert (busy.status_code, busy.json()["code"]) == (503, "busy")


def test_somebody_else_sees_nothing_of_it(client: TestClient, owner: Account) -> None:
    campaign = a_known_campaign(owner)
    sign_in(client, an_account("grace@example.org"))
    assert compare(client, campaign).status_code == 404
