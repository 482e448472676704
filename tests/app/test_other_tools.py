"""Exports load in the tools that they are made for, with the right types and meanings."""

import io
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from scipy.spatial.distance import squareform

from app.campaigns.models import Campaign
from app.results.catalogue import EXPORT_VERSION
from learning.cen import ContextEmbeddingNetwork
from testbed.builders import COLOURS, a_campaign, an_account, sign_in
from tests.app.test_exports import a_model
from tests.app.test_quality_control import work
from tests.support.archives import a_played_campaign


@pytest.fixture
def played(client: TestClient) -> Campaign:
    return a_played_campaign(client)


def export(client: TestClient, campaign: Campaign, file: str) -> io.BytesIO:
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/{file}")
    assert reply.status_code == 200, reply.text
    assert reply.headers["likewise-export-version"] == str(EXPORT_VERSION)
    return io.BytesIO(reply.content)


def test_pandas_reads_answers_with_their_types(client: TestClient, played: Campaign) -> None:
    table = pd.read_csv(export(client, played, "answers.csv"), parse_dates=["submitted_at"])
    whole = ["grid", "round", "annotator", "elapsed_ms", "image", "group"]
    assert {str(table[name].dtype) for name in whole} == {"int64"}
    assert table["left_out"].dtype == bool
    assert str(table["submitted_at"].dtype).endswith("UTC]")
    assert len(table) == 24 * 10
    lines = pd.read_json(export(client, played, "answers.jsonl"), lines=True)
    typed = pd.read_parquet(export(client, played, "answers.parquet"))
    assert list(lines.columns) == list(typed.columns)
    assert str(typed["annotator"].dtype) == "int32"
    pd.testing.assert_series_equal(lines["answer"], typed["answer"], check_dtype=False)
    # The three say the same.
    flat = lines.explode(["images", "filenames", "groups"])
    assert flat["images"].tolist() == table["image"].tolist()
    assert flat["filenames"].tolist() == table["filename"].tolist()
    assert flat["groups"].tolist() == table["group"].tolist()
    assert np.concatenate(typed["images"].to_list()).tolist() == table["image"].tolist()


def test_pandas_reads_what_models_and_checks_tell(client: TestClient, played: Campaign) -> None:
    places = pd.read_csv(export(client, played, "embedding.csv"), index_col="image")
    typed = pd.read_parquet(export(client, played, "embedding.parquet"))
    np.testing.assert_allclose(
        places.filter(regex="^x"), np.stack(typed["vector"].to_list()), rtol=1e-6
    )
    assert set(typed["attribute_colour"]) == set(COLOURS)
    near = pd.read_csv(export(client, played, "neighbours.csv"))
    assert near.groupby("image")["distance"].is_monotonic_increasing.all()
    quality = pd.read_csv(export(client, played, "quality.csv"))
    assert quality["verdict"][0] == "good"
    assert str(quality["gold_n"].dtype) == "int64"
    annotators = pd.read_csv(export(client, played, "annotators.csv"))
    assert annotators["n_learned"].sum() == 24
    attributes = pd.read_csv(export(client, played, "attributes.csv"))
    assert {"attribute", "share", "share_error", "confidence"} <= set(attributes.columns)
    traces = pd.read_json(export(client, played, "traces.jsonl"), lines=True)
    # Where checks are mixed in, and how many, follows from who somebody is.
    assert {"ask", "gold"} <= set(traces["role"]) <= {"ask", "gold", "repeat"}
    pairs = pd.read_csv(export(client, played, "pairs.csv"))
    honest = pairs[pairs["annotator"] == 0]
    colour = typed["attribute_colour"]
    alike = colour[honest["i"]].to_numpy() == colour[honest["j"]].to_numpy()
    assert (alike == (honest["same"] == 1)).all()


def test_rsatoolbox_compares_the_dissimilarities_with_others(client: TestClient) -> None:
    from rsatoolbox.rdm import RDMs, compare

    campaign, points = a_model(client)
    with np.load(export(client, campaign, "dissimilarities.npz")) as arrays:
        ours = RDMs(
            arrays["dissimilarities"],
            dissimilarity_measure=str(arrays["measure"]),
            pattern_descriptors={"filename": arrays["filenames"].tolist()},
        )
    far = np.linalg.norm(points[:, None] - points, axis=2)
    theirs = RDMs(squareform(far, checks=False)[None, :])
    assert ours.n_cond == len(points)
    assert ours.pattern_descriptors["filename"][3] == "image-003.png"
    assert compare(ours, theirs, method="corr")[0, 0] == pytest.approx(1, abs=1e-6)
    pair = ours.subset_pattern("filename", ["image-003.png", "image-008.png"])
    assert pair.get_vectors()[0, 0] == pytest.approx(float(far[3, 8]), rel=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cblearn_embeds_the_triplets(client: TestClient) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from cblearn.embedding import SOE
        from cblearn.utils import check_query_response

    owner = an_account()
    campaign = a_campaign(owner, budget=40, grid_size=10, grids_per_assignment=40)
    work(client, campaign, 40, "honest")
    sign_in(client, owner)
    triplets = np.loadtxt(
        export(client, campaign, "triplets.csv"), delimiter=",", skiprows=1, dtype=np.uint32
    )
    checked = check_query_response(triplets, result_format="list-order")
    np.testing.assert_array_equal(checked, triplets)
    places = SOE(n_components=2, random_state=0).fit(triplets).embedding_
    assert places.shape == (30, 2)
    # Annotators went by colour, and so do the distances that it finds.
    far = np.linalg.norm(places[:, None] - places, axis=2)
    alike = np.arange(30)[:, None] % 3 == np.arange(30) % 3
    assert far[alike].mean() < 0.3 * far[~alike].mean()


def test_the_projectors_two_files_fit_each_other(client: TestClient) -> None:
    """By the rules of the TensorFlow embedding projector: no head above the vectors, one above
    two columns of metadata or more, a line for a line, a cell for each column."""
    campaign, points = a_model(client)
    vectors = export(client, campaign, "vectors.tsv").getvalue().decode().splitlines()
    metadata = export(client, campaign, "metadata.tsv").getvalue().decode().splitlines()
    assert len(vectors) + 1 == len(metadata) == len(points) + 1
    assert {line.count("\t") for line in vectors} == {points.shape[1] - 1}
    assert len({line.count("\t") for line in metadata}) == 1
    assert [[float(value) for value in line.split("\t")] for line in vectors] == pytest.approx(
        points, rel=1e-5
    )


def test_a_models_files_load_as_the_estimator(
    client: TestClient, played: Campaign, tmp_path: Path
) -> None:
    with zipfile.ZipFile(export(client, played, "model.zip")) as archive:
        archive.extractall(tmp_path)
    model = ContextEmbeddingNetwork.load(tmp_path / "model")
    with np.load(export(client, played, "embedding.npz")) as arrays:
        np.testing.assert_allclose(model.embedding_, arrays["embedding"], atol=1e-5)
        assert arrays["filenames"][4] == "image-004.png"
    older = client.get(f"/api/v1/campaigns/{played.id}/export/embedding.npz?version=7")
    assert older.status_code == 404
