"""Everything that is stored, in S3-compatible storage: what a folder does, it does too."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from typer.testing import CliRunner

from app.archive.manifest import SIZES as ARCHIVED_SIZES
from app.collections.garbage import remove_discarded
from app.collections.images import SIZES
from app.collections.models import Image
from app.core import storage
from app.core.database import transaction
from app.core.outages import through_outages
from likewise import environment as up
from likewise.cli import cli
from testbed.builders import a_campaign, a_png, an_account, sign_in
from testbed.object_store import BUCKET, ObjectStore, running_object_store
from testbed.servers import Servers
from testbed.settings import forget_settings, used_here
from tests.app.test_annotation import a_session
from tests.app.test_collections import a_collection_id, upload
from tests.conftest import settings_over
from tests.setup.test_up import command
from tests.support.archives import a_played_campaign, archive_of, bring, what_there_is
from tests.support.image_imports import an_importer, counts, finished, names_of, start


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with running_object_store(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def environment(servers: Servers, store: ObjectStore, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An empty database, and an empty prefix of the bucket."""
    with servers.lent_database() as url:
        values = {
            **settings_over(servers, url, tmp_path),
            **store.settings,
            "STORAGE_URL": f"s3://{BUCKET}/{uuid.uuid4().hex}/deep",
        }
        with used_here(values):
            yield values


@pytest.mark.usefixtures("environment")
def test_storage_has_the_same_verbs() -> None:
    odd = "images/ü &+%/x y#z?.webp"
    storage.put_object("a/b/1", b"one")
    storage.put_object("a/bb/2", b"two")
    storage.put_object(odd, b"odd")
    storage.put_pieces("large", (bytes([number]) * 2**20 for number in range(12)))
    storage.put_pieces("empty", iter([]))
    assert storage.get_object("a/b/1") == b"one"
    assert storage.get_object(odd) == b"odd"
    assert storage.get_object("empty") == b""
    large = b"".join(storage.stream_object("large"))
    assert large == b"".join(bytes([number]) * 2**20 for number in range(12))
    assert (storage.has_object("a/b/1"), storage.has_object("a/b")) == (True, False)
    for read in (storage.get_object, lambda key: list(storage.stream_object(key))):
        with pytest.raises(FileNotFoundError):
            read("nothing")
    assert storage.list_objects("a/b") == ["a/b/1"]
    assert set(storage.all_keys()) == {"a/b/1", "a/bb/2", odd, "large", "empty"}
    storage.delete_objects(["large", "nothing"])
    storage.delete_below("a/b")
    storage.delete_below("nothing")
    assert set(storage.all_keys()) == {"a/bb/2", odd, "empty"}
    storage.delete_everything()
    assert list(storage.all_keys()) == []


@pytest.mark.usefixtures("environment")
def test_more_objects_than_a_page_lists_are_listed_and_removed() -> None:
    for number in range(1_100):
        storage.put_object(f"many/{number}", b"")
    assert len(storage.list_objects("many")) == 1_100
    storage.delete_below("many")
    assert list(storage.all_keys()) == []


def test_images_are_stored_shown_bundled_and_removed(
    client: TestClient, store: ObjectStore, environment: dict[str, str]
) -> None:
    owner = an_account()
    sign_in(client, owner)
    collection = a_collection_id(client)
    upload(client, collection, *[(f"{number}.png", a_png(number)) for number in range(6)])
    folder = environment["STORAGE_URL"].removeprefix(f"s3://{BUCKET}/")
    kept = [key for key in store.all_keys() if key.startswith(f"{folder}/images/{collection}/")]
    assert len(kept) == 6 * len(SIZES)
    shown = client.get(f"/api/v1/collections/{collection}/images").json()["items"][0]
    assert client.get(shown["url"]).content.startswith(b"RIFF")
    with transaction() as session:
        image = session.scalars(select(Image).where(Image.position == 0)).one()
    removed = client.post(
        f"/api/v1/collections/{collection}/images/delete", json={"sha256": [image.sha256]}
    )
    assert removed.status_code == 200, removed.text
    with transaction() as session:
        remove_discarded(session)
    assert storage.list_objects(f"images/{collection}/{image.sha256}") == []
    assert len(storage.list_objects(f"images/{collection}")) == 5 * len(SIZES)


def test_a_grid_s_images_come_in_one_response(client: TestClient) -> None:
    campaign = a_campaign(grid_size=6)
    who = a_session(client, campaign)
    lease = client.post("/api/v1/annotate/leases", headers=who).json()["lease"]
    address = f"/api/v1/annotate/leases/{lease['id']}/images/small"
    n, rest = 0, client.get(address, headers=who).content
    while rest:
        size = int.from_bytes(rest[:4], "little")
        assert rest[4:8] == b"RIFF"
        rest, n = rest[4 + size :], n + 1
    assert n == 6


def test_models_exports_and_archives_go_through_it(client: TestClient) -> None:
    campaign = a_played_campaign(client)
    files = storage.list_objects(f"models/{campaign.id}")
    assert files
    before = what_there_is()
    restored = bring(client, archive_of(client, campaign))
    assert restored.status_code == 201, restored.text
    after = what_there_is()
    n_images, n_files = (
        len(new) - len(old) for old, new in zip(before[-2:], after[-2:], strict=True)
    )
    assert (n_images, n_files) == (campaign.n_images * len(ARCHIVED_SIZES), len(files))
    base = f"/api/v1/campaigns/{restored.json()['id']}"
    names = [entry["file"] for entry in client.get(f"{base}/exports").json()["files"]]
    assert "archive.zip" in names
    replies = {name: client.get(f"{base}/export/{name}") for name in names}
    failed = {name: reply.text for name, reply in replies.items() if reply.status_code != 200}
    assert failed == {}


