"""What one account keeps is bounded, and whoever meets the bound is told what to do."""

import io

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.accounts.models import Account
from app.annotation.importing.service import import_answers
from app.annotation.models import Answer
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign
from app.campaigns.sharing import share_campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.jobs.service import request_job
from app.results.learn import run_learning_job
from app.results.models import EmbeddedImage, Model
from app.results.quota import require_room_for_models
from testbed.builders import a_campaign, a_collection, a_png, an_account, sign_in
from tests.conftest import forget_settings
from tests.support.archives import archive_of, bring


@pytest.fixture
def five_images(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_IMAGES", "5")
    forget_settings()


@pytest.fixture
def twenty_answers(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_ANSWERS", "20")
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


@pytest.mark.usefixtures("twenty_answers")
def test_an_account_asks_for_so_many_answers_in_all_its_campaigns(client: TestClient) -> None:
    owner, other = an_account("greedy@example.org"), an_account("quiet@example.org")
    collection = a_collection(owner)
    first = a_campaign(owner, collection, budget=12)
    sign_in(client, owner)
    draft = {"collection_id": str(collection.id), "name": "More", "budget": 9, "rounds": 1,
             "grid_size": 6}  # fmt: skip
    second = f"/api/v1/campaigns/{client.post('/api/v1/campaigns', json=draft).json()['id']}"
    refused = client.post(f"{second}/actions/start")
    assert (refused.status_code, refused.json()["code"]) == (422, "account_full")
    assert "up to 20 answers" in refused.json()["detail"]
    assert "LIKEWISE_MAX_ACCOUNT_ANSWERS" in refused.json()["detail"]
    assert client.get(second).json()["state"] == "draft"
    assert a_campaign(other, budget=20).state == "running"
    assert client.patch(second, json={"budget": 8}).status_code == 200
    assert client.post(f"{second}/actions/start").status_code == 200
    assert client.patch(second, json={"budget": 9, "rounds": 2}).status_code == 422
    # A finished campaign counts with the answers that it has.
    assert client.post(f"/api/v1/campaigns/{first.id}/actions/finish").status_code == 200
    assert client.patch(second, json={"budget": 20, "rounds": 2}).status_code == 200
    assert client.post(f"/api/v1/campaigns/{first.id}/actions/reopen").status_code == 422


@pytest.mark.usefixtures("twenty_answers")
def test_whoever_starts_a_campaign_its_owner_has_the_limit(client: TestClient) -> None:
    """An editor sees the shared campaign alone, and the limit all of its owner's."""
    owner, editor = an_account("greedy@example.org"), an_account("editor@example.org")
    collection = a_collection(owner)
    a_campaign(owner, collection, budget=12)
    with transaction() as session:
        plan = CampaignPlan(
            collection_id=collection.id, name="More", budget=9, rounds=1, grid_size=6
        )
        draft = create_campaign(session, owner, plan)
        share_campaign(session, owner, draft, editor.email, "edit")
    sign_in(client, editor)
    refused = client.post(f"/api/v1/campaigns/{draft.id}/actions/start")
    assert (refused.status_code, refused.json()["code"]) == (422, "account_full")


@pytest.mark.usefixtures("environment")
def test_imported_answers_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=12)
    with transaction() as session:
        names = list(session.scalars(select(Image.filename).order_by(Image.position)))
    lines = [
        f'{{"annotator": "a", "images": ["{names[0]}", "{name}"], "groups": [0, 1]}}\n'
        for name in names[1:5]
    ]
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_ANSWERS", "15")
    forget_settings()
    with pytest.raises(InvalidInput, match="LIKEWISE_MAX_ACCOUNT_ANSWERS"):
        bring_answers(owner, campaign, lines)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Answer)) == 0
    assert bring_answers(owner, campaign, lines[:3]) == 3


def bring_answers(owner: Account, campaign: Campaign, lines: list[str]) -> int:
    with transaction() as session:
        file = io.BytesIO("".join(lines).encode())
        return import_answers(session, owner, campaign.id, file, learn=False).n_new


def test_an_account_keeps_so_many_positions_in_all_its_models(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = an_account("greedy@example.org"), an_account("quiet@example.org")
    first, others = a_campaign(owner), a_campaign(other)
    monkeypatch.setenv("LIKEWISE_MAX_ACCOUNT_POSITIONS", str(2 * first.n_images - 1))
    forget_settings()
    with transaction() as session:
        job = request_job(session, first.id, watermark=1)
        require_room_for_models(session, owner.id, first.n_images)
        model = Model(
            campaign_id=first.id, job_id=job.id, version=1, round_number=1, strategy="cen",
            settings={}, metrics={}, n_answers=1, artifact_key="models/x",
        )  # fmt: skip
        session.add(model)
        session.flush()
        last = first.n_images - 1
        session.add(EmbeddedImage(model_id=model.id, position=last, vector=[0.0], x=0, y=0))
    # Before anything is learned, so that no time is spent on what cannot be kept.
    with pytest.raises(InvalidInput, match="LIKEWISE_MAX_ACCOUNT_POSITIONS"):
        run_learning_job(first.id, job.id, 1)
    with transaction() as session:
        require_room_for_models(session, other.id, others.n_images)
