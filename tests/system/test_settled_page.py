"""In a real browser: how settled the neighbours are, what is still needed, the map by certainty,
and a campaign that ended by itself."""

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from app.campaigns.models import Campaign
from testbed.builders import an_account, reloaded
from testbed.system import System
from tests.app.test_split_half import ROUND, a_bins_campaign, by_likeness, compare
from tests.support.asked import learn
from tests.support.people import a_person
from tests.support.screens import picture
from tests.system.test_attributes_in_browser import owner_of
from tests.system.test_map_page import open_map, settled

pytestmark = pytest.mark.browser


def a_measured_campaign(web: System, target: float | None) -> Campaign:
    """A campaign whose first round is full, learned and measured."""
    campaign = a_bins_campaign(an_account(), target, reward_cents=100, grids_per_assignment=20)
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        for k in range(ROUND // 20):
            person = a_person(http, campaign, f"somebody-else-{k:04d}")
            for _ in range(20):
                lease = person.lease()
                groups = by_likeness([shown["image"] for shown in lease["images"]])
                assert person.submit(lease, groups=groups).json()["status"] == "stored"
    learn()
    compare()
    return campaign


def watched(browser: Browser, width: int, scheme: str) -> tuple[Page, list[str]]:
    context = browser.new_context(
        viewport={"width": width, "height": 1000},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    return page, errors


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_what_is_still_needed_and_what_is_certain_on_the_map(
    browser: Browser, web: System, width: int, scheme: str
) -> None:
    campaign = a_measured_campaign(web, target=0.95)
    assert reloaded(campaign.id).state == "running"
    page, errors = watched(browser, width, scheme)
    open_map(page, web, owner_of(campaign), campaign, "?selected=3")
    page.get_by_label("Colour by").select_option("neighbours that would stay")
    expect(page.get_by_role("button", name="60 – 80 %").or_(
        page.get_by_role("button", name="40 – 60 %")
    ).first).to_be_visible()  # fmt: skip
    assert "colour=settled" in page.url
    expect(page.get_by_test_id("kept")).to_contain_text("would stay with as many other answers")
    settled(page)
    picture(page, f"certain-map-{width}")
    page.goto(f"{web.base_url}/campaigns/{campaign.id}")
    panel = page.get_by_test_id("settled")
    expect(panel).to_contain_text(f"would be the same with {ROUND} other answers")
    expect(panel).to_contain_text("Until the target of 95\u00a0%: about")
    expect(panel).to_contain_text("$")
    panel.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture(page, f"settled-{width}")
    assert errors == []


def test_a_campaign_that_ended_by_itself_says_what_was_saved(browser: Browser, web: System) -> None:
    campaign = a_measured_campaign(web, target=0.2)
    assert reloaded(campaign.id).state == "finished"
    page, errors = watched(browser, 1440, "light")
    open_map(page, web, owner_of(campaign), campaign)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}")
    expect(page.get_by_test_id("alert-good_enough")).to_contain_text(
        f"The campaign ended early: {kept_share(page)}"
    )
    expect(page.get_by_test_id("alert-good_enough")).to_contain_text(
        f"{2 * ROUND} answers were not needed"
    )
    expect(page.get_by_test_id("settled")).to_contain_text("This reaches the target of 20\u00a0%.")
    picture(page, "ended-by-itself")
    assert errors == []


def kept_share(page: Page) -> str:
    """The share as the panel has it, "71 %", which both places must agree on."""
    text = page.get_by_test_id("settled").locator("p").first.inner_text()
    share = text.split("\u00a0")[0]
    assert 0 < np.float64(share) <= 100
    return f"{share}%"
