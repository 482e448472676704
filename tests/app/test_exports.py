"""Exports: complete, and harmless in a spreadsheet."""

import csv
import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from scipy.spatial.distance import squareform
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from app.core.spreadsheets import neutral
from app.jobs.models import Job
from app.jobs.service import request_job
from app.results.models import EmbeddedImage, Model
from testbed.builders import a_campaign, a_png, an_account, sign_in
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import INSIGHT
from tests.app.test_insight import a_model as a_published_model
from tests.app.test_security_headers import check_type
from tests.support.parquet import typed

EVIL = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "\0x"]


def test_formulas_are_neutralised_and_other_text_is_left_alone() -> None:
    assert [neutral(text) for text in EVIL] == [f"'{text}" for text in EVIL]
    assert neutral("red = warm") == "red = warm"


def test_answers_are_exported_whole_without_identities(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign, "annotator-secret-key")
    submit(client, who, a_lease(client, who), descriptions=["=HYPERLINK()", "<b>bold</b>"])
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    record = json.loads(client.get(f"{base}/answers.jsonl").text)
    assert record["groups"] == [0, 1, 0, 1, 0, 1]
    assert record["descriptions"] == ["=HYPERLINK()", "<b>bold</b>"]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/answers.csv").text)))
    assert [row["description"] for row in rows[:2]] == ["'=HYPERLINK()", "<b>bold</b>"]
    assert [int(row["image"]) for row in rows] == record["images"]
    assert "annotator-secret-key" not in client.get(f"{base}/answers.jsonl").text


def test_a_file_is_named_by_us_whatever_a_campaign_is_called(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    with transaction() as session:
        stored = session.get_one(Campaign, campaign.id)
        stored.name = 'a"; filename=x.html\r\nX: y/../Ünder\u202e'
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    for file in ("archive.zip", "answers.csv"):
        reply = client.get(f"{base}/{file}")
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-disposition"] == (
            f'attachment; filename="a-filename-x-html-x-y-under-{file}"; '
            f"filename*=UTF-8''a-filename-x-html-x-y-%C3%BCnder-{file}"
        )
        assert "x" not in reply.headers
    for file in ("answers.html", "..%2f..%2fsecret_key", "archive.zip%0d%0aX:y"):
        reply = client.get(f"{base}/{file}")
        assert reply.status_code in (404, 422)
        assert "content-disposition" not in reply.headers


def a_model(client: TestClient) -> tuple[Campaign, NDArray[np.float32]]:
    """A campaign with a model of random points; its owner is signed in."""
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
    return campaign, points


def test_dimensions_that_no_answer_needs_are_no_columns(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    points = np.random.default_rng(0).normal(size=(campaign.n_images, 4)).astype(np.float32)
    points[:, [1, 3]] = 0
    a_published_model(campaign, points)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    header, first, *_ = client.get(f"{base}/embedding.csv").text.splitlines()
    certainty = "by_features,deviation0,deviation2,kept,kept_low,kept_high,kept_of"
    assert header == f"image,filename,x0,x2,{certainty}"
    assert [float(cell) for cell in first.split(",")[2:4]] == pytest.approx(points[0, [0, 2]])
    lines = client.get(f"{base}/vectors.tsv").text.splitlines()
    assert {line.count("\t") for line in lines} == {1}
    with np.load(io.BytesIO(client.get(f"{base}/embedding.npz").content)) as arrays:
        np.testing.assert_array_equal(arrays["embedding"], points)
        assert arrays["used"].tolist() == [True, False, True, False]
    # Nothing was learned: there is no dimension that could be left out.
    a_published_model(campaign, np.zeros((campaign.n_images, 2)), version=2)
    header = client.get(f"{base}/embedding.csv").text.splitlines()[0]
    assert header.startswith("image,filename,x0,x1,")


def test_the_embedding_is_exported_by_position_and_neighbours_are_nearest_first(
    client: TestClient,
) -> None:
    campaign, points = a_model(client)
    base = f"/api/v1/campaigns/{campaign.id}"
    with np.load(io.BytesIO(client.get(f"{base}/export/embedding.npz").content)) as arrays:
        np.testing.assert_array_equal(arrays["embedding"], points)
        assert arrays["filenames"][7] == "image-007.png"
    neighbours = client.get(f"{base}/models/1/neighbours?image=7&k=5").json()["neighbours"]
    order = np.argsort(np.linalg.norm(points - points[7], axis=1))
    assert [near["image"] for near in neighbours] == order[1:6].tolist()
    missing = client.get(f"{base}/models/1/neighbours?image=999")
    assert (missing.status_code, missing.json()["code"]) == (422, "unknown_image")
    assert client.get(f"{base}/models/2/map").status_code == 404


def test_pairs_and_triplets_say_what_was_grouped(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    images = [shown["image"] for shown in lease["images"]]
    submit(client, who, lease, groups=[0, 0, 1, 1, -1, -1], unseen=[images[3]])
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    a, b, c, _, d, e = images
    rows = csv.DictReader(io.StringIO(client.get(f"{base}/pairs.csv").text))
    pairs = {frozenset((int(row["i"]), int(row["j"]))): row["same"] for row in rows}
    expected = {(a, b): "1", **{pair: "0" for pair in [(a, c), (b, c), (a, d), (a, e), (b, d),
                                                       (b, e), (c, d), (c, e)]}}  # fmt: skip
    assert pairs == {frozenset(pair): same for pair, same in expected.items()}
    lines = client.get(f"{base}/triplets.csv").text.splitlines()
    assert lines[0] == "anchor,near,far"
    triplets = {tuple(map(int, line.split(","))) for line in lines[1:]}
    assert triplets == {(x, y, far) for x, y in ((a, b), (b, a)) for far in (c, d, e)}
    some = client.get(f"{base}/triplets.csv?per_answer=4").text
    assert len(some.splitlines()) == 5
    assert some == client.get(f"{base}/triplets.csv?per_answer=4").text


def test_answers_come_as_parquet_too(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    for _ in range(3):
        submit(client, who, a_lease(client, who))
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    table = pq.read_table(io.BytesIO(client.get(f"{base}/answers.parquet").content))
    lines = client.get(f"{base}/answers.jsonl").text.splitlines()
    assert table.to_pylist() == [typed(json.loads(line)) for line in lines]


def test_models_come_in_the_shapes_of_other_programs(client: TestClient) -> None:
    campaign, points = a_model(client)
    base = f"/api/v1/campaigns/{campaign.id}/export"
    table = pq.read_table(io.BytesIO(client.get(f"{base}/embedding.parquet").content))
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), points)
    assert table["attribute_colour"].to_pylist()[:3] == ["red", "green", "blue"]
    with np.load(io.BytesIO(client.get(f"{base}/dissimilarities.npz").content)) as arrays:
        far = squareform(arrays["dissimilarities"][0])
    np.testing.assert_allclose(far[3, 8], np.linalg.norm(points[3] - points[8]), rtol=1e-5)
    vectors = np.loadtxt(io.StringIO(client.get(f"{base}/vectors.tsv").text))
    np.testing.assert_allclose(vectors, points, rtol=1e-4)
    metadata = client.get(f"{base}/metadata.tsv").text.splitlines()
    assert metadata[0].split("\t") == ["image", "filename", "colour"]
    assert len(metadata) == 1 + len(points)
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base}/neighbours.csv").text)))
    first = [int(row["neighbour"]) for row in rows if row["image"] == "0"]
    assert first == np.argsort(np.linalg.norm(points - points[0], axis=1))[1:11].tolist()


