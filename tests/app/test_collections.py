"""Collections: what goes in, what is refused and why, and that the rest goes in all the same."""

import io
import struct
import time
import zipfile
import zlib
from typing import Any

import PIL.Image
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.accounts.models import Account
from app.collections.models import Image
from app.core.database import transaction
from testbed.builders import a_png, a_table, a_zip, an_account, sign_in

File = tuple[str, bytes]


def a_collection_id(client: TestClient) -> str:
    created = client.post("/api/v1/collections", json={"name": "Pictures"})
    assert created.status_code == 201
    return str(created.json()["id"])


def upload(client: TestClient, collection: str, *files: File) -> dict[str, Any]:
    reply = client.post(
        f"/api/v1/collections/{collection}/files",
        files=[("files", (name, data)) for name, data in files],
    )
    assert reply.status_code == 200, reply.text
    report: dict[str, Any] = reply.json()
    return report


def a_flat_png(width: int, height: int) -> bytes:
    """A tiny PNG file that claims (and has) width × height black pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    row = b"\0" * (width // 8 + 2)
    packer = zlib.compressobj(9)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    )


@pytest.mark.usefixtures("owner")
def test_images_get_dense_positions_and_duplicates_are_folded(client: TestClient) -> None:
    collection = a_collection_id(client)
    report = upload(
        client, collection, ("a.png", a_png(1)), ("b.png", a_png(2)), ("a-again.png", a_png(1))
    )
    assert [file["position"] for file in report["added"]] == [0, 1]
    assert report["duplicates"] == [{"filename": "a-again.png", "same_as": "a.png"}]
    again = upload(client, collection, ("b.png", a_png(2)), ("c.png", a_png(3)))
    assert [file["position"] for file in again["added"]] == [2]
    assert again["n_images"] == 3


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("notes.png", b"this is a text file", "not_an_image"),
        ("empty.png", b"", "rejected_image"),
        ("huge.png", a_flat_png(30_000, 30_000), "too_many_pixels"),
        ("flood.png", a_flat_png(9_000, 9_000), "too_many_pixels"),
        ("cut.png", a_png(1, (64, 64))[:900], "damaged_image"),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not_an_image"),
        ("empty.zip", a_zip([]), "empty_archive"),
        ("broken.zip", b"PK\x03\x04 and then nothing", "rejected_archive"),
        ("latin.csv", "filename,über\n".encode("latin-1"), "bad_attribute_table"),
        ("nameless.csv", b"file,colour\na.png,red\n", "bad_attribute_table"),
        ("ragged.csv", b"filename,colour\ngood.png\n", "bad_attribute_table"),
        ("words.csv", b"filename,feature_0\ngood.png,seven\n", "bad_attribute_table"),
    ],
)
def test_a_bad_file_is_reported_by_name_while_the_rest_goes_in(
    client: TestClient, name: str, data: bytes, code: str
) -> None:
    collection = a_collection_id(client)
    started = time.monotonic()
    report = upload(client, collection, (name, data), ("good.png", a_png(5)))
    assert time.monotonic() - started < 5
    assert [(file["filename"], file["code"]) for file in report["rejected"]] == [(name, code)]
    assert len(report["rejected"][0]["reason"]) > 15
    assert [file["filename"] for file in report["added"]] == ["good.png"]


@pytest.mark.usefixtures("owner")
def test_unsafe_entries_of_a_zip_are_refused_and_the_others_taken(client: TestClient) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.png", a_png(1))
        archive.writestr("/etc/evil.png", a_png(2))
        link = zipfile.ZipInfo("link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bomb.png", b"\0" * 20_000_000)
        archive.writestr("__MACOSX/._a.png", b"noise")
        archive.writestr("folder/good.png", a_png(3))
    report = upload(client, a_collection_id(client), ("mixed.zip", buffer.getvalue()))
    assert {file["filename"]: file["code"] for file in report["rejected"]} == {
        "../../evil.png": "unsafe_name",
        "/etc/evil.png": "unsafe_name",
        "link.png": "symbolic_link",
        "bomb.png": "too_large",
    }
    assert [file["filename"] for file in report["added"]] == ["good.png"]


@pytest.mark.usefixtures("owner")
def test_only_pixels_survive(client: TestClient) -> None:
    collection = a_collection_id(client)
    upload(client, collection, ("polyglot.png", a_png(1) + b"<script>alert(1)</script>"))
    page = client.get(f"/api/v1/collections/{collection}/images").json()
    served = client.get(page["items"][0]["url"])
    assert served.headers["content-type"] == "image/webp"
    assert served.headers["x-content-type-options"] == "nosniff"
    assert b"script" not in served.content
    with PIL.Image.open(io.BytesIO(served.content)) as picture:
        assert picture.size == (16, 16)


@pytest.mark.usefixtures("owner")
def test_an_image_address_without_its_signature_is_not_found(client: TestClient) -> None:
    collection = a_collection_id(client)
    upload(client, collection, ("a.png", a_png(1)))
    url = client.get(f"/api/v1/collections/{collection}/images").json()["items"][0]["url"]
    assert client.get(url).status_code == 200
    assert client.get(url.partition("?")[0]).status_code == 404
    assert client.get(url[:-1] + ("0" if url[-1] != "0" else "1")).status_code == 404


@pytest.mark.usefixtures("owner")
def test_a_table_brings_attributes_and_features(client: TestClient) -> None:
    collection = a_collection_id(client)
    files = [(f"image-{k:03d}.png", a_png(k)) for k in range(4)]
    report = upload(client, collection, ("table.csv", a_table(5)), *files)
    assert report["attributes"] == ["colour"]
    # The table's fifth row names an image that is not there: said, and the others are used.
    assert report["rejected"] == []
    assert "image-004.png" in report["partly_used"][0]["reason"]
    with transaction() as session:
        images = session.scalars(select(Image).order_by(Image.position)).all()
    assert [image.attributes["colour"] for image in images] == ["red", "green", "blue", "red"]
    assert all(image.features and len(image.features) == 2 for image in images)


@pytest.mark.usefixtures("owner")
def test_a_table_may_come_later_and_name_a_duplicate_by_its_other_name(client: TestClient) -> None:
    collection = a_collection_id(client)
    upload(client, collection, ("a.png", a_png(1)), ("b.png", a_png(1)))
    table = ("table.csv", b"filename,colour\nb.png,red\n")
    refused = upload(client, collection, table)
    assert [file["code"] for file in refused["rejected"]] == ["bad_attribute_table"]
    assert "were used" not in refused["rejected"][0]["reason"]
    reply = client.post(
        f"/api/v1/collections/{collection}/files",
        files=[("files", table)],
        data={"aliases": '{"b.png": "a.png"}'},
    ).json()
    assert (reply["rejected"], reply["partly_used"]) == ([], [])
    with transaction() as session:
        assert [image.attributes for image in session.scalars(select(Image))] == [{"colour": "red"}]


@pytest.mark.usefixtures("owner")
def test_feature_vectors_of_two_lengths_are_refused_whole(client: TestClient) -> None:
    collection = a_collection_id(client)
    upload(client, collection, ("a.png", a_png(1)), ("t.csv", b"filename,feature_0\na.png,1\n"))
    report = upload(
        client,
        collection,
        ("b.png", a_png(2)),
        ("t.csv", b"filename,feature_0,feature_1\nb.png,1,2\n"),
    )
    assert report["rejected"][0]["code"] == "bad_attribute_table"
    with transaction() as session:
        features = session.scalars(select(Image.features).order_by(Image.position)).all()
    assert features == [[1.0], None]


def test_somebody_elses_collection_is_not_found(client: TestClient, owner: Account) -> None:
    collection = a_collection_id(client)
    sign_in(client, an_account("eve@example.org"))
    for path in ("", "/images"):
        assert client.get(f"/api/v1/collections/{collection}{path}").status_code == 404
    reply = client.post(
        f"/api/v1/collections/{collection}/files", files=[("files", ("a.png", a_png(1)))]
    )
    assert reply.status_code == 404


def test_pages_ask_strangers_to_sign_in(client: TestClient) -> None:
    page = client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in")
    assert client.get("/api/v1/collections").status_code == 401


@pytest.mark.usefixtures("owner")
def test_a_request_from_another_site_is_refused(client: TestClient) -> None:
    no_origin = {"sec-fetch-site": "cross-site", "origin": "null"}
    foreign = {"origin": "https://evil.example"}
    for headers in ({"sec-fetch-site": "cross-site"}, foreign, no_origin):
        reply = client.post("/api/v1/collections", json={"name": "x"}, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (403, "cross_site_request")
        assert "access-control-allow-origin" not in reply.headers
    # Annotators carry no cookies; still only frames without an origin are let through.
    opening = client.post("/api/v1/annotate/steps", json={"step": "consent"}, headers=foreign)
    assert opening.json()["code"] == "cross_site_request"
    assert client.get("/api/v1/collections").json()["items"] == []
