"""Exports: complete, and harmless in a spreadsheet."""

import csv
import io
import json

import numpy as np
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.core.database import transaction
from app.jobs.models import Job
from app.jobs.service import request_job
from app.results.exports import neutral
from app.results.models import EmbeddedImage, Model
from tests.app.test_annotation import a_lease, a_session, submit
from tests.support.builders import a_campaign, an_account, sign_in

EVIL = ["=1+1", "+1", "-1", "@x", "\tx", "\rx"]


def test_formulas_are_neutralised_and_other_text_is_left_alone() -> None:
    assert [neutral(text) for text in EVIL] == [f"'{text}" for text in EVIL]
    assert neutral("red = warm") == "red = warm"


def test_answers_are_exported_whole_without_identities(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign, "annotator-secret-key")
    submit(client, who, a_lease(client, who), descriptions=["=HYPERLINK()", "<b>bold</b>"])
    sign_in(client, owner)
    base = f"/api/campaigns/{campaign.id}/export"
    record = json.loads(client.get(f"{base}/answers.jsonl").text)
    assert record["groups"] == [0, 1, 0, 1, 0, 1]
    assert record["descriptions"] == ["=HYPERLINK()", "<b>bold</b>"]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/answers.csv").text)))
    assert [row["description"] for row in rows[:2]] == ["'=HYPERLINK()", "<b>bold</b>"]
    assert [int(row["image"]) for row in rows] == record["images"]
    assert "annotator-secret-key" not in client.get(f"{base}/answers.jsonl").text


def test_the_embedding_is_exported_by_position_and_neighbours_are_nearest_first(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    points = np.random.default_rng(0).normal(size=(campaign.n_images, 3)).astype(np.float32)
    with transaction() as session:
        request_job(session, campaign.id, 1)
        job_id = session.scalars(select(Job.id)).one()
        model = Model(
            campaign_id=campaign.id,
            job_id=job_id,
            version=1,
            round_number=1,
            strategy="cen",
            settings={},
            metrics={},
            n_answers=1,
            artifact_key="-",
        )
        session.add(model)
        session.flush()
        session.add_all(
            EmbeddedImage(model_id=model.id, position=at, vector=point, x=0.0, y=0.0)
            for at, point in enumerate(points)
        )
    sign_in(client, owner)
    base = f"/api/campaigns/{campaign.id}"
    with np.load(io.BytesIO(client.get(f"{base}/export/embedding.npz").content)) as arrays:
        np.testing.assert_array_equal(arrays["embedding"], points)
        assert arrays["filenames"][7] == "image-007.png"
    found = client.get(f"{base}/models/1/neighbours?image=7&k=5").json()["neighbours"]
    order = np.argsort(np.linalg.norm(points - points[7], axis=1))
    assert [near["image"] for near in found] == order[1:6].tolist()
    missing = client.get(f"{base}/models/1/neighbours?image=999")
    assert (missing.status_code, missing.json()["code"]) == (422, "unknown_image")
    assert client.get(f"{base}/models/2/map").status_code == 404
