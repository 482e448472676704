"""Strips of the axes, evidence for neighbours, and two models compared."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from learning.groupings import from_answers
from testbed.builders import a_campaign, a_png, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import INSIGHT, a_campaign_with_model, a_model

RNG = np.random.default_rng(0)


# --- strips ----------------------------------------------------------------------------------


def test_images_are_spread_evenly_along_each_attribute(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    vectors = RNG.normal(size=(30, 3))
    attributes = [{**attribute, "middle": ["green"]} for attribute in INSIGHT["attributes"]]
    a_model(campaign, vectors, {**INSIGHT, "attributes": attributes})
    axes = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/axes").json()["items"]
    assert [(axis["kind"], axis["index"], axis["share"]) for axis in axes] == [
        ("attribute", 0, 0.6),
        ("attribute", 2, 0.4),
    ]
    first = axes[0]
    assert (first["low"], first["middle"], first["high"]) == (
        ["=cmd()", "red"],
        ["green"],
        ["blue"],
    )
    ranked = np.argsort(vectors[:, 0]).tolist()
    ranks = [ranked.index(image["image"]) for image in first["images"]]
    assert len(ranks) == 21
    assert (ranks[0], ranks[-1]) == (0, 29)
    assert set(np.diff(ranks)) <= {1, 2}
    assert sum(first["counts"]) == 30
    assert first["counts"][0] >= 1
    assert first["ends"] == pytest.approx([vectors[:, 0].min(), vectors[:, 0].max()], abs=1e-6)
    assert client.get(first["images"][0]["large_url"]).status_code == 200


def test_a_model_without_attributes_shows_its_main_directions(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    flat = RNG.normal(size=(30, 2)) * [10, 1]
    turn = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])
    a_model(campaign, flat @ turn)
    axes = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/axes").json()["items"]
    kinds = {axis["kind"] for axis in axes}
    assert kinds == {"direction"}
    assert axes[0]["share"] > 0.9
    order = np.argsort(flat[:, 0])
    ends = {axes[0]["images"][0]["image"], axes[0]["images"][-1]["image"]}
    assert ends & {int(order[0]), int(order[-1])}
    assert axes[0]["low"] == []


# --- evidence --------------------------------------------------------------------------------


def answered(client: TestClient) -> Campaign:
    """A campaign whose answers have leftovers, unseen images, and an annotator left out."""
    owner = an_account()
    campaign = a_campaign_with_model(owner, grid_size=12, budget=12, answers_per_grid=3)
    for k in range(3):
        who = a_session(client, campaign, f"annotator-{k:06d}")
        for _ in range(4):
            lease = a_lease(client, who)
            groups = RNG.integers(-1, 3, 12).tolist()
            # Numbered as they are used, from 0 on.
            used = sorted({group for group in groups if group >= 0})
            dense = [used.index(group) if group >= 0 else -1 for group in groups]
            words = [f"word {group} of {k}" for group in range(len(used))]
            unseen = [lease["images"][0]["image"]] if k == 1 else []
            reply = submit(client, who, lease, groups=dense, descriptions=words, unseen=unseen)
            assert reply.status_code == 200, reply.text
    sign_in(client, owner)
    reply = client.post(f"/api/v1/campaigns/{campaign.id}/annotators/2/actions/leave_out")
    assert reply.status_code == 204
    return campaign


def by_hand(campaign: Campaign) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Pairs together and apart by the pair rule of the learning systems."""
    query = (
        select(Grid.images, Answer.groups, Answer.unseen)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id, Annotator.left_out_at.is_(None))
    )
    together: Counter[tuple[int, int]] = Counter()
    apart: Counter[tuple[int, int]] = Counter()
    with transaction() as session:
        for images, groups, unseen in session.execute(query):
            seen = [(i, g) for i, g in zip(images, groups or [], strict=True) if i not in unseen]
            answers = from_answers([[i for i, _ in seen]], [[g for _, g in seen]], [0], 30, 1)
            pairs = answers.pairs()
            for i, j, same in zip(pairs.i, pairs.j, pairs.same, strict=True):
                for pair in ((int(i), int(j)), (int(j), int(i))):
                    (together if same else apart)[pair] += 1
    return together, apart


def test_neighbours_come_with_the_answers_that_speak_of_them(client: TestClient) -> None:
    campaign = answered(client)
    together, apart = by_hand(campaign)
    assert sum(together.values()) > 50
    path = f"/api/v1/campaigns/{campaign.id}/models/1/neighbours"
    never = 0
    for image in range(30):
        neighbours = client.get(path, params={"image": image, "k": 29}).json()["neighbours"]
        for near in neighbours:
            pair = (image, near["image"])
            assert (near["together"], near["apart"]) == (together[pair], apart[pair]), pair
            assert near["annotators"] <= 2
            never += near["together"] + near["apart"] == 0
    assert never > 0


