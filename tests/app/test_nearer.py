"""Campaigns in which people choose which of two images is nearer to a third one."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.kinds import get_kind
from app.kinds.known import BadKnownAnswers, Row
from app.kinds.odd_one_out import ODD, TOGETHER
from app.results.evidence import count_evidence
from learning.quality import deserves, evidence, verdict
from learning.simulation import FeatureCrowd
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit

KIND = get_kind("nearer")


def a_campaign_of_choices(**plan: Any) -> Campaign:
    owner = an_account()
    values = {"kind": "nearer", "grid_size": 3, "budget": 20, **plan}
    return a_campaign(owner, a_collection(owner, 24), grids_per_assignment=200, **values)


def near_to_first(images: list[int]) -> list[int]:
    """The one whose number is nearer to that of the first."""
    gaps = [abs(image - images[0]) for image in images[1:]]
    return [TOGETHER, TOGETHER, ODD] if gaps[0] <= gaps[1] else [TOGETHER, ODD, TOGETHER]


def export(client: TestClient, campaign: Campaign, name: str) -> str:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return client.get(f"/api/v1/campaigns/{campaign.id}/export/{name}").text


def test_only_the_first_image_is_an_anchor(client: TestClient) -> None:
    campaign = a_campaign_of_choices()
    who = a_session(client, campaign)
    expected = []
    for _ in range(20):
        lease = a_lease(client, who)
        images = [shown["image"] for shown in lease["images"]]
        groups = near_to_first(images)
        far = groups.index(ODD)
        expected.append((images[0], images[3 - far], images[far]))
        reply = submit(client, who, lease, groups=groups, descriptions=[])
        assert reply.json()["status"] == "stored", reply.text
    rows = list(csv.reader(io.StringIO(export(client, campaign, "triplets.csv"))))[1:]
    assert sorted(tuple(map(int, row)) for row in rows) == sorted(expected)


def test_what_nobody_compared_is_no_evidence(client: TestClient) -> None:
    campaign = a_campaign_of_choices(budget=1)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    first, near, far = (shown["image"] for shown in lease["images"])
    answer = [TOGETHER, TOGETHER, ODD]
    assert submit(client, who, lease, groups=answer, descriptions=[]).status_code == 200
    pairs = list(csv.DictReader(io.StringIO(export(client, campaign, "pairs.csv"))))
    known = {(int(row["i"]), int(row["j"])): row["same"] for row in pairs}
    assert known == {(first, near): "1", (first, far): "0"}
    with transaction() as session:
        stored = session.get_one(Campaign, campaign.id)
        counts = count_evidence(session, stored, far, [first, near])
    assert (counts[first].together, counts[first].apart) == (0, 1)
    assert near not in counts or counts[near].apart == 0


@pytest.mark.parametrize("groups", [[1, 0, 0], [0, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, -1]])
def test_an_answer_that_is_not_about_the_first_image_is_refused(
    client: TestClient, groups: list[int]
) -> None:
    who = a_session(client, a_campaign_of_choices())
    lease = a_lease(client, who)
    refused = submit(client, who, lease, groups=groups, descriptions=[])
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_groups")
    assert "the first image and the one that is nearer to it in group 0" in refused.json()["detail"]
    assert submit(client, who, lease, groups=[0, 1, 0], descriptions=[]).status_code == 200


def test_asking_again_keeps_the_image_that_the_others_are_compared_with(
    client: TestClient,
) -> None:
    campaign = a_campaign_of_choices(annotation={"repeat_share": 0.2}, budget=200)
    who = a_session(client, campaign)
    for _ in range(80):
        lease = a_lease(client, who)
        groups = near_to_first([shown["image"] for shown in lease["images"]])
        submit(client, who, lease, groups=groups, descriptions=[])
    with transaction() as session:
        repeats = session.scalars(select(Grid).where(Grid.role == "repeat")).all()
        originals = [session.get_one(Grid, grid.repeats) for grid in repeats]
        agreed = session.scalars(
            select(Answer.agreement).join(Grid, Answer.grid_id == Grid.id).where(
                Grid.role == "repeat", Answer.submitted_at.is_not(None)
            )
        ).all()  # fmt: skip
    assert len(repeats) >= 5
    assert all(a.images[0] == b.images[0] for a, b in zip(repeats, originals, strict=True))
    assert any(a.images != b.images for a, b in zip(repeats, originals, strict=True))
    assert set(agreed) == {1.0}


def test_known_answers_never_begin_with_the_image_that_is_apart() -> None:
    values = {"red": [0, 1, 2], "blue": [3], "green": [4, 5]}
    rng = np.random.default_rng(0)
    places = []
    for _ in range(60):
        known = KIND.known_from_values(values, "", 3, 2, rng)
        colour_of = {image: value for value, images in values.items() for image in images}
        colours = [colour_of[image] for image in known.images]
        odd = known.truth.index(ODD)
        near = 3 - odd
        assert colours[0] == colours[near] != colours[odd]
        assert KIND.problem_of(known.truth) is None
        places.append(odd)
    assert set(places) == {1, 2}


def test_a_list_of_known_answers_begins_with_the_image_to_compare_with() -> None:
    good = {"a": [Row(0, "x", 1), Row(1, "y", 2), Row(2, "x", 3)]}
    (known,) = KIND.known_from_table(good, 2)
    assert (known.images, known.truth) == ([0, 1, 2], [TOGETHER, ODD, TOGETHER])
    bad = {"a": [Row(0, "y", 1), Row(1, "x", 2), Row(2, "x", 3)]}
    with pytest.raises(BadKnownAnswers, match="first image of grid 'a'"):
        KIND.known_from_table(bad, 2)


@pytest.mark.parametrize(("right", "stopped"), [(0.8, (0.0, 0.02)), (0.5, (0.9, 1.0))])
def test_honest_people_are_not_stopped_and_who_guesses_is(
    right: float, stopped: tuple[float, float]
) -> None:
    rng = np.random.default_rng(0)
    n = KIND.checks_needed.stop
    ends = []
    for _ in range(2_000):
        given = [[0, 0, 1] if good else [0, 1, 0] for good in rng.random(n) < right]
        found = [KIND.agreement([0, 0, 1], groups) for groups in given]
        checks = evidence([each for each in found if each is not None])
        judged = verdict(checks, 100, 0, KIND.checks_needed)
        ends.append(deserves(judged, checks, 0, KIND.checks_needed) == "stop")
    assert stopped[0] <= np.mean(ends) <= stopped[1]


def test_simulated_people_choose_what_is_near() -> None:
    points = np.random.default_rng(0).random((60, 2))
    crowd = FeatureCrowd(points, 4, 0.0)
    rng = np.random.default_rng(1)
    right = []
    for _ in range(300):
        trio = rng.choice(60, 3, replace=False).tolist()
        groups = KIND.simulate(crowd, 0, trio, 2).groups.tolist()
        assert KIND.problem_of(groups) is None
        gaps = np.linalg.norm(points[trio[1:]] - points[trio[0]], axis=1)
        right.append(groups[1 + int(gaps.argmin())] == TOGETHER)
    assert np.mean(right) > 0.65
