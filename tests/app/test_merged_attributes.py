"""Learned attributes that a requester merges, and splits again."""

import csv
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from sqlalchemy import select

from app.accounts.models import Account, AuditEvent
from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.campaigns.sharing import share_campaign
from app.core.database import transaction
from app.core.storage import put_object
from app.results.answer_attributes import answer_key_of
from app.results.answers import AnswerRow, read_answers
from app.results.models import Model
from app.strategies.answer_attributes import FILE, AnswerAttributes
from testbed.builders import a_campaign, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_attribute_names import names_of, path_of, publish
from tests.app.test_insight import INSIGHT, a_campaign_with_model, a_model

RNG = np.random.default_rng(5)
TWO: dict[str, Any] = {
    "structure": "attributes",
    "none_share": 0.1,
    "attributes": [
        {
            "index": 0, "share": 0.3, "share_error": 0.03, "confidence": 0.9,
            "low": ["red", "warm"], "middle": ["pink"], "high": ["blue"],
            "example": {"images": [5, 1, 3], "groups": [1, 0, 0]},
        },
        {
            "index": 1, "share": 0.2, "share_error": 0.04, "confidence": 0.8,
            "low": ["cold"], "middle": [], "high": ["warm", "fire"],
        },
        {"index": 2, "share": 0.4, "share_error": 0.02, "low": ["big"], "high": ["small"]},
    ],
    "annotators": [
        {
            **INSIGHT["annotators"][0],
            "preference": [0.3, 0.2, 0.4],
            "used": [0.2, 0.1, None], "used_error": [0.03, 0.04, None],
        }
    ],
}  # fmt: skip


def merge(client: TestClient, campaign: Campaign, numbers: list[int], name: str = "") -> Any:
    body = {"attributes": numbers, "name": name}
    return client.post(f"{path_of(campaign)}/attributes/merge", json=body)


def split(client: TestClient, campaign: Campaign, number: int) -> Any:
    return client.delete(f"{path_of(campaign)}/attributes/{number}/merge")


def insight_of(client: TestClient, campaign: Campaign, version: int = 1) -> dict[str, Any]:
    reply = client.get(f"{path_of(campaign, version)}/insight")
    assert reply.status_code == 200, reply.text
    insight: dict[str, Any] = reply.json()
    return insight


def store_table(campaign: Campaign, attribute: Callable[[AnswerRow], int]) -> list[AnswerRow]:
    """Store which attribute each answer is about, with probability 0.8; the answers."""
    with transaction() as session:
        [partition] = read_answers(session, reloaded(campaign.id))
        rows = list(partition)
        keys = np.array([answer_key_of(row) for row in rows], np.uint64)
        order = np.argsort(keys)
        numbers = np.array([attribute(row) for row in rows], np.int16)
        table = AnswerAttributes(keys[order], numbers[order], np.full(len(rows), 0.8, np.float32))
        model = session.scalars(select(Model)).one()
        model.artifact_key = f"models/{model.id}"
        put_object(f"{model.artifact_key}/{FILE}", table.to_bytes())
    return rows


def two_lines(n: int) -> NDArray[np.float64]:
    """Two columns with one order, the second turned around, and a third with another."""
    line = np.arange(n, dtype=float)
    return np.column_stack([line, -(line**3), RNG.permutation(n)])


def a_campaign_of_two(owner: Account) -> Campaign:
    campaign = a_campaign(owner)
    a_model(campaign, two_lines(campaign.n_images), TWO)
    return campaign


