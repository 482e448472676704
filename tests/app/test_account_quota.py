"""What one account keeps is bounded, and whoever meets the bound is told what to do."""

import io

import pytest
from fastapi.testclient import TestClient

from app.collections.models import Collection
from app.core.database import transaction
from testbed.builders import a_campaign, a_collection, a_png, an_account, sign_in
from tests.conftest import forget_settings
from tests.support.archives import archive_of, bring


@pytest.fixture
def five_images(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_IMAGES", "5")
    forget_settings()


def upload(client: TestClient, collection: Collection, seeds: range) -> dict[str, list[str]]:
    files = [("files", (f"{seed}.png", io.BytesIO(a_png(seed)))) for seed in seeds]
    reply = client.post(f"/api/v1/collections/{collection.id}/files", files=files)
    assert reply.status_code == 200, reply.text
    report = reply.json()
    return {
        "added": [file["filename"] for file in report["added"]],
        "refused": [file["reason"] for file in report["rejected"]],
    }


@pytest.mark.usefixtures("five_images")
def test_an_account_keeps_so_many_images_in_all_its_collections(client: TestClient) -> None:
    owner, other = an_account("greedy@example.org"), an_account("quiet@example.org")
    a_collection(owner, n=3)
    second, elsewhere = a_collection(owner, n=1), a_collection(other, n=1)
    sign_in(client, owner)
    report = upload(client, second, range(100, 103))
    assert report["added"] == ["100.png"]
    assert len(report["refused"]) == 2
    assert "5 images in all its collections together" in report["refused"][0]
    assert "LIKEWISE_MAX_ACCOUNT_IMAGES" in report["refused"][0]
    # An image that is there already is no more.
    assert upload(client, second, range(100, 101)) == {"added": [], "refused": []}
    sign_in(client, other)
    assert len(upload(client, elsewhere, range(100, 103))["added"]) == 3


def test_an_archive_that_does_not_fit_is_refused_whole(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner, n=8))
    sign_in(client, owner)
    archive = archive_of(client, campaign)
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_IMAGES", "15")
    forget_settings()
    refused = bring(client, archive)
    assert refused.status_code == 422, refused.text
    assert refused.json()["code"] == "account_full"
    with transaction() as session:
        assert session.query(Collection).count() == 1
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_IMAGES", "16")
    forget_settings()
    assert bring(client, archive).status_code == 201
