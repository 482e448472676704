"""Groups as piles: opened on every screen, and looked at once more before they are sent."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    PHONE,
    at_work,
    grouped,
    kind_of,
    link_of,
    no_errors_on_the_page,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import TILES, Person, Way
from tests.support.piles import IMAGES, in_pile, members, person_at, pile, sorted_grid

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
TOUCH = {"has_touch": True, "is_mobile": True}
LOW = {"viewport": {"width": 844, "height": 390}, **TOUCH}


def last_look(page: Page) -> Locator:
    return page.get_by_test_id("last-look").locator("> p")


# --- opening ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
def test_a_pile_opens_and_gives_the_focus_back(browser: Browser, web: System, way: Way) -> None:
    page = sorted_grid(browser, web, way, **(PHONE if way == "touch" else {}))
    person = Person(page, way, kind_of)
    chosen = page.locator("button.group[aria-pressed='true'][data-group]")
    group = int(chosen.get_attribute("data-group") or "") + 1
    images = members(page, group)
    expect(pile(page, group)).to_have_accessible_name(f"Open Group {group}, {len(images)} images")
    person.press(pile(page, group))
    dialog = page.get_by_role("dialog", name=f"Group {group}, {len(images)} images")
    expect(dialog).to_be_visible()
    assert set(in_pile(page)) == images
    assert violations(page) == []
    person.press(dialog.get_by_role("button", name="Close"))
    expect(dialog).to_have_count(0)
    expect(pile(page, group)).to_be_focused()
    # To look into a group is not to choose it.
    assert int(chosen.get_attribute("data-group") or "") + 1 == group
    if way == "keyboard":
        page.locator("button[data-group='1']").focus()
        page.keyboard.press("o")
        expect(page.get_by_role("dialog", name="Group 2, ")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("button[data-group='1']")).to_be_focused()
        assert int(chosen.get_attribute("data-group") or "") + 1 == group


def test_groups_with_images_have_piles(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    expect(page.locator("[data-pile]")).to_have_count(3)
    expect(page.locator("[data-pile='0'] img")).to_have_count(4)
    page.get_by_title("Clear all").click()
    expect(page.locator("[data-pile]")).to_have_count(0)


def test_classes_are_no_piles(browser: Browser, web: System) -> None:
    campaign = a_campaign(
        kind="classify", strategy="neucrowd", classes=["red", "green"], grid_size=12, budget=4
    )
    page = at_work(browser, link_of(campaign, web))
    page.locator(TILES).first.click()
    expect(page.locator("[data-pile]")).to_have_count(0)
    expect(page.get_by_test_id("last-look")).to_have_count(0)


# --- the last look ---------------------------------------------------------------------------


def test_the_last_look_is_in_step_with_what_is_sent(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    said = page.get_by_test_id("last-look-said")
    expect(page.get_by_test_id("last-look")).to_be_hidden()
    for n_clicks, text in ((1, "1 group, 1 image, 5"), (5, "1 group, 5 images, 1")):
        while len(grouped(page)) < n_clicks:
            page.locator(f"{TILES}:not(.grouped)").first.click()
        expect(last_look(page)).to_have_text(f"{text} without a group")
        expect(said).to_have_text("")
    page.locator("button[data-group='1']").click()
    page.locator(f"{TILES}:not(.grouped)").first.click()
    expect(last_look(page)).to_have_text("2 groups, 6 images")
    expect(said).to_have_text("2 groups, 6 images")
    expect(page.get_by_test_id("last-look").locator(".number")).to_have_text(["1", "2"])
    page.keyboard.press("Control+z")
    expect(last_look(page)).to_have_text("1 group, 5 images, 1 without a group")
    expect(said).to_have_text("")


@pytest.mark.parametrize(
    ("language", "text"),
    [("de", "3 Gruppen, 12 Bilder"), ("ar", "3 مجموعات، 12 صورة")],
)
def test_the_last_look_on_phones_comes_when_all_is_sorted(
    browser: Browser, web: System, language: str, text: str
) -> None:
    page = at_work(
        browser,
        link_of(a_campaign(grid_size=12, budget=4), web),
        locale=language,
        **PHONE,
    )
    person = person_at(page, "touch")
    person.press(page.locator(TILES).first)
    expect(page.get_by_test_id("last-look")).to_be_hidden()
    person.press(page.locator(TILES).first)
    person.sort_grid()
    expect(last_look(page)).to_be_visible()
    expect(last_look(page)).to_have_text(text)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_last_look_at_bins_moves_no_image(browser: Browser, web: System) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=8, budget=4)
    page = at_work(browser, link_of(campaign, web))
    person = person_at(page, "mouse")
    last = person.tile(person.images()[-1])
    before = last.bounding_box()
    person.sort_bins(leave=1)
    expect(last_look(page)).to_have_text("3 bins, 7 images, 1 in no bin")
    assert last.bounding_box() == before
    expect(page.locator("[data-pile]")).to_have_count(0)


# --- everywhere ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 320, "height": 640}, **TOUCH},
        {"viewport": {"width": 390, "height": 844}, **TOUCH},
        {"viewport": {"width": 390, "height": 844}, "locale": "ar", **TOUCH},
        LOW,
        {**LOW, "locale": "ar"},
        {"viewport": {"width": 1440, "height": 900}, "forced_colors": "active"},
        {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"},
    ],
    ids=["320", "390", "390 Arabic", "844x390", "844x390 Arabic", "1440 forced colours", "1440"],
)
def test_an_open_pile_fits_every_screen(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    way: Way = "touch" if "has_touch" in options else "mouse"
    page = sorted_grid(browser, web, way, **options)
    person = Person(page, way, kind_of)
    width = options["viewport"]["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    person.press(page.locator("button[data-group='1']"))
    person.press(pile(page, 2))
    person.press(page.locator(IMAGES).first)
    box = page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    inside = "one => one.scrollWidth <= one.clientWidth"
    assert page.get_by_role("dialog").evaluate(inside)
    outline = page.locator(IMAGES).first.evaluate("one => getComputedStyle(one).outlineStyle")
    assert outline == "solid"
    assert violations(page) == []
    count = page.locator(IMAGES).count()
    person.press(page.get_by_role("dialog").locator(".acts .button").first)
    expect(page.locator(IMAGES)).to_have_count(count - 1)
