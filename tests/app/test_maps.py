"""The map's pieces: places, pictures on sheets, what it is coloured by, and chosen images."""

import csv
import io

import numpy as np
import PIL.Image
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from sqlalchemy import select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.media import image_bytes
from app.collections.models import Image
from app.core.database import transaction
from app.maps import layout as layouts
from app.maps.levels import CELLS, NO_PICTURE, locate, picture_levels
from app.maps.sheets import CELL, SIDE
from app.results.models import EmbeddedImage
from app.results.vectors import one_at_a_time
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import a_campaign_with_model


def a_map(owner: Account) -> tuple[Campaign, NDArray[np.float32]]:
    """A campaign with one model, whose 30 images lie anywhere."""
    campaign = a_campaign_with_model(owner)
    places = np.random.default_rng(2).random((campaign.n_images, 2)).astype(np.float32)
    with transaction() as session:
        for position, (x, y) in enumerate(places.tolist()):
            here = EmbeddedImage.position == position
            session.execute(update(EmbeddedImage).where(here).values(x=x, y=y))
    return campaign, places


def path_of(campaign: Campaign, rest: str) -> str:
    return f"/api/v1/campaigns/{campaign.id}/{rest}"


def test_pictures_are_one_a_cell_and_every_cell_with_images_has_one() -> None:
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.random((3_000, 2)), np.full((40, 2), 0.25)]).astype(np.float32)
    levels = picture_levels(places)
    for level in range(6):
        _, cells = locate(places, level)
        shown = cells[levels <= level]
        assert len(shown) >= len(np.unique(cells))
        new = cells[levels == level]
        assert len(np.unique(new)) == len(new), "two new pictures in one cell"
        assert not np.isin(new, cells[levels < level]).any()
    # Of forty images in one place, one has a picture.
    assert (levels[-40:] != NO_PICTURE).sum() <= 1
    np.testing.assert_array_equal(picture_levels(places), levels)


