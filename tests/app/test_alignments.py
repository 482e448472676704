"""Feature sets aligned with a campaign's answers: figures, export, places of new images, errors."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from safetensors.numpy import load

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.storage import list_objects
from app.results.models import EmbeddedImage
from testbed.builders import a_collection, a_png
from tests.support.aligned_campaigns import (
    N,
    aligned,
    alignments_of,
    answered_campaign,
    campaign_of_two_sets,
    clip_of,
    exported,
    learn_quickly,
    places,
    row_of,
    seen_in,
    use_anyway,
    with_features,
)
from tests.support.feature_sets import computed, root_of

DOCS = Path(__file__).parents[2] / "docs/learned_alignment.md"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments of few fits, because these tests are about other things."""
    learn_quickly(monkeypatch)


@pytest.fixture
def campaign(client: TestClient, owner: Account) -> Campaign:
    return campaign_of_two_sets(client, owner)


def embedding() -> NDArray[np.float64]:
    with transaction() as session:
        rows = session.query(EmbeddedImage.vector).order_by(EmbeddedImage.position).all()
    return np.array([row[0] for row in rows], np.float64)


def test_features_are_compared_and_place_new_images(client: TestClient, campaign: Campaign) -> None:
    clip, noise = aligned(client, campaign, "clip", "noise")
    assert (clip["state"], clip["used"], clip["n_images"]) == ("done", True, N)
    assert (noise["state"], noise["used"]) == ("done", False)
    figures = clip["figures"]
    assert figures["aligned"]["auc"] > figures["raw"]["auc"] + 0.1
    assert figures["campaign"]["auc"] > 0.8
    assert figures["aligned"]["n_pairs"] > 100
    assert noise["figures"]["aligned"]["auc"] == 0.5
    assert noise["figures"]["campaign"] == figures["campaign"]

    # Vectors of images in the collection are placed where the campaign's model has these.
    new, known = clip_of(40, seed=3), embedding()
    both = np.concatenate([clip_of(), new])
    reply = places(client, campaign, clip["id"], vectors=both.tolist())
    assert reply.status_code == 200, reply.text
    items = reply.json()["items"]
    assert [len(item["neighbours"]) for item in items] == [10] * (N + 40)
    missed = ((np.array([item["position"] for item in items[:N]]) - known) ** 2).sum()
    assert missed < 0.4 * ((known - known.mean(axis=0)) ** 2).sum()
    for item in items:
        distances = [near["distance"] for near in item["neighbours"]]
        assert distances == sorted(distances)
        assert all(0 < near["probability"] < 1 for near in item["neighbours"])
        assert all(deviation > 0 for deviation in item["deviation"])
    # Neighbours are those that the crowd sees as near: random images are 1.77 apart on average.
    truth, others = seen_in(new), seen_in(clip_of())
    apart = [
        np.linalg.norm(truth[k] - others[near["image"]])
        for k, item in enumerate(items[N:])
        for near in item["neighbours"][:3]
    ]
    assert float(np.mean(apart)) < 0.9


def test_scores_of_the_campaign_follow_the_answers_that_count(
    client: TestClient, campaign: Campaign, quick: None
) -> None:
    """Also if as many others count: annotators are left out, or answers rejected and replaced."""

    def without(annotator: int) -> None:
        client.post(f"/api/v1/campaigns/{campaign.id}/annotators/{annotator}/actions/leave_out")

    def readmit(annotator: int) -> None:
        client.post(f"/api/v1/campaigns/{campaign.id}/annotators/{annotator}/actions/restore")

    without(0)
    [clip] = aligned(client, campaign, "clip")
    [noise] = aligned(client, campaign, "noise")
    assert noise["figures"]["campaign"] == clip["figures"]["campaign"]
    readmit(0)
    without(1)
    [other] = aligned(client, campaign, "noise")
    assert (other["n_answers"], other["model_version"]) == (
        clip["n_answers"],
        clip["model_version"],
    )
    assert other["figures"]["campaign"] != clip["figures"]["campaign"]


