"""Kinds of task: what each must hold, and that one more needs no change of the product."""

import re
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.kinds import Kind, all_kinds
from app.kinds.base import _kinds
from app.kinds.known import BadKnownAnswers, Row
from app.kinds.votes import VoteKind
from app.results.service import get_model
from app.strategies import all_strategies, get_strategy, kinds_of
from learning.simulation import AttributeCrowd, Crowd
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job
from tests.support.toy_kind import PairsKind

N = 40
VALUES = {"red": list(range(20)), "blue": list(range(20, N))}
KINDS = [kind.with_classes(("red", "blue")) for kind in (*all_kinds(), PairsKind())]
of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def a_crowd(kind: Kind) -> Crowd:
    colours = ["red" if image < 20 else "blue" for image in range(N)]
    if isinstance(kind, VoteKind):
        return kind.crowd(kind.truth_from(colours, "colour", "red"), 1, 0.0, 0.0, 0)
    return AttributeCrowd.from_table({"colour": colours}, 1, noise=0.0)


def as_table(kind: Kind, truth: list[int]) -> list[Row]:
    names = kind.group_names if kind.choices else ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
    return [Row(image, names[group], image + 2) for image, group in enumerate(truth)]


@of_every_kind
def test_known_answers_from_an_attribute_are_answers_that_agree_with_themselves(kind: Kind) -> None:
    if kind.grid_size < 3:
        return
    for seed in range(10):
        rng = np.random.default_rng(seed)
        known = kind.known_from_values(VALUES, "red", kind.grid_size, kind.max_groups, rng)
        assert len(set(known.images)) == len(known.truth) == kind.grid_size
        assert kind.problem_of(known.truth) is None
        assert set(known.truth) <= set(range(kind.n_groups(kind.max_groups)))
        same = kind.agreement(known.truth, known.truth)
        assert same is not None
        assert same.value == pytest.approx(1)
        read = kind.known_from_table({"1": as_table(kind, known.truth)}, kind.max_groups)
        again = kind.agreement(known.truth, read[0].truth)
        assert again is not None
        assert again.value == pytest.approx(1)


