"""Campaigns whose annotators choose from named classes: one for each image, or several."""

import csv
import io
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid, Round
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.kinds import kind_of
from app.planning.crowd import CrowdTraits, make_crowd, read_groupings, read_images
from app.planning.dry_run import play as dry_run
from app.planning.service import design_of
from app.results.class_labels import read_class_labels
from app.results.service import get_model
from learning.class_ballots import masks_of
from learning.simulation import ClassCrowd, Crowd, TagCrowd
from testbed.builders import COLOURS, a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_crowdster_strategy import run_job

N = 48
CLASSES = list(COLOURS)
TRUTH = np.arange(N) % 3
HAS = np.stack([np.arange(N) % 2 == 0, np.arange(N) % 3 == 0, np.zeros(N, bool)], axis=1)
TAGS = ["even", "three", "never"]


def a_class_campaign(kind: str = "classify", **changes: Any) -> Campaign:
    owner = an_account()
    plan = {
        "kind": kind,
        "classes": CLASSES if kind == "classify" else TAGS,
        "strategy": "neucrowd",
        "grid_size": 12,
        "budget": 40,
        "rounds": 4,
        "ready_share": 0.0,
        "grids_per_assignment": 40,
        "learn_every": 1_000,
        **changes,
    }
    settings = {"features": "features", "effort": "quick", **plan.pop("settings", {})}
    return a_campaign(owner, a_collection(owner, n=N), settings=settings, **plan)


def a_crowd(kind: str, noise: float = 0.05) -> Crowd:
    if kind == "classify":
        return ClassCrowd.of_people(TRUTH, 3, 4, noise, random_state=1)
    return TagCrowd.of_people(HAS, 4, noise, random_state=1)


def has_open_round(campaign: Campaign) -> bool:
    with transaction() as session:
        query = select(Round.id).where(Round.campaign_id == campaign.id, Round.state == "open")
        return session.scalar(query) is not None


def answer(client: TestClient, who: dict[str, str], crowd: Crowd, person: int) -> None:
    lease = a_lease(client, who)
    images = [shown["image"] for shown in lease["images"]]
    groups = crowd.answer(person, images).groups.tolist()
    reply = submit(client, who, lease, groups=groups, descriptions=[])
    assert reply.status_code == 200, reply.text


def play(client: TestClient, campaign: Campaign, crowd: Crowd, most: int = 9) -> int:
    """Four people in turn until the campaign has ended; returns how often it was learned."""
    people = [a_session(client, campaign, f"annotator-{k:06d}") for k in range(4)]
    turn = learned = 0
    while reloaded(campaign.id).state == "running" and learned < most:
        while has_open_round(campaign):
            answer(client, people[turn % 4], crowd, turn % 4)
            turn += 1
        run_job()
        learned += 1
    return learned


def lines_of(client: TestClient, campaign: Campaign, name: str) -> list[dict[str, str]]:
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/{name}")
    assert reply.status_code == 200, reply.text
    return list(csv.DictReader(io.StringIO(reply.text)))


def owner_signed_in(client: TestClient, campaign: Campaign) -> None:
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
    sign_in(client, owner)


def test_a_campaign_with_one_class_for_each_image_ends_at_its_target(client: TestClient) -> None:
    campaign = a_class_campaign(
        budget=80, rounds=8, settings={"target": 0.93},
        annotation={"known_attribute": "colour", "gold_share": 0.3},
    )  # fmt: skip
    play(client, campaign, a_crowd("classify"))
    with transaction() as session:
        ended = session.get_one(Campaign, campaign.id)
        model = get_model(session, ended)
        labels = read_class_labels(ended, model)
    assert (ended.state, ended.n_answers < 80) == ("finished", True)
    assert model.insight is not None
    assert "The target is 93.0%." in model.insight["enough"]
    assert (labels.probability.argmax(axis=1) == TRUTH).mean() >= 0.93
    with transaction() as session:
        gold = session.scalars(
            select(Answer.agreement)
            .join(Grid)
            .where(Grid.role == "gold", Answer.state == "submitted")
        ).all()
    assert np.mean([value for value in gold if value is not None]) > 0.8

    owner_signed_in(client, campaign)
    path = f"/api/v1/campaigns/{campaign.id}/models/{model.version}"
    quality = client.get(f"{path}/class-quality").json()
    assert [shown["name"] for shown in quality["classes"]] == CLASSES
    assert sum(shown["n_images"] for shown in quality["classes"]) == N
    assert quality["gold"]["right"] >= 0.9
    assert np.array(quality["annotators"][0]["confusion"]).shape == (3, 3)
    red = client.get(f"{path}/classes", params={"label": "red", "limit": 100}).json()["items"]
    assert {image["image"] for image in red} == set(np.flatnonzero(labels.chosen()[:, 0]).tolist())
    assert red[0]["labels"] == ["red"]
    assert client.get(f"{path}/classes", params={"label": "pink"}).status_code == 422
    assert client.get(f"{path}/labels").status_code == 404
    assert client.get(f"{path}/map/labels").json()["values"] == CLASSES

    exported = lines_of(client, campaign, "labels.csv")
    given = [CLASSES[number] for number in labels.probability.argmax(axis=1)]
    assert [line["label"] for line in exported] == given
    assert float(exported[0]["probability red"]) == pytest.approx(
        labels.probability[0, 0], abs=1e-5
    )
    votes = lines_of(client, campaign, "votes.csv")
    assert {line["vote"] for line in votes} == set(CLASSES)
    assert len({(line["image"], line["annotator"]) for line in votes}) == len(votes)
    answers = lines_of(client, campaign, "answers.csv")
    assert all(line["description"] == CLASSES[int(line["group"])] for line in answers)
    voters = lines_of(client, campaign, "voters.csv")
    assert {"red for red", "green for red", "quality_dawid_skene"} <= set(voters[0])