def test_the_export_is_loaded_without_likewise(
    client: TestClient, campaign: Campaign, tmp_path: Path, quick: None
) -> None:
    """By the loader of the documentation, in a process that knows neither Likewise nor torch."""
    [clip] = aligned(client, campaign, "clip")
    new = clip_of(30, seed=4)
    position, deviation = loaded_outside(exported(client, campaign, clip["id"]), new, tmp_path)
    items = places(client, campaign, clip["id"], vectors=new.tolist()).json()["items"]
    assert np.allclose(position, [item["position"] for item in items], atol=1e-4)
    assert np.allclose(deviation, [item["deviation"] for item in items], atol=1e-4)


def loaded_outside(
    data: bytes, rows: NDArray[np.float32], folder: Path
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    loader = DOCS.read_text().split("```python\n")[1].split("```")[0]
    (folder / "alignment.safetensors").write_bytes(data)
    np.save(folder / "rows.npy", rows)
    script = f"""{loader}
import sys
result = places(np.load("rows.npy"), "alignment.safetensors")
loaded = {{name.split(".")[0] for name in sys.modules}}
assert not loaded & {{"likewise", "app", "learning", "torch"}}
np.savez("places.npz", position=result[0], deviation=result[1])
"""
    (folder / "loader.py").write_text(script)
    subprocess.run([sys.executable, "-I", "loader.py"], cwd=folder, check=True)
    with np.load(folder / "places.npz") as arrays:
        return arrays["position"], arrays["deviation"]


@pytest.mark.parametrize("source", ["appearance", "components", "grey"])
def test_new_images_are_placed_by_features_that_the_server_computes(
    client: TestClient, owner: Account, source: str, tmp_path: Path, quick: None
) -> None:
    campaign = answered_campaign(owner)
    computed(client, campaign.collection_id, source)
    [alignment] = aligned(client, campaign, source)
    assert alignment["takes_images"]
    # The pictures of tests show nothing of what this crowd sees, so this is noise: used by force.
    use_anyway(alignment["id"])
    files = [("files", (f"image-{k:03d}.png", a_png(k))) for k in (0, 7)]
    address = f"{alignments_of(campaign)}/{alignment['id']}/image-places"
    reply = client.post(address, files=files, data={"k": 3})
    assert reply.status_code == 200, reply.text
    items = reply.json()["items"]
    assert [item["name"] for item in items] == ["image-000.png", "image-007.png"]
    assert [len(item["neighbours"]) for item in items] == [3, 3]
    # Rows as they are downloaded give the same places, outside as well.
    table = client.get(f"{root_of(campaign.collection_id)}/{alignment['set_id']}/vectors.csv").text
    rows = np.array([row[2:] for row in csv.reader(io.StringIO(table))][1:], np.float32)
    data = exported(client, campaign, alignment["id"])
    position, deviation = loaded_outside(data, rows[[0, 7]], tmp_path)
    assert np.allclose(position, [item["position"] for item in items], atol=1e-4)
    assert np.allclose(deviation, [item["deviation"] for item in items], atol=1e-4)


def test_all_images_are_placed_from_stored_rows(
    client: TestClient, owner: Account, quick: None
) -> None:
    """Also those that nobody was asked about, and those added after the campaign began."""
    values = clip_of(N + 20)
    campaign = answered_campaign(owner, a_collection(owner, N), values[:N])
    add_images(owner, campaign, N, N + 20)
    with_features(client, campaign, clip=values)
    [clip] = aligned(client, campaign, "clip")
    reply = client.get(f"{alignments_of(campaign)}/{clip['id']}/places.csv")
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert [int(row["image"]) for row in rows] == list(range(N + 20))
    assert [row["asked"] for row in rows] == ["1"] * N + ["0"] * 20
    body = {"vectors": values[[N + 3]].tolist(), "k": 1}
    [item] = places(client, campaign, clip["id"], **body).json()["items"]
    own = rows[N + 3]
    n = len(item["position"])
    assert np.allclose([float(own[f"x{k}"]) for k in range(n)], item["position"], rtol=1e-4)
    assert np.allclose(
        [float(own[f"deviation{k}"]) for k in range(n)], item["deviation"], rtol=1e-4
    )
    # It is its own nearest neighbour, though nobody was asked about it.
    [near] = item["neighbours"]
    assert (near["image"], near["asked"]) == (N + 3, False)
    assert near["distance"] == pytest.approx(0, abs=1e-4)


def add_images(owner: Account, campaign: Campaign, first: int, last: int) -> None:
    from app.collections.models import Collection
    from app.collections.service import add_files

    files = [(f"image-{k:03d}.png", a_png(k)) for k in range(first, last)]
    with transaction() as session:
        add_files(session, owner, session.get_one(Collection, campaign.collection_id), files)


@pytest.mark.parametrize("n_columns", [4_200])
def test_a_set_too_wide_for_memory_is_reduced_in_the_file(
    client: TestClient, owner: Account, tmp_path: Path, n_columns: int, quick: None
) -> None:
    campaign = answered_campaign(owner)
    rng = np.random.default_rng(2)
    mixed = seen_in(clip_of()) @ rng.normal(size=(2, n_columns))
    values = (mixed + rng.normal(size=mixed.shape)).astype(np.float32)
    with_features(client, campaign, wide=values)
    [wide] = aligned(client, campaign, "wide")
    assert wide["used"]
    data = exported(client, campaign, wide["id"])
    assert load(data)["raw_components"].shape[0] == n_columns
    position, _ = loaded_outside(data, values[:3], tmp_path)
    items = places(client, campaign, wide["id"], vectors=values[:3].tolist()).json()["items"]
    assert np.allclose(position, [item["position"] for item in items], atol=1e-3)


def test_files_go_with_their_feature_set(
    client: TestClient, campaign: Campaign, quick: None
) -> None:
    [clip] = aligned(client, campaign, "clip")
    key = row_of(clip["id"]).key
    assert len(list_objects(key)) == 2
    assert client.delete(f"{root_of(campaign.collection_id)}/{clip['set_id']}").status_code == 204
    assert client.get(f"{alignments_of(campaign)}/{clip['id']}").status_code == 404
    from app.collections.garbage import remove_discarded

    with transaction() as session:
        remove_discarded(session)
    assert list_objects(key) == []


def test_attributes_have_their_own_figures(client: TestClient, owner: Account, quick: None) -> None:
    """With CEN, which finds what each answer is about."""
    campaign = answered_campaign(owner, strategy="cen", n_grids=90)
    with_features(client, campaign, clip=clip_of())
    [clip] = aligned(client, campaign, "clip")
    assert clip["used"]
    model = client.get(f"/api/v1/campaigns/{campaign.id}/models/1/insight").json()
    [item] = places(client, campaign, clip["id"], vectors=clip_of()[:1].tolist()).json()["items"]
    assert len(item["attributes"]) == len(model["attributes"])
    for attribute in item["attributes"]:
        assert len(attribute["position"]) == len(attribute["deviation"]) >= 1
    assert json.dumps(clip["figures"])
    assert len(clip["figures"]["by_attribute"]) >= 1


def test_campaigns_that_find_clusters_can_be_aligned(
    client: TestClient, owner: Account, quick: None
) -> None:
    campaign = answered_campaign(
        owner, strategy="scdc", settings={"features": "appearance", "effort": "quick"}
    )
    with_features(client, campaign, clip=clip_of())
    [clip] = aligned(client, campaign, "clip")
    assert (clip["state"], clip["used"], clip["error"]) == ("done", True, None)
    assert clip["figures"]["campaign"] is not None
    [item] = places(client, campaign, clip["id"], vectors=clip_of()[:1].tolist()).json()["items"]
    assert item["attributes"] == []
    # The model's own clusters are a clustering of it.
    assert 0 < item["cluster"]["share"] <= 1
