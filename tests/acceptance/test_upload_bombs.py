"""Hostile files are refused or made harmless, within two seconds and 300 MB each."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.collections.media import image_url
from app.collections.models import Image
from app.core.database import transaction
from testbed.builders import a_png, an_account, sign_in
from testbed.servers import ROOT
from tests.app.test_collections import a_collection_id, upload
from tests.support.archive_bombs import CASES
from tests.support.bombs import SCRIPT, TAKEN

# Of CPU: how long a busy machine takes says nothing about a file.
MOST_SECONDS = 2.0
MOST_MEGABYTES = 300
MOST_MEMBERS = 2_000
# In these all members are refused, and nothing is said of the archive.
SMALL = 200_000


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    """A process that decodes each file in a child of its own."""
    first = tmp_path_factory.mktemp("first") / "first.png"
    first.write_bytes(a_png(0))
    environment = {
        "DATABASE_URL": "postgresql+psycopg://nobody@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1",
        "LIKEWISE_SECRET_KEY": "test",
        "LIKEWISE_MAX_COLLECTION_IMAGES": str(MOST_MEMBERS),
        "OMP_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.measured_decoding", str(first)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def decoded(process: "subprocess.Popen[str]", path: Path) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    measured: dict[str, Any] = json.loads(process.stdout.readline())
    return measured


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_costs_little_and_is_refused_or_made_harmless(
    decoder: "subprocess.Popen[str]", tmp_path: Path, name: str
) -> None:
    filename, data, expected = CASES[name]()
    path = tmp_path / filename
    path.write_bytes(data)
    measured = decoded(decoder, path)
    assert set(measured["outcomes"]) == {expected}, measured
    assert measured["seconds"] <= MOST_SECONDS, measured
    assert measured["megabytes"] <= MOST_MEGABYTES, measured


@pytest.fixture
def many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_MAX_COLLECTION_IMAGES", str(MOST_MEMBERS))


@pytest.mark.usefixtures("many_members")
def test_all_at_once_over_http_lose_nothing_else_and_leave_only_pixels(client: TestClient) -> None:
    """The small ones together with a good image: one file never fails the upload of others."""
    owner = an_account()
    sign_in(client, owner)
    cases = [make() for make in CASES.values()]
    files = [(f"{k}-{name}", data) for k, (name, data, _) in enumerate(cases) if len(data) < SMALL]
    report = upload(client, a_collection_id(client), *files, ("good.png", a_png(5)))
    taken = {image["filename"] for key in ("added", "duplicates") for image in report[key]}
    expected = {
        f"{k}-{name}"
        for k, (name, data, outcome) in enumerate(cases)
        if outcome == TAKEN and len(data) < SMALL
    }
    assert taken == {*expected, "good.png"}
    with transaction() as session:
        addresses = [image_url(image, "large") for image in session.scalars(select(Image))]
    for address in addresses:
        served = client.get(address)
        assert served.headers["content-type"] == "image/webp"
        assert served.headers["x-content-type-options"] == "nosniff"
        assert SCRIPT[:8] not in served.content
        assert b"<?php" not in served.content
        with PIL.Image.open(io.BytesIO(served.content)) as picture:
            assert (picture.format, dict(picture.getexif())) == ("WEBP", {})
            assert "n_frames" not in vars(picture) or picture.n_frames == 1  # type: ignore[attr-defined]
