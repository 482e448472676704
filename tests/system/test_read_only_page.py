"""A read-only link in a browser that has no account: every tab, on a desk and on a phone."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.results.clusterings import make_clustering
from app.results.service import get_model
from testbed.builders import an_account
from testbed.servers import ROOT
from testbed.system import System
from tests.app.test_labels import a_labelled_campaign
from tests.system.test_insight_page import a_sorted_campaign

pytestmark = pytest.mark.browser
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
TABS = ["Overview", "Map", "Attributes", "Clusters", "Compare", "Alignment"]
# What is there once a tab has loaded.
LOADED = {
    "Overview": "Models", "Map": "as pictures", "Attributes": "What people see",
    "Clusters": "3 clusters of 30 images", "Compare": "Compare with known columns",
    "Alignment": "None yet", "Labels": "All images",
}  # fmt: skip
# What only those who run a campaign can do.
ACTIONS = (
    "Pause", "Finish", "Start", "Retry", "Ask more", "Make clusters", "Merge", "Delete", "Rename",
    "Download", "Align", "Sign out", "csv", "Which answers",
)  # fmt: skip


@pytest.fixture
def owner(web: System) -> Account:
    return an_account()


@pytest.fixture
def campaign(owner: Account) -> Campaign:
    from app.main import app

    with TestClient(app) as client:
        campaign = a_sorted_campaign(client, owner)
    with transaction() as session:
        for version in (1, 2):
            model = get_model(session, campaign, version)
            make_clustering(session, owner, campaign, model, "k-means", 3, "Three")
    return campaign


@pytest.fixture(params=[(1440, "light"), (390, "dark"), (390, "light")])
def visitor(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh profile; complains about errors in the page, the console and of requests."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda note: complaints.append(note.text) if note.type == "error" else None)
    page.on(
        "response",
        lambda reply: (
            complaints.append(f"{reply.status} {reply.url}") if reply.status >= 400 else None
        ),
    )
    yield page
    context.close()
    assert complaints == []


def link_from_page(browser: Browser, web: System, owner: Account, campaign: Campaign) -> str:
    """The owner creates it on the settings page."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/settings")
    page.get_by_label("Who is it for?").fill('Reviewer <b>2</b> "x"')
    page.get_by_label("End date").select_option("7")
    page.get_by_role("button", name="Create link").click()
    created = page.get_by_test_id("new-read-only-link")
    address = created.get_by_label("Copy the link now").input_value()
    expect(created.get_by_role("button", name="Copy")).to_be_visible()
    expect(page.get_by_text('Reviewer <b>2</b> "x"')).to_be_visible()
    shot(page, "settings")
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    shot(page, "settings-390")
    return address


def shot(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to look at them."""
    if folder := os.environ.get("LIKEWISE_TEST_SHOTS"):
        scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : ''")
        width = page.viewport_size["width"] if page.viewport_size else 0
        path = Path(folder) / f"{name}-{width}{scheme}.png"
        page.screenshot(path=str(path), full_page=True)


def look_around(page: Page, tabs: list[str]) -> None:
    for tab in tabs:
        nav = page.get_by_role("navigation", name="Campaign")
        assert nav.get_by_role("link").all_inner_texts() == tabs
        nav.get_by_role("link", name=tab).click()
        expect(nav.get_by_role("link", name=tab)).to_have_attribute("aria-current", "page")
        expect(page.get_by_test_id("read-only")).to_have_text("Read-only view")
        expect(page.locator("[data-island] > *").first).to_be_visible()
        expect(page.get_by_text(LOADED[tab]).first).to_be_visible()
        expect(page.get_by_text(re.compile("Loading|Comparing"))).to_have_count(0)
        if tab == "Attributes":
            expect(page.get_by_text("This looks like").first).to_be_visible()
        shot(page, tab)
        controls = page.locator("[data-island] :is(button, a, summary):visible")
        names = " · ".join(controls.all_inner_texts())
        assert [action for action in ACTIONS if action in names] == [], (tab, names)
        hrefs = page.locator("main a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        assert [href for href in hrefs if not href.startswith(("/view/", "#"))] == [], tab
        width = page.viewport_size["width"] if page.viewport_size else 0
        assert page.evaluate("document.documentElement.scrollWidth") == width, tab
        page.evaluate(AXE.read_text())
        violations = page.evaluate("axe.run().then(all => all.violations.map(one => one.id))")
        assert violations == [], tab


def test_a_visitor_sees_all_results_and_no_action(
    browser: Browser, web: System, owner: Account, campaign: Campaign, visitor: Page
) -> None:
    visitor.goto(link_from_page(browser, web, owner, campaign))
    look_around(visitor, TABS)
    root = visitor.url.rsplit("/", 1)[0]
    visitor.goto(f"{root}/map?selected=3")
    expect(visitor.get_by_test_id("neighbours").locator("li")).to_have_count(10)
    expect(visitor.get_by_test_id("neighbours").get_by_role("button", name="Which")).to_have_count(
        0
    )
    loaded = "all => all.every(image => image.complete && image.naturalWidth > 0)"
    images = visitor.get_by_test_id("neighbours").locator("img")
    expect(images).to_have_count(11)
    assert images.evaluate_all(loaded)
    shot(visitor, "map-selected")


def test_a_visitor_sees_labels(
    browser: Browser, web: System, owner: Account, visitor: Page
) -> None:
    campaign = a_labelled_campaign(owner)
    visitor.goto(link_from_page(browser, web, owner, campaign))
    look_around(visitor, ["Overview", "Map", "Labels", "Compare"])
    expect(visitor.get_by_text("How well annotators vote")).to_have_count(0)