def test_no_cell_of_any_file_is_a_formula(client: TestClient) -> None:
    """Words of annotators, names of files, names and values of attributes."""
    owner = an_account()
    names = ["=cmd()|' /C calc'!A0.png", "+1.png", "-1.png", "@SUM(1).png", "\t=1.png", "a,b.png"]
    with transaction() as session:
        collection = create_collection(session, owner, "=cmd()")
        table = ["filename,=cmd(),@x", *(f'"{name}",=1+1,-2+3' for name in names)]
        files = [(name, a_png(seed)) for seed, name in enumerate(names)]
        add_files(session, owner, collection, [*files, ("t.csv", "\n".join(table).encode())])
    campaign = a_campaign(owner, collection)
    who = a_session(client, campaign)
    # PostgreSQL has no text with NUL: it is left out before the answer is stored (`_store` in
    # app/annotation/answers.py), and what stood behind it begins the text.
    for words in (EVIL[:6], [EVIL[6], "\0=1"]):
        groups = [min(k, len(words) - 1) for k in range(6)]
        submitted = submit(client, who, a_lease(client, who), f"key-of-{len(words)}-words",
                      groups=groups, descriptions=words)  # fmt: skip
        assert submitted.status_code == 200
    with transaction() as session:
        stored = session.scalars(select(Answer.descriptions).where(Answer.state != "leased"))
        assert ["=1" in descriptions for descriptions in stored.all()] == [False, True]
    with transaction() as session:
        job = request_job(session, campaign.id, 1)
        model = Model(
            campaign_id=campaign.id, job_id=job.id, version=1, round_number=1, strategy="cen",
            settings={}, metrics={}, n_answers=1, artifact_key="-", insight=INSIGHT,
        )  # fmt: skip
        session.add(model)
        session.flush()
        session.add_all(
            EmbeddedImage(model_id=model.id, position=at, vector=np.full(3, -at), x=0.0, y=0.0)
            for at in range(len(names))
        )
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}"
    seen = 0
    for file in client.get(f"{base}/exports").json()["files"]:
        reply = client.get(f"{base}/export/{file['file']}")
        if reply.is_success:
            check_type(reply)
            assert f'{file["file"]}"' in reply.headers["content-disposition"]
        if file["kind"] not in ("csv", "tsv"):
            continue
        text = reply.text
        marks = {"csv": ",", "tsv": "\t"}[file["kind"]]
        for line in csv.reader(io.StringIO(text), delimiter=marks):
            for content in line:
                if content.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\0")):
                    float(content)  # a number, and nothing else
                seen += content.startswith("'")
    # Words, names and attributes were there, and are no formulas any more.
    assert seen > 20
