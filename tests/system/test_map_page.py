"""The map in a real browser: zoom, find, lasso, ask more here; with WebGL and without."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Route, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.jobs.models import Job
from app.results.models import EmbeddedImage, Model
from testbed.builders import a_campaign, an_account, reloaded
from testbed.system import System, wait_until

pytestmark = pytest.mark.browser
SLOW = 30_000
NO_WEBGL = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return kind === 'webgl2' ? null : real.call(this, kind, ...rest);
};
"""


def a_mapped_campaign(owner: Account) -> Campaign:
    """Two models of 30 images: by 6 in each corner of the map and in its middle, then mirrored."""
    campaign = a_campaign(owner, kind="bins", strategy="crowdster", grid_size=6)
    rng = np.random.default_rng(0)
    centres = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9], [0.5, 0.5]])
    places = np.clip(np.repeat(centres, 6, axis=0) + rng.normal(0, 0.03, (30, 2)), 0, 1)
    with transaction() as session:
        for version in (1, 2):
            job = Job(campaign_id=campaign.id, state="done")
            session.add(job)
            session.flush()
            model = Model(
                campaign_id=campaign.id,
                job_id=job.id,
                version=version,
                round_number=1,
                strategy="crowdster",
                settings={},
                metrics={},
                n_answers=version,
                artifact_key="-",
            )
            session.add(model)
            session.flush()
            shown = places if version == 2 else 1 - places
            session.add_all(
                EmbeddedImage(model_id=model.id, position=at, vector=place, x=place[0], y=place[1])
                for at, place in enumerate(shown)
            )
    return campaign


def open_map(page: Page, web: System, owner: Account, campaign: Campaign, query: str = "") -> None:
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/map{query}")
    settled(page)


def settled(page: Page) -> None:
    expect(page.get_by_test_id("map")).to_have_attribute("data-settled", "true", timeout=SLOW)


def n_pictures(page: Page) -> int:
    return int(page.get_by_test_id("map").get_attribute("data-pictures") or 0)


def pixels(page: Page) -> int:
    """Number of distinct colours on the canvas as it is seen."""
    shown = Image.open(io.BytesIO(page.get_by_test_id("map").screenshot())).convert("RGB")
    return len(shown.getcolors(2**24) or [])


def drag_around(page: Page, x: float, y: float, reach: float) -> None:
    """A diamond around a place of the unit square, as it is shown after *Show all*."""
    box = page.get_by_test_id("map").bounding_box()
    assert box is not None
    scale = min(box["width"], box["height"]) - 60
    centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    corners = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)]
    for number, (right, down) in enumerate(corners):
        page.mouse.move(
            centre[0] + scale * (x - 0.5 + reach * right),
            centre[1] + scale * (y - 0.5 + reach * down),
            steps=5,
        )
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def test_the_map_is_looked_at_and_more_is_asked_about_a_part_of_it(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    owner = an_account()
    campaign = a_mapped_campaign(owner)
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_map(page, web, owner, campaign)
    canvas = page.get_by_test_id("map")
    expect(canvas).to_have_attribute("data-surface", "webgl")
    expect(canvas).to_have_attribute("data-detail", "near")
    whole = n_pictures(page)
    assert whole >= 5
    assert pixels(page) > 50, "the canvas is blank"

    page.get_by_label("Colour by").select_option("attribute:colour")
    legend = page.get_by_role("button", name="red")
    expect(legend).to_contain_text("10")
    legend.click()
    expect(page.get_by_role("button", name="green")).to_have_attribute("aria-pressed", "false")
    expect(page).to_have_url(
        f"{web.base_url}/campaigns/{campaign.id}/map?colour=attribute%3Acolour"
    )

    page.get_by_role("button", name="Select with a lasso").click()
    drag_around(page, 0.5, 0.5, 0.2)
    selection = page.get_by_test_id("selection")
    expect(selection).to_contain_text("6 selected")
    expect(selection.get_by_role("img")).to_have_count(6)
    with page.expect_download() as download:
        selection.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "selection.csv")
    rows = list(csv.DictReader((tmp_path / "selection.csv").open()))
    assert [int(row["image"]) for row in rows] == list(range(24, 30))
    selection.get_by_role("button", name="Ask more here").click()
    expect(selection.get_by_role("status")).to_contain_text("ask more about these")
    assert reloaded(campaign.id).settings["focus_images"] == list(range(24, 30))
    expect(page.get_by_test_id("focus-images")).to_contain_text("6 chosen images")

    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -700)
    wait_until("fewer images in view", lambda: 0 < n_pictures(page) <= 6)
    page.keyboard.press("Escape")
    page.get_by_role("application").press("0")
    wait_until("all images in view", lambda: n_pictures(page) == whole)

    # The first model is the mirror of the second: image 0 is in the far corner there.
    page.get_by_label("Model over time").fill("0")
    expect(canvas).to_have_attribute("data-version", "1")
    settled(page)
    page.wait_for_timeout(900)
    page.keyboard.down("Shift")
    drag_around(page, 0.9, 0.9, 0.25)
    page.keyboard.up("Shift")
    expect(page.get_by_test_id("selection").get_by_role("img").first).to_be_visible()
    expect(page.get_by_test_id("selection")).to_contain_text("6 selected")
    expect(page.get_by_test_id("selection")).to_contain_text("Select the newest model")
    page.get_by_label("Find an image").fill("image-003.png")
    expect(page.get_by_test_id("neighbours")).to_contain_text("Nearest to image-003.png")
    assert "model=1" in page.url
    assert "selected=3" in page.url
    page.reload()
    expect(page.get_by_test_id("neighbours")).to_contain_text("Nearest to image-003.png")
    expect(canvas).to_have_attribute("data-version", "1")
    wait_until("all images in view", lambda: n_pictures(page) == whole)

    # The graphics card forgets the page: for a moment, then for good.
    canvas.evaluate("""one => {
        one.dataset.before = 'yes';
        const context = one.getContext('webgl2').getExtension('WEBGL_lose_context');
        context.loseContext();
        setTimeout(() => context.restoreContext(), 300);
    }""")
    expect(canvas).not_to_have_attribute("data-before", "yes", timeout=SLOW)
    settled(page)
    expect(canvas).to_have_attribute("data-surface", "webgl")
    wait_until("the map painted anew", lambda: pixels(page) > 50)
    lose = "one => one.getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    canvas.evaluate(lose)
    expect(canvas).to_have_attribute("data-surface", "2d", timeout=SLOW)
    settled(page)
    wait_until("the map without WebGL", lambda: pixels(page) > 50)
    assert errors == []


def test_a_browser_without_webgl_shows_the_same_images(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_mapped_campaign(owner)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.add_init_script(NO_WEBGL)
    page = context.new_page()

    def broken(route: Route) -> None:
        route.fulfill(status=503, body="")

    open_map(page, web, owner, campaign, "?model=99")
    expect(page.get_by_test_id("map")).to_have_attribute("data-surface", "2d")
    assert pixels(page) > 50, "the canvas is blank"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    # Pictures that do not come leave dots, and no error on the page.
    page.route("**/map/pictures/**", broken)
    page.get_by_label("Pictures").select_option("large")
    page.get_by_role("button", name="Zoom in").click()
    settled(page)
    context.close()