def test_the_layout_is_laid_out_as_documented_and_kept_for_good(
    client: TestClient, owner: Account
) -> None:
    campaign, places = a_map(owner)
    reply = client.get(path_of(campaign, "models/1/map/layout"))
    data, n = reply.content, campaign.n_images
    assert data[:4] == b"LWM1"
    assert int.from_bytes(data[4:8], "little") == n
    assert len(data) == 8 + 9 * n
    np.testing.assert_array_equal(np.frombuffer(data, "<f4", 2 * n, 8).reshape(n, 2), places)
    np.testing.assert_array_equal(
        np.frombuffer(data, np.uint8, n, 8 + 8 * n), picture_levels(places)
    )
    assert "immutable" in reply.headers["cache-control"]
    assert reply.headers["vary"] == "Cookie"
    again = client.get(
        path_of(campaign, "models/1/map/layout"), headers={"If-None-Match": reply.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path_of(campaign, "models/2/map/layout")).status_code == 404


def test_a_sheet_shows_each_new_image_of_its_tile_in_its_cell(
    client: TestClient, owner: Account
) -> None:
    campaign, places = a_map(owner)
    levels = picture_levels(places)
    seen: set[int] = set()
    for level, column, row in [(0, 0, 0), *((1, x, y) for x in (0, 1) for y in (0, 1))]:
        tiles, _ = locate(places, level)
        new = np.flatnonzero((levels == level) & (tiles == [column, row]).all(axis=1))
        reply = client.get(path_of(campaign, f"models/1/map/sheets/{level}/{column}/{row}"))
        assert reply.status_code == (200 if len(new) else 404)
        if not len(new):
            continue
        sheet = np.asarray(PIL.Image.open(io.BytesIO(reply.content)).convert("RGBA"), np.int16)
        assert sheet.shape == (SIDE, SIDE, 4)
        filled = {tuple(at // CELL) for at in np.argwhere(sheet[..., 3] > 0)}
        assert len(filled) == len(new)
        for image in new.tolist():
            x, y = np.floor(places[image] * (CELLS << level)).astype(int) % CELLS * CELL
            # Images of 16 pixels fill their cell of 64.
            shown = sheet[y : y + CELL, x : x + CELL, :3].reshape(16, 4, 16, 4, 3).mean(axis=(1, 3))
            differences = [np.abs(shown - pixels_of(campaign, k)).mean() for k in range(30)]
            assert int(np.argmin(differences)) == image
        seen |= set(new.tolist())
    assert len(seen) == (levels <= 1).sum() > 20


def pixels_of(campaign: Campaign, position: int) -> NDArray[np.int16]:
    with transaction() as session:
        sha256 = session.scalars(
            select(Image.sha256).where(
                Image.collection_id == campaign.collection_id, Image.position == position
            )
        ).one()
    data = image_bytes(campaign.collection_id, sha256, "small")
    return np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"), np.int16)


def test_layouts_and_sheets_are_made_once(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, _ = a_map(owner)
    paths = [path_of(campaign, f"models/1/map/{part}") for part in ("layout", "sheets/0/0/0")]
    first = [client.get(path).content for path in paths]
    with transaction() as session:
        session.execute(update(EmbeddedImage).values(x=0.0))
    monkeypatch.setattr("app.maps.sheets._drawn", lambda _: pytest.fail("drawn again"))
    layouts._recent.clear()
    assert [client.get(path).content for path in paths] == first


def in_clusters(campaign: Campaign) -> NDArray[np.int64]:
    """Move the model's images into five clusters in three dimensions, all in one line of the map;
    (N,) the cluster of each."""
    own = np.arange(campaign.n_images) % 5
    noise = np.random.default_rng(5).normal(0, 0.1, (campaign.n_images, 3))
    vectors = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4], [4, 4, 4]])[own] + noise
    with transaction() as session:
        for position, vector in enumerate(vectors):
            here = EmbeddedImage.position == position
            values = {"vector": vector, "x": position / campaign.n_images, "y": 0.5}
            session.execute(update(EmbeddedImage).where(here).values(**values))
    return own


def test_tsne_brings_neighbours_together_and_is_made_once(
    client: TestClient, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, _ = a_map(owner)
    own, n = in_clusters(campaign), campaign.n_images
    path = path_of(campaign, "models/1/map/layout?method=tsne")
    data = client.get(path).content
    places = np.frombuffer(data, "<f4", 2 * n, 8).reshape(n, 2)
    far = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(far, np.inf)
    nearest = far.argsort(axis=1)[:, :3]
    assert (own[nearest] == own[:, None]).mean() > 0.9
    assert places.min() >= 0
    assert places.max() <= 1
    np.testing.assert_array_equal(
        np.frombuffer(data, np.uint8, n, 8 + 8 * n), picture_levels(places)
    )
    monkeypatch.setattr("learning.tsne_map.tsne_map", lambda *_: pytest.fail("computed again"))
    assert client.get(path).content == data
    assert client.get(path_of(campaign, "models/1/map/layout")).content != data
    assert client.get(path_of(campaign, "models/1/map/layout?method=umap")).status_code == 422


def test_sheets_and_selections_follow_the_layout(client: TestClient, owner: Account) -> None:
    campaign, _ = a_map(owner)
    in_clusters(campaign)
    sheet = path_of(campaign, "models/1/map/sheets/0/0/0")
    by_axes, by_tsne = (client.get(sheet + query).content for query in ("", "?method=tsne"))
    assert by_axes != by_tsne
    n = campaign.n_images
    data = client.get(path_of(campaign, "models/1/map/layout?method=tsne")).content
    places = np.frombuffer(data, "<f4", 2 * n, 8).reshape(n, 2)
    path = path_of(campaign, "models/1/map/selection.csv?method=tsne")
    [row] = csv.DictReader(io.StringIO(client.post(path, json={"images": [9]}).text))
    assert (float(row["x"]), float(row["y"])) == pytest.approx(tuple(places[9]))


def test_one_tsne_is_computed_at_a_time(client: TestClient, owner: Account) -> None:
    campaign, _ = a_map(owner)
    path = path_of(campaign, "models/1/map/layout?method=tsne")
    with one_at_a_time():
        busy = client.get(path)
    assert (busy.status_code, busy.json()["code"]) == (503, "busy")
    assert busy.headers["retry-after"] == "5"
    assert client.get(path).status_code == 200


def test_images_are_found_by_name_and_by_position(client: TestClient, owner: Account) -> None:
    campaign, _ = a_map(owner)
    images = client.get(path_of(campaign, "map/images?find=IMAGE-00")).json()["items"]
    assert [image["position"] for image in images] == list(range(10))
    assert client.get(path_of(campaign, "map/images?find=%25")).json()["items"] == []
    many = client.get(path_of(campaign, "map/images?find=image")).json()
    assert (len(many["items"]), many["total"]) == (20, 30)
    given = client.get(path_of(campaign, "map/images?at=7&at=3")).json()["items"]
    assert [image["filename"] for image in given] == ["image-007.png", "image-003.png"]
    bundle = client.get(path_of(campaign, "map/pictures/small?at=7&at=3")).content
    length = int.from_bytes(bundle[:4], "little")
    shown = np.asarray(PIL.Image.open(io.BytesIO(bundle[4 : 4 + length])).convert("RGB"), np.int16)
    np.testing.assert_array_equal(shown, pixels_of(campaign, 7))
    missing = client.get(path_of(campaign, "map/images?at=30"))
    assert (missing.status_code, missing.json()["code"]) == (422, "unknown_image")


def test_columns_are_attributes_and_what_an_annotator_saw(
    client: TestClient, owner: Account
) -> None:
    campaign, _ = a_map(owner)
    who = a_session(client, campaign)
    first = a_lease(client, who)
    images = [shown["image"] for shown in first["images"]]
    submit(client, who, first, groups=[0, 0, 1, 1, -1, 2], descriptions=["Sea", " sky ", "SEA"],
           unseen=[images[3]])  # fmt: skip
    listed = client.get(path_of(campaign, "map/columns")).json()
    assert listed == {"attributes": ["colour"], "annotators": [{"annotator": 0, "n_answers": 1}]}
    column = client.get(path_of(campaign, "map/column?attribute=colour")).json()
    assert [column["values"][code] for code in column["codes"][:4]] == [
        "red", "green", "blue", "red",
    ]  # fmt: skip
    seen = client.get(path_of(campaign, "map/column?annotator=0")).json()
    by_image = {k: seen["values"][code] for k, code in enumerate(seen["codes"]) if code >= 0}
    expected = ["Sea", "Sea", "sky", None, "left over", "Sea"]
    assert [by_image.get(image) for image in images] == expected
    assert len(by_image) == 5
    for missing in ("attribute=shape", "annotator=7"):
        assert client.get(path_of(campaign, f"map/column?{missing}")).status_code == 404


def test_the_last_word_of_an_annotator_counts(client: TestClient, owner: Account) -> None:
    campaign, _ = a_map(owner)
    who = a_session(client, campaign)
    last: dict[int, str] = {}
    for word in ("one", "two", "three"):
        lease = a_lease(client, who)
        submit(client, who, lease, groups=[0] * 6, descriptions=[word])
        last |= {shown["image"]: word for shown in lease["images"]}
    seen = client.get(path_of(campaign, "map/column?annotator=0")).json()
    assert last == {k: seen["values"][code] for k, code in enumerate(seen["codes"]) if code >= 0}


def test_a_selection_is_taken_away_as_csv(client: TestClient, owner: Account) -> None:
    campaign, places = a_map(owner)
    with transaction() as session:
        session.execute(update(Image).where(Image.position == 4).values(filename="=1+1.png"))
    path = path_of(campaign, "models/1/map/selection.csv")
    rows = list(csv.DictReader(io.StringIO(client.post(path, json={"images": [9, 4]}).text)))
    assert [(row["image"], row["filename"]) for row in rows] == [
        ("4", "'=1+1.png"),
        ("9", "image-009.png"),
    ]
    assert float(rows[1]["x"]) == pytest.approx(places[9, 0])
    assert rows[1]["colour"] == "red"
    assert client.post(path, json={"images": [99]}).status_code == 422