def test_attributes_of_one_order_become_one_line(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_of_two(owner)
    reply = merge(client, campaign, [1, 0, 1], "  colour ")
    assert (reply.status_code, reply.json()) == (200, {"attribute": 0})
    insight = insight_of(client, campaign)
    merged, other = insight["attributes"]
    assert (merged["index"], merged["name"], merged["parts"]) == (0, "colour", [0, 1])
    assert (other["index"], other["parts"]) == (2, [])
    assert (merged["share"], merged["share_error"], merged["confidence"]) == (0.5, 0.05, 0.9)
    assert (merged["ordered"], merged["columns"], merged["clusters"]) == (True, [0], [])
    # The second part is turned around, so that its high side is the first one's low side.
    assert merged["low"] == ["red", "warm", "fire"]
    assert (merged["middle"], merged["high"]) == (["pink"], ["blue", "cold"])
    [annotator] = insight["annotators"]
    assert annotator["preference"] == [0.5, 0.0, 0.4]
    assert annotator["used"] == pytest.approx([0.3, 0.0, None])
    assert annotator["used_error"] == [0.05, 0.0, None]


def test_attributes_of_different_orders_become_clusters(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    corners = np.array([[k // 2 % 2, 9.0, k % 2] for k in range(campaign.n_images)])
    noise = RNG.normal(0, 0.01, corners.shape)
    a_model(campaign, 10 * corners + noise, TWO)
    who = a_session(client, campaign, "somebody-who-groups")
    for _ in range(6):
        submit(client, who, a_lease(client, who))
    assert merge(client, campaign, [0, 2]).json() == {"attribute": 2}
    [_, merged] = insight_of(client, campaign)["attributes"]
    assert (merged["ordered"], merged["columns"]) == (False, [2, 0])
    assert len(merged["clusters"]) == 4
    for cluster in merged["clusters"]:
        kinds = {image["image"] % 4 for image in cluster["images"]}
        assert len(kinds) == 1
    column = client.get(f"{path_of(campaign)}/map/attributes/2")
    assert column.status_code == 200
    assert client.get(f"{path_of(campaign)}/known-columns").status_code == 200


def test_answers_about_images_that_the_model_lacks_are_left_out(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    who = a_session(client, campaign, "somebody-who-groups")
    for _ in range(6):
        submit(client, who, a_lease(client, who))
    n = campaign.n_images - 10
    a_model(campaign, 10 * RNG.integers(0, 2, (n, 3)) + RNG.normal(0, 0.01, (n, 3)), TWO)
    reply = merge(client, campaign, [0, 2])
    assert reply.status_code == 200, reply.text
    [_, merged] = insight_of(client, campaign)["attributes"]
    assert max(image["image"] for each in merged["clusters"] for image in each["images"]) < n


def test_words_of_clusters_are_those_of_answers_about_the_parts(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    corners = np.array([[k // 2 % 2, 9.0, k % 2] for k in range(campaign.n_images)])
    a_model(campaign, 10 * corners + RNG.normal(0, 0.01, corners.shape), TWO)
    who = a_session(client, campaign, "somebody-who-groups")
    for k in range(8):
        lease = a_lease(client, who)
        images = [shown["image"] for shown in lease["images"]]
        # Half of the answers are about attribute 1, which is not merged.
        groups = [image % 2 for image in images]
        words = ["even", "odd"] if k % 2 else ["noise", "noise"]
        submit(client, who, lease, groups=groups, descriptions=words)
    store_table(campaign, lambda row: 2 if "odd" in row.descriptions else 1)
    assert merge(client, campaign, [0, 2]).json() == {"attribute": 2}
    [_, merged] = insight_of(client, campaign)["attributes"]
    words_of = {tuple(each["words"]) for each in merged["clusters"]}
    assert {word for words in words_of for word in words} == {"even", "odd"}


def test_a_merge_is_undone_and_merged_again(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_of_two(owner)
    before = insight_of(client, campaign)
    client.put(f"{path_of(campaign)}/attributes/1/name", json={"name": "temperature"})
    assert merge(client, campaign, [0, 1]).status_code == 200
    # No name was given: that of the largest part that has one.
    assert names_of(client, campaign) == {0: "temperature", 2: ""}
    assert merge(client, campaign, [0, 2], "all").json() == {"attribute": 2}
    [everything] = insight_of(client, campaign)["attributes"]
    assert (everything["parts"], everything["share"]) == ([2, 0, 1], 0.9)
    assert split(client, campaign, 2).status_code == 204
    assert names_of(client, campaign) == {0: "", 1: "temperature", 2: ""}
    client.put(f"{path_of(campaign)}/attributes/1/name", json={"name": ""})
    assert insight_of(client, campaign) == before
    with transaction() as session:
        events = set(session.scalars(select(AuditEvent.action)))
    assert {"attributes.merged", "attribute.split"} <= events


@pytest.mark.parametrize(
    ("numbers", "name", "status"),
    [([0], "", 422), ([0, 0], "", 422), ([0, 7], "", 404), ([0, 1], "n" * 101, 422), ([], "", 422)],
)
def test_what_cannot_be_merged_is_refused(
    client: TestClient, owner: Account, numbers: list[int], name: str, status: int
) -> None:
    campaign = a_campaign_of_two(owner)
    before = insight_of(client, campaign)
    assert merge(client, campaign, numbers, name).status_code == status
    assert split(client, campaign, 0).status_code == 422
    assert split(client, campaign, 7).status_code == 404
    assert insight_of(client, campaign) == before


def test_only_editors_merge(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_of_two(owner)
    other = an_account("grace@example.org")
    sign_in(client, other)
    assert merge(client, campaign, [0, 1]).status_code == 404
    with transaction() as session:
        share_campaign(session, owner, reloaded(campaign.id), other.email, "view")
    assert merge(client, campaign, [0, 1]).status_code == 403
    assert split(client, campaign, 0).status_code == 403
    with transaction() as session:
        share_campaign(session, owner, reloaded(campaign.id), other.email, "edit")
    assert merge(client, campaign, [0, 1]).status_code == 200
    assert split(client, campaign, 0).status_code == 204


def test_the_next_model_merges_the_parts_that_it_has(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    vectors = two_lines(campaign.n_images)
    # `publish` stores INSIGHT, which has the attributes 0 and 2.
    a_model(campaign, vectors, TWO)
    client.put(f"{path_of(campaign)}/attributes/2/name", json={"name": "size"})
    assert merge(client, campaign, [0, 1, 2], "look").status_code == 200
    publish(campaign, vectors + RNG.normal(0, 0.1, vectors.shape))
    [merged] = insight_of(client, campaign, 2)["attributes"]
    assert (merged["name"], merged["parts"]) == ("look", [0, 2])
    assert client.delete(f"{path_of(campaign, 2)}/attributes/0/merge").status_code == 204
    assert names_of(client, campaign, 2) == {0: "", 2: "size"}
    changed = vectors.copy()
    changed[:, 2] = RNG.permutation(campaign.n_images)
    publish(campaign, changed)
    # After the split there is nothing to carry over.
    assert set(names_of(client, campaign, 3)) == {0, 2}


def test_a_part_that_stands_for_something_else_is_not_merged(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    vectors = two_lines(campaign.n_images)
    a_model(campaign, vectors, INSIGHT)
    assert merge(client, campaign, [0, 2], "look").status_code == 200
    vectors[:, 2] = RNG.permutation(campaign.n_images)
    publish(campaign, vectors)
    assert names_of(client, campaign, 2) == {0: "", 2: ""}


def test_answers_and_exports_follow_the_merge(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_of_two(owner)
    who = a_session(client, campaign, "somebody-who-groups")
    for _ in range(3):
        submit(client, who, a_lease(client, who))
    numbers = iter([0, 1, 2])
    rows = store_table(campaign, lambda _: next(numbers))
    assert merge(client, campaign, [0, 1]).status_code == 200
    export = f"/api/v1/campaigns/{campaign.id}/export"
    lines = list(csv.DictReader(io.StringIO(client.get(f"{export}/answers.csv").text)))
    by_answer = {line["answer"]: line["attribute"] for line in lines}
    assert [by_answer[row.answer] for row in rows] == ["0", "0", "2"]
    with transaction() as session:
        second = session.get_one(Answer, rows[1].answer).id
    shown = client.get(f"/api/v1/campaigns/{campaign.id}/answers/{second}/attribute").json()
    assert (shown["attribute"], shown["probability"]) == (0, 0.8)
    table = list(csv.DictReader(io.StringIO(client.get(f"{export}/attributes.csv").text)))
    assert [(line["attribute"], line["parts"]) for line in table] == [("0", "0 1"), ("2", "")]
    [annotator] = csv.DictReader(io.StringIO(client.get(f"{export}/annotators.csv").text))
    assert [annotator[f"preference{k}"] for k in range(3)] == ["0.5", "0.0", "0.4"]


def test_the_focus_of_a_part_is_that_of_the_merge(client: TestClient, owner: Account) -> None:
    campaign = a_campaign_with_model(owner)
    focus = f"/api/v1/campaigns/{campaign.id}/focus"
    assert client.post(focus, json={"attribute": 2}).status_code == 204
    assert merge(client, campaign, [0, 2]).json() == {"attribute": 0}
    assert insight_of(client, campaign)["focus"] == 0
    assert client.post(focus, json={"attribute": 2}).status_code == 422
