"""Images of a collection: added, searched, shown, and their attributes out and in again."""

import csv
import io
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections.media import image_urls
from testbed.builders import a_campaign, a_collection, a_png
from tests.app.test_collections import a_collection_id, upload
from tests.support.images import hashes_of


def test_a_cache_that_people_share_keeps_an_image_for_a_day_and_no_refusal(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection(owner, 1)
    path = image_urls(collection.id, hashes_of(collection.id, 0)[0], "thumb")[0]
    shown = client.get(path)
    assert shown.status_code == 200
    kept = shown.headers["cache-control"].split(", ")
    assert {"public", "immutable", "s-maxage=86400"} <= set(kept)
    assert "set-cookie" not in shown.headers
    refused = client.get(path.partition("?")[0])
    assert (refused.status_code, refused.headers["cache-control"]) == (404, "no-store")


@pytest.mark.usefixtures("owner")
def test_images_are_found_by_name_value_and_lack_of_a_value(client: TestClient) -> None:
    collection = a_collection_id(client)
    table = (
        b"filename,colour,kind of thing,feature_0\n"
        b"apple 100%.png,red,fruit,1\nfire_truck.png,dark red,car,2\n"
        b"sky.png,blue,,\ncol:on.png,,,\n"
    )
    names = ["apple 100%.png", "fire_truck.png", "sky.png", "col:on.png"]
    upload(client, collection, *((n, a_png(k)) for k, n in enumerate(names)), ("t.csv", table))

    def matches(**query: Any) -> list[str]:
        reply = client.get(f"/api/v1/collections/{collection}/images", params=query)
        assert reply.status_code == 200, reply.text
        assert reply.json()["total"] == len(reply.json()["items"])
        return [image["filename"].partition(".")[0] for image in reply.json()["items"]]

    assert matches(search="red") == ["apple 100%", "fire_truck"]
    assert matches(search="colour:red") == ["apple 100%"]
    assert matches(search="COLOUR:red") == []
    assert matches(search="colour:RED") == ["apple 100%"]
    assert matches(search="colour:*red") == ["apple 100%", "fire_truck"]
    assert matches(search='colour:"dark red"') == ["fire_truck"]
    assert matches(search='"kind of thing":car TRUCK') == ["fire_truck"]
    assert matches(search="col:on") == ["col:on"]
    # Wildcards of SQL are letters like others.
    assert matches(search="100%") == ["apple 100%"]
    assert matches(search="e_t") == ["fire_truck"]
    assert matches(search="%") == ["apple 100%"]
    assert matches(search="colour") == []
    # So are those of patterns, quotation marks and backslashes.
    for nothing in (".*", "[a-z]", '"', "\\", "\\d", "$", '") || true', "re\\d"):
        assert matches(search=nothing) == [], nothing
    assert matches(attribute=["colour:red", "colour:blue"]) == ["apple 100%", "sky"]
    assert matches(attribute=["colour:blue"], missing=["kind of thing"]) == ["sky"]
    assert matches(missing=["colour"]) == ["col:on"]
    assert matches(sort="filename", descending=True)[0] == "sky"
    assert matches(sort="attribute:colour") == ["sky", "fire_truck", "apple 100%", "col:on"]
    assert matches(sort="features", descending=True)[:2] == ["apple 100%", "fire_truck"]
    for bad in ({"sort": "height"}, {"attribute": "colour"}, {"search": "x" * 501}):
        reply = client.get(f"/api/v1/collections/{collection}/images", params=bad)
        assert reply.status_code == 422, bad


def test_pages_of_a_search_join_up(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner)
    root = f"/api/v1/collections/{collection.id}/images"
    for query in ("", "&search=image", "&sort=filename&descending=true", "&descending=true"):
        whole = client.get(f"{root}?limit=1000{query}").json()
        assert whole["total"] == 30
        parts = [client.get(f"{root}?offset={k}&limit=7{query}").json() for k in range(0, 30, 7)]
        assert [image for part in parts for image in part["items"]] == whole["items"]
    values = client.get(f"/api/v1/collections/{collection.id}/attributes").json()["items"]
    assert values == [
        {
            "name": "colour",
            "n_images": 30,
            "n_values": 3,
            "values": [{"value": v, "n_images": 10} for v in ("blue", "green", "red")],
        }
    ]


@pytest.mark.usefixtures("owner")
def test_attributes_go_out_and_come_back_changed(client: TestClient) -> None:
    collection = a_collection_id(client)
    files = [("same.png", a_png(1)), ("other.png", a_png(2))]
    upload(
        client, collection, *files, ("t.csv", b"filename,colour\nsame.png,=1+1\nother.png,red\n")
    )
    upload(client, collection, ("same.png", a_png(3)))
    text = client.get(f"/api/v1/collections/{collection}/attributes.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["colour"] for row in rows] == ["'=1+1", "red", ""]
    # Two images of one name are told apart by their hashes; an empty cell takes the value away.
    rows[1]["colour"], rows[2]["colour"] = "", "blue"
    changed = io.StringIO()
    writer = csv.DictWriter(changed, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    report = upload(client, collection, ("again.csv", changed.getvalue().encode()))
    assert report["rejected"] == []
    images = client.get(f"/api/v1/collections/{collection}/images").json()["items"]
    assert [image["attributes"] for image in images] == [{"colour": "=1+1"}, {}, {"colour": "blue"}]
    # Without hashes the two are one name too few.
    report = upload(client, collection, ("by-name.csv", b"filename,colour\nsame.png,green\n"))
    assert "several images with the same name" in report["rejected"][0]["reason"]


@pytest.mark.usefixtures("owner")
def test_only_files_that_are_there_are_known(client: TestClient) -> None:
    collection = a_collection_id(client)
    upload(client, collection, ("a.png", a_png(1)))
    [here] = client.get(f"/api/v1/collections/{collection}/images").json()["items"]
    asked = {"sha256": [here["sha256"], "0" * 64]}
    reply = client.post(f"/api/v1/collections/{collection}/files/known", json=asked)
    assert reply.json() == {"known": [{"sha256": here["sha256"], "filename": "a.png"}]}
    other = a_collection_id(client)
    assert client.post(f"/api/v1/collections/{other}/files/known", json=asked).json()["known"] == []


@pytest.mark.usefixtures("owner")
def test_without_javascript_one_form_makes_a_collection_of_files(client: TestClient) -> None:
    files = [("files", ("a.png", a_png(1))), ("files", ("b.txt", b"text"))]
    page = client.post("/collections", data={"name": "Plain"}, files=files)
    assert "1 added, 0 already there" in page.text
    assert "b.txt" in page.text
    none = client.post("/collections", data={"name": "Plain"}, follow_redirects=False)
    assert none.status_code == 303
    shown = client.get(none.headers["location"]).text
    assert 'data-name="Plain"' in shown


def test_an_image_tells_where_it_is_shown(client: TestClient, owner: Account) -> None:
    collection = a_collection(owner, 6)
    campaign = a_campaign(owner, collection, budget=3, grid_size=6)
    [sha256] = hashes_of(collection.id, 2)
    image = client.get(f"/api/v1/collections/{collection.id}/images/{sha256}").json()
    assert image["filename"] == "image-002.png"
    assert len(image["features"]) == 2
    [shown] = image["campaigns"]
    assert (shown["id"], shown["n_grids"], shown["n_answers"]) == (str(campaign.id), 3, 0)
    missing = client.get(f"/api/v1/collections/{collection.id}/images/{'0' * 64}")
    assert missing.status_code == 404


def test_very_long_images_are_counted_named_and_found_first(
    client: TestClient, owner: Account
) -> None:
    collection = a_collection_id(client)
    sizes = {"wall": (20, 100), "flag": (100, 25), "strip": (300, 3), "tower": (10, 41)}
    files = [(f"{name}.png", a_png(k, size[::-1])) for k, (name, size) in enumerate(sizes.items())]
    report = client.post(
        f"/collections/{collection}/files", files=[("files", file) for file in files]
    )
    assert "3 images with sides of more than 4:1, for example strip.png" in report.text
    address = f"/api/v1/collections/{collection}"
    # A hundred by twenty-five is 4:1 exactly, and no more.
    assert client.get(f"{address}/shapes").json() == {
        "n_extreme": 3,
        "examples": ["strip.png", "wall.png", "tower.png"],
    }
    found = client.get(f"{address}/images", params={"sort": "shape", "descending": True}).json()
    names = ["strip.png", "wall.png", "tower.png", "flag.png"]
    assert [image["filename"] for image in found["items"]] == names
    square = a_collection(owner, 2)
    shapes = client.get(f"/api/v1/collections/{square.id}/shapes").json()
    assert shapes == {"n_extreme": 0, "examples": []}