@of_every_kind
def test_known_answers_that_cannot_be_are_refused(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(BadKnownAnswers, match="Known answers need"):
        kind.known_from_values({"red": [1]}, "red", kind.grid_size, kind.max_groups, rng)
    with pytest.raises(BadKnownAnswers, match="Grid 'one'"):
        kind.known_from_table({"one": as_table(kind, [0, 0, 0])}, kind.max_groups)


@of_every_kind
def test_people_who_answer_at_random_agree_with_nothing_on_average(kind: Kind) -> None:
    if kind.grid_size < 3:
        return
    rng = np.random.default_rng(1)
    known = kind.known_from_values(VALUES, "red", kind.grid_size, kind.max_groups, rng)
    found = [
        kind.agreement(known.truth, kind.in_another_order(known.truth, rng)) for _ in range(400)
    ]
    values = [one.value for one in found if one is not None]
    deviations = [one.chance for one in found if one is not None]
    assert abs(np.mean(values)) < 4 * np.std(values) / 20
    assert np.std(values) == pytest.approx(np.mean(deviations), rel=0.2)


@of_every_kind
def test_simulated_answers_are_answers(kind: Kind) -> None:
    crowd = a_crowd(kind)
    rng = np.random.default_rng(0)
    for _ in range(20):
        images = rng.permutation(N)[: kind.grid_size].tolist()
        answer = kind.simulate(crowd, 0, images, kind.max_groups)
        groups = answer.groups.tolist()
        assert len(groups) == len(images)
        assert set(groups) <= set(range(-1, kind.n_groups(kind.max_groups)))
        assert kind.problem_of(groups) is None
        assert groups == kind.simulate(crowd, 0, images, kind.max_groups).groups.tolist()


@of_every_kind
def test_a_kind_suggests_a_strategy_that_can_learn_from_it(kind: Kind) -> None:
    assert get_strategy(kind.strategy).learns_from == kind.form


def test_each_strategy_learns_from_a_kind_and_first_from_those_it_is_suggested_for() -> None:
    first = {strategy.name: kinds_of(strategy)[0].name for strategy in all_strategies()}
    assert first == {"cen": "grid", "crowdster": "bins", "scdc": "grid", "neucrowd": "select"}


@pytest.mark.parametrize("kind", list(all_kinds()), ids=lambda kind: kind.name)
def test_the_page_of_a_campaign_has_its_kinds_script_alone(kind: Kind, client: TestClient) -> None:
    campaign = a_campaign(kind="grid", grid_size=4)
    with transaction() as session:
        session.get_one(Campaign, campaign.id).kind = kind.name
    page = client.get(annotator_link(campaign, "")).text
    scripts = re.findall(r'<script [^>]*src="([^"]+)"', page)
    # A build names its files NAME-HASH.js, and a hash of eight characters may hold a dash.
    names = [re.sub(r"-[\w-]{8}\.js$", "", script.rsplit("/", 1)[-1]) for script in scripts]
    assert names == ["head-start", f"annotator-{kind.interface}"]


def test_an_unknown_kind_is_refused(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner)
    sign_in(client, owner)
    body = {"collection_id": str(collection.id), "name": "A", "kind": "heap"}
    refused = client.post("/api/v1/campaigns", json=body)
    assert refused.status_code == 422
    names = "grid, bins, odd_one_out, nearer, select, classify, labels"
    assert f"The kind must be one of {names}, not 'heap'." in refused.text


def test_a_toy_kind_goes_through_the_whole_loop(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_kinds, PairsKind.name, PairsKind())
    owner = an_account()
    sign_in(client, owner)
    assert client.get("/api/v1/options").json()["kinds"]["toy_pairs"]["title"] == "Pairs"
    refused = client.post(
        "/api/v1/campaigns",
        json={
            "collection_id": str(a_collection(owner).id),
            "name": "A",
            "kind": "toy_pairs",
            "grid_size": 3,
        },
    )
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_grid_size")
    campaign = a_campaign(
        owner, a_collection(owner, N), kind="toy_pairs", grid_size=2, budget=80,
        grids_per_assignment=80,
    )  # fmt: skip
    assert campaign.max_groups == 2
    who = a_session(client, campaign)
    opened = client.post(
        "/api/v1/annotate/sessions",
        json={
            "link": annotator_link(campaign, "").removeprefix("/a/"),
            "annotator_key": "annotator-000001",
        },
    ).json()
    shown = opened["campaign"]
    assert (shown["kind"], shown["interface"], shown["descriptions"]) == (
        "toy_pairs",
        "bins",
        "none",
    )
    wrong = submit(client, who, a_lease(client, who), groups=[0, -1], descriptions=[])
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_groups")
    assert "Both images must be in a bin." in wrong.text
    for _ in range(80):
        lease = a_lease(client, who)
        a, b = (shown["image"] for shown in lease["images"])
        groups = [0, 0] if a % 3 == b % 3 else [0, 1]
        assert submit(client, who, lease, groups=groups, descriptions=[]).status_code == 200
    run_job()
    assert reloaded(campaign.id).state == "finished"
    with transaction() as session:
        model = get_model(session, reloaded(campaign.id))
        assert model.version == 1
        assert len(session.scalars(select(Answer.groups)).all()) == 80
    for page in ("attributes", "clusters", "exports", "annotators", "map"):
        assert client.get(f"/campaigns/{campaign.id}/{page}").status_code == 200
    assert client.get(f"/campaigns/{campaign.id}/labels").status_code == 404
    exports = client.get(f"/api/v1/campaigns/{campaign.id}/exports").json()
    names: set[Any] = {export["file"] for export in exports["files"]}
    assert {"pairs.csv", "embedding.csv"} <= names
    pairs = client.get(f"/api/v1/campaigns/{campaign.id}/export/pairs.csv").text.splitlines()
    assert len(pairs) == 81
