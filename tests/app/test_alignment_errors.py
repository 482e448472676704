"""Alignments and placements that are refused, and who may ask for them."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from safetensors.numpy import load, save
from sqlalchemy import select

from app.accounts.models import Account
from app.alignments import placing
from app.alignments.stored import EXPORT
from app.campaigns.models import Campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.core.settings import get_settings
from app.core.storage import delete_objects, get_object, list_objects, put_object
from app.features.sets import features_changed
from testbed.builders import a_campaign, a_collection, a_png, an_account, sign_in
from tests.support.accounts import another_browser
from tests.support.aligned_campaigns import (
    WIDTH,
    aligned,
    alignments_of,
    answered_campaign,
    campaign_of_two_sets,
    clip_of,
    exported,
    learn_quickly,
    places,
    request,
    row_of,
    use_anyway,
    with_features,
)
from tests.support.feature_sets import a_vector_table, computed, uploaded


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments of few fits, because these tests are about other things."""
    learn_quickly(monkeypatch)


@pytest.fixture
def campaign(client: TestClient, owner: Account) -> Campaign:
    return campaign_of_two_sets(client, owner)


def test_wrong_vectors_are_refused(client: TestClient, campaign: Campaign, quick: None) -> None:
    [clip] = aligned(client, campaign, "clip")
    wrong: list[tuple[list[Any], str, str]] = [
        ([[1.0] * WIDTH, [1.0] * 3], "wrong_length", "Vector 1 has 3 numbers"),
        ([[1.0] * (WIDTH - 1) + [1e300]], "not_finite", "in column 11"),
        ([], "invalid_request", "vectors"),
        ([[1.0] * WIDTH] * 1_001, "invalid_request", "vectors"),
        ([[None] * WIDTH], "invalid_request", "vectors"),
        ([["a"] * WIDTH], "invalid_request", "vectors"),
    ]
    for vectors, code, words in wrong:
        reply = places(client, campaign, clip["id"], vectors=vectors)
        assert (reply.status_code, reply.json()["code"]) == (422, code), reply.text
        assert words in reply.text
    numbers = ", ".join(["NaN"] * WIDTH)
    reply = client.post(
        f"{alignments_of(campaign)}/{clip['id']}/places",
        content=f'{{"vectors": [[{numbers}]]}}',
        headers={"Content-Type": "application/json"},
    )
    assert reply.status_code in (400, 422), reply.text
    assert client.get(alignments_of(campaign)).json()["items"][0]["usable"]


def test_images_that_cannot_be_placed(
    client: TestClient, owner: Account, campaign: Campaign, quick: None
) -> None:
    computed(client, campaign.collection_id, "appearance")
    clip, noise, appearance = aligned(client, campaign, "clip", "noise", "appearance")
    use_anyway(appearance["id"])

    def send(alignment: dict[str, Any], *files: tuple[str, bytes]) -> Any:
        address = f"{alignments_of(campaign)}/{alignment['id']}/image-places"
        return client.post(address, files=[("files", file) for file in files])

    good, broken = ("a.png", a_png(1)), ("bad.png", a_png(1)[:60])
    assert send(clip, good).json()["code"] == "vectors_needed"
    assert send(noise, good).json()["code"] == "alignment_not_used"
    refused = send(appearance, good, broken)
    assert refused.status_code == 422
    assert "'bad.png'" in refused.json()["detail"]
    assert send(appearance, ("text.png", b"no image")).json()["code"] == "not_an_image"
    # Before any of them is decoded.
    large = ("large.png", b"0" * (get_settings().max_image_bytes + 1))
    refused = send(appearance, broken, large)
    assert (refused.status_code, refused.json()["code"]) == (422, "too_large")
    assert "'large.png'" in refused.json()["detail"]
    assert "'none.png': The file is empty" in send(appearance, broken, ("none.png", b"")).text
    assert send(appearance, *[good] * 21).json()["code"] == "too_many_images"
    assert send(appearance).status_code == 422
    refused = places(client, campaign, noise["id"], vectors=[[1.0] * 5])
    assert (refused.status_code, refused.json()["code"]) == (409, "alignment_not_used")


def test_damaged_files_say_what_to_do(client: TestClient, campaign: Campaign, quick: None) -> None:
    [clip] = aligned(client, campaign, "clip")
    row = row_of(clip["id"])
    good = exported(client, campaign, clip["id"])
    vectors = clip_of()[:1].tolist()

    def outcome() -> Any:
        placing._kept.clear()
        return places(client, campaign, clip["id"], vectors=vectors)

    put_object(f"{row.key}/{EXPORT}", good[:-8])
    refused = outcome()
    assert (refused.status_code, refused.json()["code"]) == (409, "damaged_alignment")
    assert "Align the features again" in refused.json()["detail"]
    reply = client.get(f"{alignments_of(campaign)}/{clip['id']}/{EXPORT}")
    assert reply.json()["code"] == "damaged_alignment"
    put_object(f"{row.key}/{EXPORT}", good)
    assert outcome().status_code == 200
    put_object(f"{row.key}/images.safetensors", b"no such file")
    assert outcome().json()["code"] == "damaged_alignment"
    delete_objects(list_objects(row.key))
    assert outcome().json()["code"] == "damaged_alignment"
    [again] = aligned(client, campaign, "clip")
    assert again["id"] == clip["id"]
    assert outcome().status_code == 200