def test_imports_read_from_a_bucket(
    client: TestClient, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        store.client.put_object(Bucket=BUCKET, Key=f"open/{number}.png", Body=a_png(number))
    store.client.put_object(Bucket=BUCKET, Key="closed/0.png", Body=a_png(9))
    monkeypatch.setenv("LIKEWISE_IMPORT_SOURCES", f"s3://{BUCKET}/open")
    forget_settings()
    an_importer(client, monkeypatch)
    collection = a_collection_id(client)
    summary = finished(client, collection, start(client, collection, prefix=f"s3://{BUCKET}/open"))
    assert counts(summary) == (3, 0, 0)
    assert len(names_of(collection)) == 3
    refused = start(client, collection, prefix=f"s3://{BUCKET}/closed")
    assert refused.status_code == 422


def test_a_backup_has_all_objects_and_restores_them_to_another_prefix(
    environment: dict[str, str], servers: Servers, tmp_path: Path
) -> None:
    a_campaign()
    before = {key: storage.get_object(key) for key in storage.all_keys()}
    file = tmp_path / "backup.zip"
    made = command(tmp_path, "backup", str(file), **environment)
    assert made.returncode == 0, made.stderr
    url = servers.new_database("template1")
    elsewhere = {
        **environment,
        "DATABASE_URL": url,
        "STORAGE_URL": f"s3://{BUCKET}/{uuid.uuid4().hex}",
        "LIKEWISE_DATA": str(tmp_path / "new"),
    }
    arguments = ("restore", str(file), "--into", str(tmp_path / "new"))
    restored = command(tmp_path, *arguments, **elsewhere)
    assert restored.returncode == 0, restored.stderr
    with used_here(elsewhere):
        assert {key: storage.get_object(key) for key in storage.all_keys()} == before
    again = command(tmp_path, *arguments, **{**elsewhere, "LIKEWISE_DATA": str(tmp_path / "2")})
    assert "The storage at STORAGE_URL is not empty" in again.stderr
    servers.drop_database(url)


def storage_of_doctor() -> str:
    lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
    return next(line for line in lines if "storage  " in line)


def test_a_server_without_https_needs_no_further_word(environment: dict[str, str]) -> None:
    assert storage_of_doctor().startswith("ok ")
    with used_here({"AWS_ENDPOINT": "", "AWS_ENDPOINT_URL": environment["AWS_ENDPOINT"]}):
        assert storage_of_doctor().startswith("ok ")


def test_a_bucket_that_is_not_there_makes_no_server_ready(client: TestClient) -> None:
    assert client.get("/readyz").json()["checks"]["storage"] == "ok"
    with used_here({"STORAGE_URL": "s3://no-such-bucket/x"}):
        assert client.get("/readyz").json()["checks"]["storage"].startswith("not reachable")
        assert storage_of_doctor().startswith("FAIL")


def test_storage_that_is_away_is_said_and_waited_for(
    client: TestClient, tmp_path: Path, environment: dict[str, str]
) -> None:
    with running_object_store(tmp_path / "s3") as own, used_here(own.settings):
        sign_in(client, an_account())
        collection = a_collection_id(client)
        upload(client, collection, ("0.png", a_png(0)))
        shown = client.get(f"/api/v1/collections/{collection}/images").json()["items"][0]
        own.stop()
        reply = client.get(shown["url"])
        assert (reply.status_code, reply.json()["code"]) == (503, "storage_unavailable")
        assert reply.headers["retry-after"]
        refused = client.post(
            f"/api/v1/collections/{collection}/files", files=[("files", ("1.png", a_png(1)))]
        )
        assert refused.json()["code"] == "storage_unavailable"
        tries = []

        def store_it() -> str:
            tries.append(1)
            if len(tries) > 1:
                own.start()
                own.client.create_bucket(Bucket=BUCKET)
            storage.put_object("models/1", b"trained")
            return "stored"

        assert through_outages("storing", store_it) == "stored"
        assert len(tries) == 2
        assert client.get("/healthz").is_success


def test_an_address_that_is_no_storage_is_an_error_in_a_line(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for wrong in ("/srv/storage", "s3:/bucket"):
        refused = command(tmp_path, "serve", **{**environment, "STORAGE_URL": wrong})
        assert refused.returncode == 1
        assert refused.stderr.startswith("likewise: STORAGE_URL: object storage is")
        assert len(refused.stderr.splitlines()) == 1


def test_commands_beside_a_running_up_know_its_storage(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "-----BEGIN-----\nin lines"
    (tmp_path / "data").mkdir()
    up.save({**environment, "AWS_SESSION_TOKEN": "=a=", "GOOGLE_KEY": key, "UNKNOWN": "x"})
    assert (tmp_path / "data" / "runtime.env").stat().st_mode & 0o77 == 0
    for name in {"AWS_SESSION_TOKEN", "GOOGLE_KEY", *environment} - {"LIKEWISE_DATA"}:
        # First set, so that it is as before at the end.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    up.load()
    assert not {"GOOGLE_KEY", "UNKNOWN"} & set(os.environ)
    assert os.environ["AWS_SESSION_TOKEN"] == "=a="
    assert os.environ["AWS_ENDPOINT"] == environment["AWS_ENDPOINT"]
    forget_settings()
    storage.put_object("x", b"x")
    assert storage.get_object("x") == b"x"
