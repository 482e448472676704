"""Images that are described for people who do not see them, in Chromium's accessibility tree."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import an_account, reloaded
from testbed.system import System
from tests.app.test_alt_texts import SEEN, a_described_campaign, remove
from tests.support.accessibility_tree import spoken
from tests.support.annotators_page import (
    link_of,
    no_errors_on_the_page,
    opened,
)
from tests.support.axe import violations
from tests.support.kinds import PLANS
from tests.support.person import OPEN, SLOW, TILES, Person

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
READY = {**SEEN, "show_instructions": False}


def a_page(browser: Browser, web: System, campaign: Campaign, locale: str = "en") -> Page:
    page = opened(browser, link_of(campaign, web), locale=locale)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    return page


def said_of_images(page: Page) -> str:
    """All that a screen reader can read."""
    return "\n".join(node.name for node in spoken(page))


def expected(page: Page) -> list[str]:
    """The images' own descriptions."""
    numbers = page.locator(TILES).evaluate_all("all => all.map(one => Number(one.dataset.image))")
    return ["" if k == 0 else "barn barn" if k == 1 else f"Image of {k}" for k in numbers]


@pytest.mark.parametrize("kind", PLANS)
def test_every_kind_of_task_names_images_with_their_descriptions(
    browser: Browser, web: System, kind: str
) -> None:
    campaign = a_described_campaign(kind=kind, annotation=READY, **PLANS[kind])
    page = a_page(browser, web, campaign)
    tiles = page.locator(TILES)
    for index, text in enumerate(expected(page)):
        label = tiles.nth(index).get_attribute("aria-label") or ""
        assert (f": {text}" in label) if text else (": " not in label), label
    if kind in ("odd_one_out", "nearer"):
        # There is nothing to be read before the images can be answered.
        expect(page.locator(OPEN)).to_be_visible(timeout=SLOW)
    for text in filter(None, expected(page)):
        assert f": {text}" in said_of_images(page)
    # It is not to be seen.
    assert "Image of" not in page.locator("body").inner_text()
    assert violations(page) == []


def test_a_german_hears_the_number_in_german(browser: Browser, web: System) -> None:
    page = a_page(browser, web, a_described_campaign(annotation=READY), "de")
    first = page.locator(TILES).nth(2)
    number = first.get_attribute("data-image")
    expect(first).to_have_attribute("aria-label", re.compile(rf"^Bild 3: Image of {number}, "))


def test_announcements_stay_short_and_the_large_view_shows_no_description(
    browser: Browser, web: System
) -> None:
    page = a_page(browser, web, a_described_campaign(annotation=READY))
    third = page.locator(TILES).nth(2)
    number = third.get_attribute("data-image")
    Person(page, "keyboard", lambda _: 0).focus(int(number or 0))
    page.keyboard.press("1")
    expect(third).to_have_attribute("aria-label", f"Image 3: Image of {number}, in Group 1")
    said = [node.name for node in spoken(page) if node.live]
    assert any("Image 3" in name for name in said)
    assert not any("Image of" in name for name in said)
    third.focus()
    page.keyboard.press("Space")
    large = page.get_by_role("dialog")
    expect(large.get_by_role("img", name=f"Image 3: Image of {number}")).to_be_visible()
    assert "Image of" not in large.inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report a broken image").click()
    reported = page.get_by_role("dialog").get_by_role("button", name=f"Image 3: Image of {number}")
    expect(reported).to_be_visible()


def test_practice_names_them_too(browser: Browser, web: System) -> None:
    known = {"known_attribute": "colour", "practice": 1}
    page = a_page(browser, web, a_described_campaign(annotation={**READY, **known}))
    assert "Image of" in said_of_images(page)


def settings_page(browser: Browser, web: System, campaign: Campaign) -> Page:
    page = browser.new_page()
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    return page


def test_a_requester_chooses_the_attribute_and_learns_when_it_is_gone(
    browser: Browser, web: System
) -> None:
    campaign = a_described_campaign(an_account(), annotation={})
    page = settings_page(browser, web, campaign)
    choice = page.get_by_label("Image descriptions from attribute")
    assert choice.locator("option").all_inner_texts() == ["none", "colour", "seen"]
    expect(page.get_by_text("A description can influence answers")).to_be_visible()
    choice.select_option("seen")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(f"{web.base_url}/campaigns/{campaign.id}")
    assert reloaded(campaign.id).annotation["alt_text_attribute"] == "seen"
    remove(campaign)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    expect(page.get_by_text("has the attribute “seen” any more")).to_be_visible()
    expect(choice).to_have_value("seen")
