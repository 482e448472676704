"""Campaigns that ask about a part of their images: grids, results, plans, archives and maps."""

import csv
import io
import json
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select

from app.accounts.models import Account
from app.campaigns.models import IMPORTED_ROUND, Campaign, Grid, Round
from app.core.database import transaction
from app.core.storage import put_object
from app.features.reading import read_set
from app.jobs.models import Job
from app.results import suggested
from learning.feature_map import feature_map
from testbed.builders import (
    a_campaign,
    a_collection,
    a_draft,
    reloaded,
)
from tests.app.test_annotation import a_session
from tests.support.answer_files import bring as import_lines
from tests.support.answer_files import by_colour
from tests.support.archives import archive_of, bring, packed, unpacked
from tests.support.asked import (
    M,
    N,
    a_partial_campaign,
    act,
    answer_all,
    asked_of,
    choose,
    learn,
    progress,
    shown_in,
)


def test_all_rounds_show_only_asked_images_and_all_images_get_places(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    who = a_session(client, campaign)
    for _ in range(2):
        answer_all(client, who, 20)
        learn()
    assert reloaded(campaign.id).state == "finished"
    assert shown_in(campaign) <= set(asked_of(campaign))
    table = client.get(f"/api/v1/campaigns/{campaign.id}/export/embedding.csv").text
    assert len(list(csv.reader(io.StringIO(table)))) == N + 1


def test_plans_count_only_asked_images(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, N)
    whole = a_draft(owner, collection, budget=100)
    part = a_draft(owner, collection, budget=100, ask_about=M)

    def views(campaign: Campaign) -> float:
        plan = client.get(f"/api/v1/campaigns/{campaign.id}/plan").json()
        return float(plan["effort"]["views_per_image"])

    assert views(part) == pytest.approx(3 * views(whole))
    dry_run = client.post(f"/api/v1/campaigns/{part.id}/dry-runs", json={}).json()["dry_run"]
    assert (dry_run["n_images"], dry_run["n_simulated"]) == (M, M)


def test_rounds_of_campaigns_about_all_images_are_as_ever(owner: Account) -> None:
    campaign = a_campaign(owner, a_collection(owner, N))
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Round)) == 1
        assert session.scalar(select(func.count()).select_from(Job)) == 0
    assert asked_of(campaign) == []
    assert np.all(np.array(sorted(shown_in(campaign))) < N)


def test_a_started_campaign_whose_part_is_unknown_never_draws_from_all(owner: Account) -> None:
    from app.campaigns.rounds import open_first_round

    campaign = a_partial_campaign(owner)
    with pytest.raises(ValueError, match="not chosen yet"), transaction() as session:
        open_first_round(session, session.get_one(Campaign, campaign.id))


def archived(client: TestClient, campaign: Campaign) -> Campaign:
    reply = bring(client, archive_of(client, campaign))
    assert reply.status_code == 201, reply.text
    return reloaded(UUID(reply.json()["id"]))


def test_archives_have_the_asked_images(client: TestClient, owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    copy = archived(client, campaign)
    assert (copy.state, copy.ask_about, copy.ask_by) == ("paused", M, "grey")
    assert asked_of(copy) == asked_of(campaign)
    act(owner, copy, "resume")
    assert progress(client, copy)["choosing"] is None


def test_an_archive_made_before_the_choice_chooses_when_it_is_resumed(
    client: TestClient, owner: Account
) -> None:
    copy = archived(client, a_partial_campaign(owner))
    with transaction() as session:
        session.execute(delete(Job))
    act(owner, copy, "resume")
    choose()
    assert len(asked_of(copy)) == M
    assert shown_in(copy) <= set(asked_of(copy))


@pytest.mark.parametrize("wrong", ["too few", "beyond", "none"])
def test_archives_with_other_images_are_refused(
    client: TestClient, owner: Account, wrong: str
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    members = unpacked(archive_of(client, campaign))
    name = "tables/asked_image.jsonl"
    lines = members[name].decode().splitlines()
    row = json.loads(lines[-1])
    changed = {
        "too few": lines[:-1],
        "beyond": [*lines[:-1], json.dumps({**row, "position": N})],
        "none": [],
    }[wrong]
    members[name] = "".join(f"{line}\n" for line in changed).encode()
    reply = bring(client, packed(members))
    assert reply.status_code == 422, reply.text


def test_a_map_by_features_is_there_before_the_first_answer(
    client: TestClient, owner: Account
) -> None:
    campaign = a_partial_campaign(owner)
    address = f"/api/v1/campaigns/{campaign.id}/feature-map"
    assert client.get(address).json() == {"by": "grey", "images": N, "points": []}
    choose()
    reply = client.get(address).json()
    assert {point["image"] for point in reply["points"]} == set(range(N))
    assert [point["image"] for point in reply["points"] if point["asked"]] == asked_of(campaign)
    with transaction() as session:
        read = read_set(session, session.get_one(Campaign, campaign.id), "grey")
    places = feature_map(read().values)
    for point in reply["points"]:
        assert (point["x"], point["y"]) == pytest.approx(places[point["image"]], abs=1e-4)


def test_a_large_map_shows_an_even_part_of_the_others(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    monkeypatch.setattr(suggested, "MOST_PLACED", 30)
    points = client.get(f"/api/v1/campaigns/{campaign.id}/feature-map").json()["points"]
    assert len({point["image"] for point in points}) == 30
    assert sum(point["asked"] for point in points) == M


@pytest.mark.parametrize("damaged", [b"", b"x" * 20])
def test_a_damaged_map_is_none(client: TestClient, owner: Account, damaged: bytes) -> None:
    campaign = a_partial_campaign(owner)
    choose()
    put_object(f"maps/{campaign.id}/features.safetensors", damaged)
    assert client.get(f"/api/v1/campaigns/{campaign.id}/feature-map").json()["points"] == []


def test_answers_imported_before_the_choice_are_learned_and_open_no_round(owner: Account) -> None:
    campaign = a_partial_campaign(owner)
    assert import_lines(campaign, by_colour(60)).is_learning
    learn()
    assert shown_in_rounds(campaign) == set()
    choose()
    assert shown_in_rounds(campaign)
    assert shown_in_rounds(campaign) <= set(asked_of(campaign))


def shown_in_rounds(campaign: Campaign) -> set[int]:
    """Images in grids that people are asked about."""
    with transaction() as session:
        query = select(func.unnest(Grid.images)).join(Round, Round.id == Grid.round_id)
        query = query.where(Grid.campaign_id == campaign.id, Round.number != IMPORTED_ROUND)
        return set(session.scalars(query))
