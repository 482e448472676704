"""Types of annotators in a campaign: the training stores them, pages and exports show them."""

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.models import Annotator
from app.archive.errors import DamagedArchive
from app.archive.readable import check_readable
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.core.storage import get_object, has_object, put_object
from app.core.visits import is_allowed
from app.jobs.service import SPLIT_HALF
from app.results import annotator_types, split_half, type_routes
from app.results.models import Model
from app.strategies.annotator_types import FILE, StoredTypes
from learning.groupings import Groupings
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.app.test_split_half import states
from tests.support.asked import claimed

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
    # The comparison of halves that comes with them is not of interest here.
    given = split_half._read(campaign.id)
    assert given is not None
    split_half._store_types(given)
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
        model = session.scalars(select(Model)).one()
        address = f"{model.artifact_key}/{FILE}"
        if has_object(address):
            # Few answers to random grids do not always divide everyone.
            put_object(address, with_planted_types(get_object(address)))
    return campaign


def with_planted_types(stored: bytes) -> bytes:
    types = StoredTypes.from_bytes(stored)
    planted = np.arange(len(types)) % 2
    return replace(
        types, type=planted, probability=np.ones(len(types)), p_values=np.array([0.001, 0.5])
    ).to_bytes()


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
    values = {
        "campaign_id": "019a0000-0000-7000-8000-000000000000",
        "version": "1",
    }
    paths = [route.path for route in type_routes.api.routes if isinstance(route, APIRoute)]
    assert len(paths) == 2
    for path in paths:
        assert not is_allowed(path.format(**values)), path


def test_a_failure_of_types_loses_nothing_else(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(groupings: Groupings, seed: int) -> StoredTypes:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(split_half, "types_of", fail)
    campaign = a_campaign_of_two_types(client)
    job = claimed(SPLIT_HALF)
    split_half.run_split_half(campaign.id, job.id, job.epoch)
    assert states(campaign) == ["done"]
    base = f"/api/v1/campaigns/{campaign.id}"
    types = client.get(f"{base}/models/1/annotator-types")
    assert (types.status_code, types.json()["n_types"]) == (200, None)
    assert "no types of annotators" in caplog.text
    assert "Singular matrix" in caplog.text


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_damaged_types_leave_pages_and_refuse_an_archive(
    client: TestClient, campaign: Campaign, content: bytes
) -> None:
    base = f"/api/v1/campaigns/{campaign.id}"
    with transaction() as session:
        model = session.scalars(select(Model)).one()
        put_object(f"{model.artifact_key}/{FILE}", content)
    assert client.get(f"{base}/models/1/annotator-types").json()["n_types"] is None
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/export/annotators.csv").text)))
    assert {row["type"] for row in rows} == {""}
    with transaction() as session, pytest.raises(DamagedArchive, match="types of annotators"):
        check_readable(session, session.get_one(Campaign, campaign.id))


def leave_out(campaign: Campaign, kept: set[int]) -> None:
    with transaction() as session:
        session.execute(
            update(Annotator)
            .where(Annotator.campaign_id == campaign.id, Annotator.position.not_in(kept))
            .values(left_out_at=func.now())
        )


def test_a_type_with_too_few_answers_has_a_row_of_nan(
    client: TestClient, campaign: Campaign
) -> None:
    base = f"/api/v1/campaigns/{campaign.id}"
    even = {who for who in range(PEOPLE) if who % 2 == 0}
    leave_out(campaign, {*even, 1})
    divisions = client.get(f"{base}/models/1/annotator-types").json()["divisions"]
    sizes = next(each for each in divisions if each["by"] == "type")["groups"]
    assert sorted(group["people"] for group in sizes) == [1, len(even)]
    exported = client.get(f"{base}/export/type_dissimilarities.npz")
    assert exported.status_code == 200, exported.text
    rows = np.load(io.BytesIO(exported.content))["dissimilarities"]
    assert sorted(np.isnan(rows).all(axis=1).tolist()) == [False, True]


def test_types_without_anyone_to_learn_from_are_refused(
    client: TestClient, campaign: Campaign
) -> None:
    leave_out(campaign, set())
    base = f"/api/v1/campaigns/{campaign.id}"
    path = f"{base}/models/1/group-comparison?by=type&group=Type 1&against=Type 2"
    assert client.get(path).status_code == 404
    with transaction() as session, pytest.raises(InvalidInput, match="no answers to learn from"):
        annotator_types.learned_answers(session, session.get_one(Campaign, campaign.id))


def test_groups_that_put_all_images_in_one_place_cannot_be_compared(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        annotator_types, "learned_positions", lambda own, seed: (np.ones((N, 2)), 0.0)
    )
    path = f"/api/v1/campaigns/{campaign.id}/models/1/group-comparison"
    reply = client.get(f"{path}?by=type&group=Type 1&against=Type 2")
    assert reply.status_code == 422
    assert reply.json()["code"] == "no_comparison"


STORED = StoredTypes(
    np.array([0, 1, -1]), np.array([1.0, 0.9, 0.0]), np.zeros((3, 2)), np.array([4, 3, 0]),
    np.array([0.001]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("type", np.array([0, 1, -2])),
        ("type", np.array([0, 1, 2**40])),
        ("probability", np.array([0.0, 0.5, 1.5])),
        ("probability", np.array([0.0, 0.5, np.nan])),
        ("scores", np.full((3, 2), np.inf)),
        ("n_answers", np.array([4, 3, -1])),
        ("p_values", np.array([-0.1])),
        ("p_values", np.array([[0.1]])),
        ("p_values", np.array([])),
    ],
)
def test_impossible_types_are_not_read(name: str, values: NDArray[Any]) -> None:
    assert StoredTypes.from_bytes(STORED.to_bytes()).n_types == 2
    with pytest.raises(ValueError, match=name):
        StoredTypes.from_bytes(replace(STORED, **{name: values}).to_bytes())