def test_a_campaign_with_several_labels_for_each_image(client: TestClient) -> None:
    campaign = a_class_campaign("labels", budget=24, rounds=2)
    play(client, campaign, a_crowd("labels"))
    with transaction() as session:
        ended = session.get_one(Campaign, campaign.id)
        model = get_model(session, ended)
        labels = read_class_labels(ended, model)
        groups = session.scalars(select(Answer.groups)).all()
    assert max(max(of_answer or [0]) for of_answer in groups) >= 3
    assert labels.can_have_several
    assert (labels.chosen() == HAS).mean() > 0.93
    owner_signed_in(client, campaign)
    path = f"/api/v1/campaigns/{campaign.id}/models/{model.version}"
    quality = client.get(f"{path}/class-quality").json()
    assert quality["several"]
    assert len(quality["annotators"][0]["sensitivity"]) == 3
    # No image has the third label.
    assert quality["classes"][2]["expected_right"] is None
    exported = lines_of(client, campaign, "labels.csv")
    names = kind_of(ended).group_names
    assert [line["label"] for line in exported] == [
        names[mask] for mask in masks_of(labels.chosen()).tolist()
    ]
    votes = lines_of(client, campaign, "votes.csv")
    both = next(line for line in votes if line["vote"] == "even; three")
    assert (both["is even"], both["is three"], both["is never"]) == ("1", "1", "0")
    content = client.get(f"/api/v1/campaigns/{campaign.id}/export/answers.parquet").content
    table = pq.read_table(io.BytesIO(content)).to_pylist()
    assert table[0]["labels"] == [names[group] for group in table[0]["groups"]]
    line = client.get(f"/api/v1/campaigns/{campaign.id}/export/answers.jsonl").text.splitlines()[0]
    assert '"labels":[' in line
    assert client.get(f"{path}/map/labels").json()["values"][0] == "no label"
    for page in ("labels", "map", "annotators", "exports"):
        assert client.get(f"/campaigns/{campaign.id}/{page}").status_code == 200


