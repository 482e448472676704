"""The attribute of each answer: in files, and where an answer is played back."""

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.core.storage import put_object
from app.results.models import Model
from app.strategies.answer_attributes import (
    FILE,
    AnswerAttribute,
    AnswerAttributes,
    answer_attributes_of,
    answer_key,
)
from learning.groupings import from_answers
from testbed.builders import an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import INSIGHT, POOLED, a_campaign_with_model
from tests.support.parquet import typed

# Of the three answers that `answered` collects: attributes 0 and 2 are in use.
PROBABILITY = np.array([[0.83, 0.0, 0.05], [0.1, 0.0, 0.7], [0.2, 0.0, 0.2]])
EXPECTED = [(0, 0.83), (2, 0.7), (None, 0.6)]


def answered(client: TestClient, insight: dict[str, Any] | None = INSIGHT) -> Campaign:
    """A campaign with a model and three answers, one with an image that could not be seen."""
    owner = an_account()
    campaign = a_campaign_with_model(owner, insight)
    for n in range(3):
        who = a_session(client, campaign, f"annotator-{n:06d}")
        lease = a_lease(client, who)
        unseen = [lease["images"][1]["image"]] if n == 1 else []
        submit(client, who, lease, unseen=unseen)
    sign_in(client, owner)
    return campaign


def publish_attributes(campaign: Campaign, n_learned: int = 3) -> None:
    """As a learning job does, from the first of the answers."""
    query = (
        select(Grid.images, Answer.groups, Annotator.position, Answer.unseen)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(Answer.campaign_id == campaign.id)
        .order_by(Answer.submitted_at)
    )
    with transaction() as session:
        rows = session.execute(query).all()[:n_learned]
        model = session.scalars(select(Model).where(Model.campaign_id == campaign.id)).one()
        model.artifact_key = f"models/{campaign.id}/test"
        seen = [
            [(i, g) for i, g in zip(row[0], row[1] or [], strict=True) if i not in row[3]]
            for row in rows
        ]
        answers = from_answers(
            [[i for i, _ in row] for row in seen],
            [[g for _, g in row] for row in seen],
            [row[2] for row in rows],
            campaign.n_images,
            3,
        )
        attributes = answer_attributes_of(PROBABILITY[:n_learned], [0, 2], answers)
        put_object(f"{model.artifact_key}/{FILE}", attributes.to_bytes())


def exported(client: TestClient, campaign: Campaign) -> list[tuple[Any, Any]]:
    """The two columns, an answer each, once all three files were found to agree."""
    base = f"/api/v1/campaigns/{campaign.id}/export"
    records = [json.loads(line) for line in client.get(f"{base}/answers.jsonl").text.splitlines()]
    table = pq.read_table(io.BytesIO(client.get(f"{base}/answers.parquet").content))
    assert table.to_pylist() == [typed(record) for record in records]
    by_answer: dict[str, set[tuple[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(client.get(f"{base}/answers.csv").text)):
        pair = (row["attribute"], row["attribute_probability"])
        by_answer.setdefault(row["answer"], set()).add(pair)
    for record in records:
        pair = (record["attribute"], record["attribute_probability"])
        assert by_answer[record["answer"]] == {
            tuple("" if value is None else str(value) for value in pair)
        }
    return [(record["attribute"], record["attribute_probability"]) for record in records]


def test_exported_answers_say_which_attribute_they_are_about(client: TestClient) -> None:
    campaign = answered(client)
    publish_attributes(campaign)
    assert exported(client, campaign) == EXPECTED


def test_answers_that_the_model_did_not_learn_from_have_no_attribute(client: TestClient) -> None:
    campaign = answered(client)
    publish_attributes(campaign, n_learned=2)
    assert exported(client, campaign) == [*EXPECTED[:2], (None, None)]


def test_an_annotator_who_is_left_out_has_no_attributes(client: TestClient) -> None:
    campaign = answered(client)
    publish_attributes(campaign)
    left_out = client.post(f"/api/v1/campaigns/{campaign.id}/annotators/0/actions/leave_out")
    assert left_out.status_code == 204
    assert exported(client, campaign) == [(None, None), *EXPECTED[1:]]


@pytest.mark.parametrize("content", [None, b"", b"no safetensors", b"\x08" + bytes(15)])
def test_a_file_that_cannot_be_read_costs_the_columns_only(
    client: TestClient, content: bytes | None
) -> None:
    campaign = answered(client)
    if content is not None:
        publish_attributes(campaign)
        put_object(f"models/{campaign.id}/test/{FILE}", content)
    assert exported(client, campaign) == [(None, None)] * 3
    [answer, *_] = client.get(f"/api/v1/campaigns/{campaign.id}/answers").json()["items"]
    path = f"/api/v1/campaigns/{campaign.id}/answers/{answer['id']}/attribute"
    reply = client.get(path)
    assert (reply.status_code, reply.json()) == (200, None)


def test_a_strategy_without_attributes_leaves_the_columns_empty(client: TestClient) -> None:
    assert exported(client, answered(client, insight=None)) == [(None, None)] * 3


def test_an_answer_is_played_back_with_what_it_is_about(client: TestClient) -> None:
    campaign = answered(client)
    publish_attributes(campaign)
    base = f"/api/v1/campaigns/{campaign.id}/answers"
    answers = sorted(client.get(base).json()["items"], key=lambda answer: answer["submitted_at"])
    attributes = [client.get(f"{base}/{answer['id']}/attribute").json() for answer in answers]
    assert [(attribute["attribute"], attribute["probability"]) for attribute in attributes] == [
        (number, pytest.approx(probability)) for number, probability in EXPECTED
    ]
    assert [attribute["version"] for attribute in attributes] == [1, 1, 1]
    assert attributes[0]["high"] == ["blue"]
    assert not attributes[0]["overall"]
    missing = client.get(f"{base}/{campaign.id}/attribute")
    assert missing.status_code == 404


def test_an_overall_similarity_is_said_to_be_one(client: TestClient) -> None:
    campaign = answered(client, POOLED)
    publish_attributes(campaign)
    base = f"/api/v1/campaigns/{campaign.id}/answers"
    answers = sorted(client.get(base).json()["items"], key=lambda answer: answer["submitted_at"])
    attribute = client.get(f"{base}/{answers[0]['id']}/attribute").json()
    assert (attribute["attribute"], attribute["overall"]) == (0, True)
    assert attribute["clusters"] == [["=owl", "round"], []]


def test_a_row_is_found_by_all_that_the_model_read_of_an_answer() -> None:
    answers = from_answers([[4, 2, 9], [4, 2]], [[0, 0, 1], [0, 0]], [1, 1], 10, 2)
    attributes = answer_attributes_of(np.array([[0.9, 0.05], [0.1, 0.2]]), [0, 1], answers)
    again = AnswerAttributes.from_bytes(attributes.to_bytes())
    keys = [
        answer_key(1, [4, 2, 9], [0, 0, 1]),
        answer_key(1, [4, 2], [0, 0]),
        answer_key(0, [4, 2], [0, 0]),
        answer_key(1, [4, 2], [0, 1]),
    ]
    assert again.find(keys) == [AnswerAttribute(0, 0.9), AnswerAttribute(None, 0.7), None, None]
