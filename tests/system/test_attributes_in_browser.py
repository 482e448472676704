"""In a real browser: the t-SNE layout, known columns, and what an answer is about."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select, update

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.database import transaction
from app.core.storage import put_object
from app.results.learn import map_of
from app.results.models import EmbeddedImage, Model
from app.strategies.answer_attributes import FILE, answer_attributes_of
from learning.groupings import from_answers
from testbed.builders import an_account
from testbed.system import System
from tests.app.test_annotation import a_lease, a_session, submit
from tests.app.test_insight import a_campaign_with_model
from tests.system.test_map_page import SLOW, open_map, settled

pytestmark = pytest.mark.browser
SPECIES = np.array(["owl", "duck", "wren", "jay", "crow"])


@pytest.fixture
def campaign(web: System) -> Campaign:
    """Thirty images of five species, which the embedding parts in all its three columns."""
    campaign = a_campaign_with_model(an_account())
    own = np.arange(campaign.n_images) % 5
    centres = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4], [4, 4, 4]])
    vectors = centres[own] + np.random.default_rng(0).normal(0, 0.2, (len(own), 3))
    places = map_of(vectors)
    with transaction() as session:
        for at, (vector, (x, y)) in enumerate(zip(vectors, places, strict=True)):
            here = EmbeddedImage.position == at
            session.execute(update(EmbeddedImage).where(here).values(vector=vector, x=x, y=y))
        query = select(Image).where(Image.collection_id == campaign.collection_id)
        for image in session.scalars(query):
            image.attributes = {"species": str(SPECIES[own[image.position]])}
    return campaign


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that complains about its own errors."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == []


def owner_of(campaign: Campaign) -> Account:
    with transaction() as session:
        return session.get_one(Account, campaign.owner_id)


def test_the_layout_is_chosen_and_stays_in_the_address(
    page: Page, web: System, campaign: Campaign, tmp_path: Path
) -> None:
    open_map(page, web, owner_of(campaign), campaign, "?colour=attribute:species")
    canvas = page.get_by_test_id("map")
    before = canvas.screenshot(path=tmp_path / "axes.png")
    page.get_by_label("Layout").select_option("t-SNE")
    expect(page.get_by_text("Computing the layout")).to_have_count(0, timeout=SLOW)
    settled(page)
    assert canvas.screenshot(path=tmp_path / "tsne.png") != before
    assert "layout=tsne" in page.url
    page.reload()
    settled(page)
    expect(page.get_by_label("Layout")).to_have_value("tsne")
    page.screenshot(path=tmp_path / "page.png", full_page=True)


def test_attributes_are_compared_with_the_table(
    page: Page, web: System, campaign: Campaign, tmp_path: Path
) -> None:
    open_map(page, web, owner_of(campaign), campaign)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/compare")
    table = page.get_by_test_id("known-columns")
    expect(table.get_by_role("columnheader", name="species")).to_contain_text("5 values")
    whole = table.get_by_role("row", name="all dimensions together")
    expect(whole).to_contain_text("AMI 1.00")
    expect(whole).to_contain_text("100 % matched (chance 20 %)")
    expect(table.get_by_role("row", name="attribute 0")).to_contain_text("AMI 0.")
    page.screenshot(path=tmp_path / "page.png", full_page=True)


def test_an_answer_played_back_says_what_it_is_about(
    page: Page, web: System, campaign: Campaign, tmp_path: Path
) -> None:
    from app.main import app

    with TestClient(app) as client:
        who = a_session(client, campaign)
        lease = a_lease(client, who)
        assert submit(client, who, lease).status_code == 200
    images = [shown["image"] for shown in lease["images"]]
    answers = from_answers([images], [[0, 1] * 3], [0], campaign.n_images, 1)
    attributes = answer_attributes_of(np.array([[0.05, 0.0, 0.83]]), [0, 2], answers)
    with transaction() as session:
        model = session.scalars(select(Model).where(Model.campaign_id == campaign.id)).one()
        model.artifact_key = f"models/{campaign.id}/test"
    put_object(f"models/{campaign.id}/test/{FILE}", attributes.to_bytes())
    open_map(page, web, owner_of(campaign), campaign)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    page.get_by_role("button", name="Play back annotator 0").click(timeout=SLOW)
    about = page.get_by_test_id("about")
    expect(about).to_have_text("About attribute 2: huge (83 %), by model 1.", timeout=SLOW)
    page.screenshot(path=tmp_path / "page.png", full_page=True)