def test_every_array_of_placed_images_is_checked(
    client: TestClient, campaign: Campaign, quick: None
) -> None:
    [clip] = aligned(client, campaign, "clip")
    key = f"{row_of(clip['id']).key}/images.safetensors"
    good = load(get_object(key))
    half = good["metric"].copy()
    half[0, 0] = np.nan
    infinite = good["positions"].copy()
    infinite[0, 0] = np.inf
    wrong: dict[str, dict[str, Any]] = {
        "its arrays are": {"more": good["rows"]},
        "'rows' is float64": {"rows": good["rows"].astype(np.float64)},
        "'rows' must be": {"rows": good["rows"][::-1].copy()},
        "'hashes' is": {"hashes": good["hashes"][:, :31].copy()},
        "'positions' is": {"positions": good["positions"][:-1]},
        "'positions' contains": {"positions": infinite},
        "'deviations' contains": {"deviations": good["deviations"] - 1e6},
        "'asked' is": {"asked": good["asked"].astype(np.uint8)},
        "'metric' is": {"metric": np.hstack([good["metric"], good["metric"]])},
        "'metric' contains": {"metric": half},
        "'to_map' is": {"to_map": good["to_map"][:, :1].copy()},
        "'to_map' contains": {"to_map": np.full_like(good["to_map"], np.nan)},
    }
    for message, changed in wrong.items():
        put_object(key, save({**good, **changed}))
        placing._kept.clear()
        refused = places(client, campaign, clip["id"], vectors=clip_of()[:1].tolist())
        assert (refused.status_code, refused.json()["code"]) == (409, "damaged_alignment"), message
        assert message in refused.json()["detail"]
    put_object(key, save({name: good[name] for name in good if name != "asked"}))
    placing._kept.clear()
    refused = places(client, campaign, clip["id"], vectors=clip_of()[:1].tolist())
    assert "its arrays are" in refused.json()["detail"]


def test_a_table_of_another_width_must_be_aligned_again(
    client: TestClient, owner: Account, quick: None
) -> None:
    campaign = answered_campaign(owner)
    with transaction() as session:
        query = select(Image).where(Image.collection_id == campaign.collection_id)
        images = session.scalars(query.order_by(Image.position))
        for image, row in zip(images, clip_of(), strict=True):
            image.features = row.tolist()
        session.flush()
        features_changed(session, session.get_one(Collection, campaign.collection_id))
    [table] = aligned(client, campaign, "features")
    address = f"{alignments_of(campaign)}/{table['id']}/places.csv"
    assert client.get(address).status_code == 200
    with transaction() as session:
        for image in session.scalars(query):
            assert image.features is not None
            image.features = image.features[:5]
        session.flush()
        features_changed(session, session.get_one(Collection, campaign.collection_id))
    refused = client.get(address)
    assert (refused.status_code, refused.json()["code"]) == (409, "features_changed")
    assert "have 5 columns now, and had 12 when" in refused.json()["detail"]


def test_requests_that_make_no_sense(
    client: TestClient, owner: Account, campaign: Campaign, quick: None
) -> None:
    other = a_collection(owner, 10)
    uploaded(client, other.id, a_vector_table(clip_of(10)), name="elsewhere")
    refused = request(client, campaign, "elsewhere")
    assert (refused.status_code, refused.json()["code"]) == (422, "no_features")
    assert "clip, noise" in refused.json()["detail"]
    assert request(client, campaign).status_code == 422
    assert request(client, campaign, "clip").status_code == 202
    assert request(client, campaign, "clip").json()["code"] == "already_active"
    waiting = client.get(alignments_of(campaign)).json()["items"][0]
    assert (waiting["state"], waiting["usable"]) == ("queued", False)
    reply = places(client, campaign, waiting["id"], vectors=[[1.0] * WIDTH])
    assert reply.json()["code"] == "not_aligned"
    assert client.get(f"{alignments_of(campaign)}/{other.id}").status_code == 404

    fresh = a_campaign(owner)
    assert "first model" in client.get(alignments_of(fresh)).json()["reason"]
    assert request(client, fresh, "appearance").json()["code"] == "cannot_align"
    votes = a_campaign(owner, kind="select", strategy="neucrowd", annotation={})
    reply = request(client, votes, "appearance")
    assert reply.json()["code"] == "cannot_align"
    assert "groups" in reply.json()["detail"]


def test_a_few_images_are_aligned_without_figures(client: TestClient, owner: Account) -> None:
    campaign = answered_campaign(owner)
    with_features(client, campaign, few=clip_of()[:24])
    [few] = aligned(client, campaign, "few")
    assert few["state"] == "done", few["error"]
    assert few["figures"]["aligned"] is None


def test_too_few_images_with_features(client: TestClient, owner: Account) -> None:
    campaign = answered_campaign(owner)
    with_features(client, campaign, few=clip_of()[:10])
    [few] = aligned(client, campaign, "few")
    assert few["state"] == "failed"
    assert few["error"].startswith("Only 10 images with features are in answered grids")


def test_who_may_align(client: TestClient, owner: Account, campaign: Campaign, quick: None) -> None:
    [clip] = aligned(client, campaign, "clip")
    friend = an_account("friend@example.org")
    body = {"email": "friend@example.org", "access": "view"}
    shares = f"/api/v1/campaigns/{campaign.id}/shares"
    with another_browser() as other:
        sign_in(other, friend)
        assert other.get(alignments_of(campaign)).status_code == 404
        client.put(shares, json=body)
        assert len(other.get(alignments_of(campaign)).json()["items"]) == 1
        vectors = clip_of()[:1].tolist()
        assert places(other, campaign, clip["id"], vectors=vectors).status_code == 200
        assert exported(other, campaign, clip["id"])
        assert request(other, campaign, "noise").json()["code"] == "may_not_change"
        client.put(shares, json={**body, "access": "edit"})
        assert request(other, campaign, "noise").status_code == 202
        refused = request(other, campaign, "appearance")
        assert (refused.status_code, refused.json()["code"]) == (422, "no_features")
        assert "owner" in refused.json()["detail"]