def test_evidence_lists_the_answers_with_words_and_playback(client: TestClient) -> None:
    campaign = answered(client)
    together, apart = by_hand(campaign)
    base = f"/api/v1/campaigns/{campaign.id}"
    records = {
        record["answer"]: record
        for record in map(json.loads, client.get(f"{base}/export/answers.jsonl").text.splitlines())
    }
    image, other = max(together, key=lambda pair: together[pair] + apart[pair])
    evidence = client.get(f"{base}/evidence", params={"image": image, "other": other}).json()
    counts = (together[image, other], apart[image, other])
    assert (evidence["together"], evidence["apart"]) == counts
    assert len(evidence["answers"]) == sum(counts) >= 2
    assert (evidence["image"]["image"], evidence["other"]["image"]) == (image, other)
    for answer in evidence["answers"]:
        record = records[answer["id"]]
        mine, its = (record["groups"][record["images"].index(at)] for at in (image, other))
        assert answer["verdict"] == ("together" if mine == its else "apart")
        words = [record["descriptions"][group] if group >= 0 else "" for group in (mine, its)]
        assert answer["words"] == words
        assert answer["annotator"] == record["annotator"] != 2
        replay = client.get(f"{base}/answers/{answer['id']}").json()
        assert replay["images"] == record["images"]
        assert len(replay["replay"]["urls"]) == len(record["images"])
    for wrong in ({"image": 0, "other": 30}, {"image": 3, "other": 3}):
        assert client.get(f"{base}/evidence", params=wrong).status_code == 422


def test_a_replay_belongs_to_its_campaign(client: TestClient) -> None:
    campaign = answered(client)
    with transaction() as session:
        answer = session.scalars(select(Answer.id)).first()
    stranger = an_account("eve@example.org")
    own = a_campaign(stranger)
    sign_in(client, stranger)
    for where in (campaign, own):
        reply = client.get(f"/api/v1/campaigns/{where.id}/answers/{answer}")
        assert reply.status_code == 404


# --- comparison ------------------------------------------------------------------------------


def test_a_turned_model_is_the_same_and_the_moved_image_is_named(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    vectors = RNG.normal(size=(30, 2)) * [2, 1]
    a_model(campaign, vectors)
    a_model(campaign, 5 * vectors[:, ::-1] + 3, version=2)
    moved = vectors.copy()
    moved[7] += 4
    a_model(campaign, moved, version=3)
    path = f"/api/v1/campaigns/{campaign.id}/models/1/comparison"
    same = client.get(path, params={"other_version": 2}).json()
    assert same["disparity"]["value"] == pytest.approx(0, abs=1e-6)
    assert same["overlap"]["value"] == 1
    assert same["disparity"]["chance"] > 0.8
    assert (same["n_images"], same["matched_by"], same["k"]) == (30, "position", 10)
    changed = client.get(path, params={"other_version": 3, "k": 5}).json()
    assert changed["points"][0]["image"] == 7
    assert changed["k"] == 5
    assert 0 < changed["disparity"]["value"] < changed["disparity"]["chance"]
    assert max(abs(point[at]) for point in changed["points"] for at in ("x", "other_x")) <= 1
    assert client.get(path, params={"other_version": 4}).status_code == 404


def test_campaigns_over_other_collections_are_matched_by_content_and_name(
    client: TestClient, owner: Account
) -> None:
    """The other collection has the images in reverse, ten of them changed but with their names,
    and five under new names with new content."""
    campaign = a_campaign(owner)
    files = [
        (
            f"{'new' if k < 5 else 'image'}-{k:03d}.png",
            a_png(1000 + k if k < 15 else k),
        )
        for k in reversed(range(30))
    ]
    with transaction() as session:
        collection = create_collection(session, owner, "Reversed")
        add_files(session, owner, collection, files)
    other = a_campaign(owner, collection)
    vectors = RNG.normal(size=(30, 2))
    a_model(campaign, vectors)
    a_model(other, vectors[::-1])
    path = f"/api/v1/campaigns/{campaign.id}/models/1/comparison"
    query: dict[str, Any] = {"other_campaign": str(other.id), "other_version": 1}
    comparison = client.get(path, params=query).json()
    assert (comparison["n_images"], comparison["matched_by"]) == (25, "content and file name")
    assert comparison["disparity"]["value"] == pytest.approx(0, abs=1e-6)


def test_nothing_is_compared_with_a_strangers_campaign(client: TestClient, owner: Account) -> None:
    hidden: Any = a_campaign(an_account("eve@example.org"))
    a_model(hidden, RNG.normal(size=(30, 2)))
    campaign = a_campaign(owner)
    a_model(campaign, RNG.normal(size=(30, 2)))
    path = f"/api/v1/campaigns/{campaign.id}/models/1/comparison"
    query: dict[str, Any] = {"other_campaign": str(hidden.id), "other_version": 1}
    assert client.get(path, params=query).status_code == 404
    a_model(campaign, np.zeros((30, 2)), version=2)
    flat = client.get(path, params={"other_version": 2})
    assert (flat.status_code, flat.json()["code"]) == (422, "no_comparison")
