"""In a real browser: learned attributes are named and span the map, and a part of the map becomes a
cluster and a collection."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select, update

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.database import transaction
from app.results.learn import map_of
from app.results.models import EmbeddedImage
from testbed.builders import an_account
from testbed.system import System
from tests.app.test_insight import a_campaign_with_model
from tests.system.test_attributes_in_browser import owner_of
from tests.system.test_map_page import drag_around, open_map, settled

pytestmark = pytest.mark.browser
GROUPS = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])


def a_campaign_with_attributes() -> Campaign:
    """Thirty images in four groups, by attribute 0 (the column `eyes`) and attribute 2."""
    owner = an_account()
    campaign = a_campaign_with_model(owner)
    own = np.arange(campaign.n_images) % 4
    noise = np.random.default_rng(0).normal(0, 0.05, (len(own), 3))
    vectors = np.insert(GROUPS[own].astype(float), 1, 0.0, axis=1) + noise
    places = map_of(vectors)
    with transaction() as session:
        for at, (vector, (x, y)) in enumerate(zip(vectors, places, strict=True)):
            here = EmbeddedImage.position == at
            session.execute(update(EmbeddedImage).where(here).values(vector=vector, x=x, y=y))
        query = select(Image).where(Image.collection_id == campaign.collection_id)
        for image in session.scalars(query):
            image.attributes = {"eyes": ["closed", "open"][image.position % 2]}
    return campaign


def watched(browser: Browser) -> tuple[Page, list[str]]:
    page = browser.new_context(viewport={"width": 1280, "height": 1300}).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    return page, errors


def test_an_attribute_is_named_after_a_column_and_a_corner_of_its_map_is_kept(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    campaign = a_campaign_with_attributes()
    page, errors = watched(browser)
    open_map(page, web, owner_of(campaign), campaign)

    page.goto(f"{web.base_url}/campaigns/{campaign.id}/attributes")
    expect(page.get_by_test_id("column-match").first).to_contain_text(
        "This looks like your column “eyes”: AMI 1.00", timeout=30_000
    )
    page.get_by_role("button", name="Name it “eyes”").click()
    expect(page.get_by_role("heading", name="eyes")).to_be_visible()
    expect(page.get_by_role("button", name="Name it “eyes”")).to_have_count(0)
    page.screenshot(path=tmp_path / "attributes.png", full_page=True)

    page.goto(f"{web.base_url}/campaigns/{campaign.id}/map")
    settled(page)
    expect(page.get_by_test_id("axis-up")).to_contain_text("2nd principal axis")
    page.get_by_label("Layout").select_option("learned attributes")
    expect(page.get_by_test_id("axis-across")).to_contain_text("eyes")
    expect(page.get_by_test_id("axis-across")).to_contain_text("blue →")
    page.get_by_label("Colour by").select_option("eyes")
    expect(page.get_by_role("button", name="blue")).to_be_visible()
    assert "layout=axes-0-2" in page.url
    page.wait_for_timeout(900)
    settled(page)
    page.screenshot(path=tmp_path / "map.png", full_page=True)

    page.get_by_role("button", name="Select with a lasso").click()
    drag_around(page, 0.95, 0.95, 0.14)
    selection = page.get_by_test_id("selection")
    expect(selection).to_contain_text("8 selected")
    selection.get_by_text("Save as a cluster").click()
    selection.get_by_label("Name of the cluster").fill("open and huge")
    selection.get_by_role("button", name="Save cluster").click()
    expect(page.get_by_role("button", name="open and huge")).to_contain_text("8")
    page.screenshot(path=tmp_path / "cluster.png", full_page=True)

    page.get_by_role("button", name="New collection…").click()
    page.get_by_label("Name", exact=True).fill("Open and huge")
    page.get_by_role("button", name="Create collection").click()
    expect(page.get_by_test_id("import")).to_contain_text("of 8 rows")

    page.goto(f"{web.base_url}/campaigns/{campaign.id}/clusters")
    page.get_by_role("button", name="All 22 images of the rest").click()
    shown = page.get_by_test_id("cluster-images")
    expect(shown.get_by_role("img")).to_have_count(22)
    shown.get_by_label("Order").select_option("worst fit first")
    expect(shown.get_by_role("img")).to_have_count(22)
    page.screenshot(path=tmp_path / "images.png")
    assert errors == []


def test_two_attributes_are_merged_and_split_again(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    campaign = a_campaign_with_attributes()
    page, errors = watched(browser)
    open_map(page, web, owner_of(campaign), campaign)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/attributes")
    cards = page.get_by_test_id("attributes").locator("article")
    expect(cards).to_have_count(2)
    first = cards.first
    first.get_by_label("Merge “").select_option("huge")
    expect(cards).to_have_count(1)
    expect(first).to_contain_text("Merged from the attributes 0, 2")
    # Their four combinations.
    expect(first.locator(".clusters section")).to_have_count(4)
    expect(first.get_by_label("Merge “")).to_have_count(0)
    page.screenshot(path=tmp_path / "merged.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=tmp_path / "merged-390.png", full_page=True)
    first.get_by_role("button", name="Split again").click()
    expect(cards).to_have_count(2)
    expect(first.get_by_role("button", name="Split again")).to_have_count(0)
    assert errors == []
