"""Types of annotators in a campaign: the training stores them, pages and exports show them."""

import csv
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.visits import is_allowed
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job

N, PEOPLE, ANSWERS, SIZE = 24, 12, 8, 8


def seen_group(who: int, image: int) -> int:
    """Even people divide by parity, odd ones by halves of the collection."""
    return image % 2 if who % 2 == 0 else int(image >= N // 2)


def a_campaign_of_two_types(client: TestClient) -> Campaign:
    """A campaign with a model, in which six people see the images in one way and six in another."""
    owner = an_account()
    campaign = a_campaign(
        owner, a_collection(owner, N), budget=PEOPLE * ANSWERS, grid_size=SIZE, rounds=1,
        grids_per_assignment=ANSWERS, settings={"n_dimensions": 2},
        annotation={"show_instructions": False, "descriptions": "none"},
    )  # fmt: skip
    for who in range(PEOPLE):
        opened = a_session(client, campaign, f"annotator-{who:06d}")
        for _ in range(ANSWERS):
            lease = a_lease(client, opened)
            groups = [seen_group(who, shown["image"]) for shown in lease["images"]]
            sent = submit(client, opened, lease, groups=groups, descriptions=[])
            assert sent.status_code == 200, sent.text
    run_job()
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return campaign


@pytest.fixture
def campaign(client: TestClient) -> Campaign:
    return a_campaign_of_two_types(client)


def test_types_are_shown_compared_and_exported(client: TestClient, campaign: Campaign) -> None:
    base = f"/api/v1/campaigns/{campaign.id}"
    types = client.get(f"{base}/models/1/annotator-types").json()
    assert types["n_types"] == 2
    assert types["p"] < 0.01
    assert sum(types["sizes"]) + types["unclear"] == PEOPLE
    division = types["divisions"][0]
    assert (division["by"], [group["name"] for group in division["groups"]]) == (
        "type", ["Type 1", "Type 2"],
    )  # fmt: skip
    reply = client.get(f"{base}/models/1/group-comparison?by=type&group=Type 1&against=Type 2")
    compared = reply.json()
    assert reply.status_code == 200, reply.text
    assert compared["p"] is None
    assert compared["comparison"]["disparity"]["value"] > 0.3
    assert compared["differences"]["n_compared"] > 0
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/annotators.csv").text)))
    kinds = {row["type"] for row in rows if int(row["annotator"]) % 2 == 0 and row["type"]}
    others = {row["type"] for row in rows if int(row["annotator"]) % 2 and row["type"]}
    assert len(kinds) == len(others) == 1
    assert kinds != others
    exported = client.get(f"{base}/export/type_dissimilarities.npz")
    arrays = np.load(io.BytesIO(exported.content))
    assert arrays["types"].tolist() == ["Type 1", "Type 2"]
    assert arrays["dissimilarities"].shape == (2, N * (N - 1) // 2)


def test_unknown_groups_are_refused(client: TestClient, campaign: Campaign) -> None:
    base = f"/api/v1/campaigns/{campaign.id}/models/1/group-comparison"
    assert client.get(f"{base}?by=type&group=Type 9").status_code == 422
    assert client.get(f"{base}?by=question&key=none&group=x").status_code == 404
    assert client.get(f"{base}?by=other&group=x").status_code == 422


def test_read_only_visitors_learn_nothing_about_types() -> None:
    for part in ("annotator-types", "group-comparison"):
        path = f"/api/v1/campaigns/019a0000-0000-7000-8000-000000000000/models/1/{part}"
        assert not is_allowed(path)