@pytest.mark.parametrize(
    ("classes", "problem"),
    [
        (["cat"], "needs 2 to 10 classes, not 1"),
        ([], "needs 2 to 10 classes, not 0"),
        ([str(k) for k in range(11)], "10"),
        (["cat", "  "], "1 to 40 characters"),
        (["cat", "x" * 41], "1 to 40 characters"),
        (["cat", " CAT "], "Two classes are named"),
        (["cat", "dog; bird"], "can't contain ';'"),
    ],
)
def test_names_that_cannot_be_are_refused(
    client: TestClient, classes: list[str], problem: str
) -> None:
    owner = an_account()
    body = {"collection_id": str(a_collection(owner).id), "name": "A", "kind": "classify",
            "strategy": "neucrowd", "grid_size": 6, "classes": classes}  # fmt: skip
    sign_in(client, owner)
    refused = client.post("/api/v1/campaigns", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_classes")
    assert problem in refused.json()["detail"]


def test_classes_of_a_draft_change_with_its_kind(client: TestClient) -> None:
    owner = an_account()
    sign_in(client, owner)
    body = {"collection_id": str(a_collection(owner).id), "name": "A", "kind": "classify",
            "strategy": "neucrowd", "grid_size": 6, "classes": ["cat", " big  dog "]}  # fmt: skip
    made = client.post("/api/v1/campaigns", json=body).json()
    assert (made["classes"], made["max_groups"]) == (["cat", "big dog"], 2)
    path = f"/api/v1/campaigns/{made['id']}"
    more = client.patch(path, json={"classes": ["cat", "dog", "neither"]}).json()
    assert (more["classes"], more["max_groups"]) == (["cat", "dog", "neither"], 3)
    labels = client.patch(path, json={"kind": "labels"}).json()
    assert (labels["classes"], labels["max_groups"]) == (["cat", "dog", "neither"], 3)
    refused = client.patch(path, json={"max_groups": 5})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_max_groups")
    plain = client.patch(path, json={"kind": "select"}).json()
    assert (plain["classes"], plain["max_groups"]) == ([], 3)
    refused = client.patch(path, json={"classes": ["a", "b"]})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_classes")


def test_a_started_campaign_can_only_correct_names(client: TestClient) -> None:
    campaign = a_class_campaign()
    owner_signed_in(client, campaign)
    path = f"/api/v1/campaigns/{campaign.id}"
    renamed = client.patch(path, json={"classes": ["reddish", "Green", "blue"]})
    assert renamed.json()["classes"] == ["reddish", "Green", "blue"]
    for classes in (["a", "b"], ["Green", "reddish", "blue"], ["reddish", "blue", "x"]):
        refused = client.patch(path, json={"classes": classes})
        assert (refused.status_code, refused.json()["code"]) == (409, "frozen"), classes
    assert client.patch(path, json={"classes": ["a", "A", "c"]}).status_code == 422
    copy = client.post(f"{path}/clone").json()
    assert copy["classes"] == ["reddish", "Green", "blue"]


def test_names_that_known_answers_come_from_stay(client: TestClient) -> None:
    campaign = a_class_campaign(annotation={"known_attribute": "colour", "gold_share": 0.1})
    owner_signed_in(client, campaign)
    path = f"/api/v1/campaigns/{campaign.id}"
    refused = client.patch(path, json={"classes": ["reddish", "green", "blue"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "frozen")
    assert client.patch(path, json={"classes": ["RED", "green", "blue"]}).status_code == 200


@pytest.mark.parametrize(("kind", "most"), [("classify", 2), ("labels", 7)])
def test_numbers_that_stand_for_nothing_are_refused(
    client: TestClient, kind: str, most: int
) -> None:
    campaign = a_class_campaign(kind)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    refused = submit(client, who, lease, groups=[most + 1] * 12, descriptions=[])
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_groups")
    groups = [most, *[0] * 10, -1]
    assert submit(client, who, lease, groups=groups, descriptions=[]).status_code == 200
    with transaction() as session:
        stored = session.scalars(select(Answer.groups)).one()
        assert session.scalars(select(Annotator.position)).one() == 0
    assert sorted(stored or []) == sorted(groups)


def test_known_labels_from_a_list(client: TestClient) -> None:
    owner = an_account()
    collection = a_collection(owner, n=12)
    sign_in(client, owner)
    body = {"collection_id": str(collection.id), "name": "A", "kind": "labels",
            "strategy": "neucrowd", "grid_size": 6, "classes": TAGS}  # fmt: skip
    path = f"/api/v1/campaigns/{client.post('/api/v1/campaigns', json=body).json()['id']}"
    words = ["even; three", "", "even", "three", "Even;never", "never"]
    rows = [f"a,image-{k:03d}.png,{word}" for k, word in enumerate(words)]
    table = "\n".join(["grid,filename,group", *rows])
    files = {"file": ("known.csv", table)}
    added = client.post(f"{path}/known-answers", files=files)
    assert added.is_success, added.text
    with transaction() as session:
        assert session.scalars(select(Grid.truth)).one() == [3, 0, 1, 2, 5, 4]
    wrong = {"file": ("known.csv", table.replace("even; three", "even; four"))}
    refused = client.post(f"{path}/known-answers", files=wrong)
    assert refused.status_code == 422
    assert "Line 2: The group must be labels separated by ';'" in refused.json()["detail"]


@pytest.mark.parametrize("kind", ["classify", "labels"])
def test_a_dry_run_predicts_what_answers_find(environment: dict[str, str], kind: str) -> None:
    campaign = a_class_campaign(kind, classes=CLASSES)
    with transaction() as session:
        row = session.get_one(Campaign, campaign.id)
        design, table = design_of(row), read_images(session, row)
        assert read_groupings(session, row).usual == ["imagined"]
    features = np.array(table.features, np.float64)
    crowd = make_crowd(table, ["colour"], CrowdTraits(4, 0.1), kind_of(campaign))
    played = dry_run(design, crowd, 12, 0, features)
    assert played.points[-1].right > 0.85
    imagined = make_crowd(table, ["imagined"], CrowdTraits(4, 0.1), kind_of(campaign))
    assert imagined.n_images == N
    with pytest.raises(InvalidInput, match="names of classes"):
        make_crowd(table, ["colour=red"], CrowdTraits(4, 0.1), kind_of(campaign))
    others = kind_of(campaign).with_classes(["pink", "grey"])
    with pytest.raises(InvalidInput, match="These are not: 'blue', 'green', 'red'"):
        make_crowd(table, ["colour"], CrowdTraits(4, 0.1), others)
