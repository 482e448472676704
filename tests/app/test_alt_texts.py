"""Descriptions of images for people who use screen readers."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.annotation.preview import preview_of
from app.campaigns import alt_texts
from app.campaigns.alt_texts import LONGEST, shortened
from app.campaigns.changes import clone_campaign
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.collections.models import Collection
from app.collections.tables import apply_table
from app.core.database import transaction
from app.core.errors import InvalidInput
from testbed.builders import COLOURS, a_campaign, a_collection, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, submit

LONG = "barn " * 100
SEEN = {"alt_text_attribute": "seen"}


def a_described_collection(owner: Account, n: int = 30) -> Collection:
    """Every image but the first is described; the second at length."""
    texts = ["", f'"{LONG}"', *(f"Image of {k}." for k in range(2, n))]
    lines = ["filename,colour,feature_0,seen"]
    lines += [f"image-{k:03d}.png,{COLOURS[k % 3]},{k},{text}" for k, text in enumerate(texts)]
    return a_collection(owner, n, "\n".join(lines).encode())


def a_described_campaign(owner: Account | None = None, **plan: object) -> Campaign:
    owner = owner or an_account()
    values: dict[str, object] = {"annotation": SEEN, "budget": 40, **plan}
    return a_campaign(owner, a_described_collection(owner), **values)


def described(images: list[dict[str, Any]]) -> None:
    """Check each of an annotator's images."""
    for shown in images:
        k = shown["image"]
        if k == 0:
            assert shown["alt_text"] == ""
        elif k == 1:
            assert shown["alt_text"].startswith("barn barn")
            assert shown["alt_text"].endswith("barn…")
            assert len(shown["alt_text"]) <= LONGEST
        else:
            assert shown["alt_text"] == f"Image of {k}"


def remove(campaign: Campaign) -> None:
    """Delete the attribute from every image."""
    lines = ["filename,seen", *(f"image-{k:03d}.png," for k in range(30))]
    with transaction() as session:
        collection = session.get_one(Collection, campaign.collection_id)
        apply_table(session, collection, "\n".join(lines).encode(), {})


def test_every_grid_of_an_annotator_is_described(client: TestClient) -> None:
    campaign = a_described_campaign(grid_size=30)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    assert len(lease["images"]) == 30
    described(lease["images"])
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    described(ahead["images"])
    following = submit(client, who, lease, next=True).json()["next"]["lease"]
    described(following["images"])


def test_practice_and_previews_are_described(client: TestClient) -> None:
    known = {"known_attribute": "colour", "practice": 1}
    campaign = a_described_campaign(annotation={**SEEN, **known})
    who = a_session(client, campaign)
    client.post("/api/v1/annotate/steps", json={"step": "instructions"}, headers=who)
    practice = client.get("/api/v1/annotate/practice", headers=who).json()["images"]
    described(practice)
    assert any(shown["alt_text"] for shown in practice)
    with transaction() as session:
        shown = preview_of(session, session.get_one(Campaign, campaign.id), "")
    for grid in shown.grids:
        described([image.model_dump() for image in grid])


def test_campaigns_without_it_read_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alt_texts, "_TEXTS", None)
    owner = an_account()
    campaign = a_campaign(owner, a_described_collection(owner))
    lease = a_lease(client, a_session(client, campaign))
    assert {shown["alt_text"] for shown in lease["images"]} == {""}


def test_a_changed_table_counts_from_the_next_grid(client: TestClient) -> None:
    campaign = a_described_campaign()
    who = a_session(client, campaign)
    a_lease(client, who)
    remove(campaign)
    # What is described no more has its number.
    assert {shown["alt_text"] for shown in a_lease(client, who)["images"]} == {""}


def change(client: TestClient, campaign: Campaign, **values: Any) -> Any:
    return client.patch(f"/api/v1/campaigns/{campaign.id}/annotation", json=values)


def test_an_unknown_attribute_is_refused_with_those_there_are(client: TestClient) -> None:
    owner = an_account()
    campaign = a_described_campaign(owner, annotation={})
    sign_in(client, owner)
    reply = change(client, campaign, alt_text_attribute="scene")
    assert (reply.status_code, reply.json()["code"]) == (422, "bad_annotation")
    assert "'scene'" in reply.json()["detail"]
    assert reply.json()["detail"].endswith("Its attributes: colour, seen.")
    assert "alt_text_attribute" in reply.json()["detail"]
    assert change(client, campaign, alt_text_attribute="seen").status_code == 200
    assert reloaded(campaign.id).annotation["alt_text_attribute"] == "seen"
    other = {"alt_text_attribute": "other"}
    plan = CampaignPlan(name="C", collection_id=campaign.collection_id, annotation=other)
    with transaction() as session, pytest.raises(InvalidInput, match="Its attributes: colour"):
        create_campaign(session, owner, plan)


def test_an_attribute_that_is_gone_leaves_other_settings_changeable(client: TestClient) -> None:
    owner = an_account()
    campaign = a_described_campaign(owner)
    remove(campaign)
    sign_in(client, owner)
    assert change(client, campaign, thanks="Thanks.").status_code == 200
    page = client.get(f"/campaigns/{campaign.id}/annotation").text
    assert "No image of the collection has the attribute “seen” any more." in page
    assert '<option value="seen" selected>seen (no image has it)</option>' in page
    # A copy has no setting that it could not be created with.
    with transaction() as session:
        copy = clone_campaign(session, owner, campaign.id)
    assert copy.annotation["alt_text_attribute"] == ""


def test_a_copy_is_described_and_a_draft_does_not_start_without(client: TestClient) -> None:
    owner = an_account()
    campaign = a_described_campaign(owner)
    with transaction() as session:
        copy = clone_campaign(session, owner, campaign.id)
    assert copy.annotation["alt_text_attribute"] == "seen"
    remove(campaign)
    with transaction() as session, pytest.raises(InvalidInput, match="'seen'"):
        start_campaign(session, owner, copy.id)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A red\n barn.", "A red barn"),
        ("雪" * 400, "雪" * (LONGEST - 1) + "…"),
        ("x" * (LONGEST - 2), "x" * (LONGEST - 2)),
        # As it is kept of a longer text.
        (("words " * 60)[:LONGEST], ("words " * 33).strip() + "…"),
    ],
)
def test_texts_are_in_one_line_and_cut_between_words(text: str, shown: str) -> None:
    assert shortened(text) == shown
