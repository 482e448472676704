"""Where there is little room: phones upright and on their side, and magnified pages."""

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
    stored,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
TOUCH = {"has_touch": True, "is_mobile": True}
# Phones on their side, and pages at 200 and 400 %.
LOW: list[dict[str, Any]] = [
    {"viewport": {"width": 844, "height": 390}, **TOUCH},
    {"viewport": {"width": 667, "height": 375}, **TOUCH},
    {"viewport": {"width": 683, "height": 384}, "device_scale_factor": 2},
    {"viewport": {"width": 960, "height": 470}, "device_scale_factor": 2},
    {"viewport": {"width": 320, "height": 256}, "device_scale_factor": 4},
]


def size_of(options: dict[str, Any]) -> str:
    return "{width}x{height}".format(**options["viewport"])


def assert_in_view(page: Page, target: Locator) -> None:
    box = target.bounding_box()
    assert box is not None
    width, height = page.evaluate("[innerWidth, innerHeight]")
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height


@pytest.mark.parametrize("options", LOW, ids=size_of)
def test_groups_progress_and_submit_stay_in_view_next_to_the_images(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=24, budget=4), web), **options)
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")
    for end in (0, 10_000):
        page.evaluate("y => window.scrollTo(0, y)", end)
        page.wait_for_timeout(100)
        assert_in_view(page, page.get_by_test_id("submit"))
        assert_in_view(page, page.locator(".actions .progress"))
        assert_in_view(page, page.locator("button[data-group='0']"))
        assert "0 of" in page.locator(".actions .progress").inner_text()
    rail = page.locator(".side").bounding_box()
    tiles = page.locator(TILES).evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    assert rail is not None
    assert max(tiles) <= rail["x"]
    # Far less to scroll than 3,275 pixels.
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") < 700
    assert violations(page) == []


@pytest.mark.parametrize("kind", ["select", "classify"])
def test_other_grids_have_the_rail_too(browser: Browser, web: System, kind: str) -> None:
    plan: dict[str, Any] = {"classes": ["red", "green", "blue"]} if kind == "classify" else {}
    campaign = a_campaign(kind=kind, strategy="neucrowd", grid_size=24, budget=4, **plan)
    page = at_work(browser, link_of(campaign, web), **LOW[0])
    for group in range(3):
        assert_in_view(page, page.locator(f"button[data-group='{group}']"))
    assert_in_view(page, page.get_by_test_id("submit"))
    assert page.evaluate("document.documentElement.scrollWidth") == 844


@pytest.mark.parametrize("options", LOW[:4], ids=size_of)
def test_images_to_sort_and_submit_stay_in_view_next_to_the_bins(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=20, max_groups=6, budget=4)
    page = at_work(browser, link_of(campaign, web), **options)
    assert page.evaluate("document.documentElement.scrollWidth") == page.evaluate("innerWidth")
    bottom = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    page.evaluate("y => window.scrollTo(0, y)", bottom)
    page.wait_for_timeout(100)
    assert_in_view(page, page.get_by_test_id("submit"))
    person = Person(page, "mouse", kind_of)
    image = person.images()[-1]
    assert_in_view(page, person.tile(image))
    assert_in_view(page, person.bin(5))
    person.drag(person.tile(image), person.bin(5))
    expect(person.bin(5).locator(person.tile(image))).to_be_visible()


def test_the_rail_is_on_the_left_in_arabic(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=24, budget=4), web), locale="ar", **LOW[0])
    rail = page.locator(".side").bounding_box()
    assert rail is not None
    assert rail["x"] == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 844


# --- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [PHONE, LOW[0], LOW[2]], ids=size_of)
def test_missing_words_are_asked_for_one_group_at_a_time(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web), **options)
    person = Person(page, "touch" if "has_touch" in options else "mouse", kind_of)
    person.sort_grid()
    person.submit()
    for group, word in enumerate(("red", "green", "blue")):
        field = page.get_by_label(f"Group {group + 1} of 3: what do they share?")
        expect(field).to_be_focused()
        expect(page.locator("[data-description]")).to_have_count(1)
        assert_in_view(page, field)
        images = [image for image, number in grouped(page).items() if number == str(group + 1)]
        lit = page.locator(".tile:not(.faded)")
        assert sorted(images) == sorted(
            int(lit.nth(k).get_attribute("data-image") or "") for k in range(lit.count())
        )
        assert_uncovered(page, lit.first)
        if group == 0:
            assert violations(page) == []
        expect(page.get_by_test_id("submit")).to_have_text("Next" if group < 2 else "Submit")
        page.keyboard.type(word)
        if group == 1:
            person.submit()
        else:
            page.keyboard.press("Enter")
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert [word for word in answer.descriptions if word] == ["red", "green", "blue"]
    expect(page.locator(f"{TILES} img")).to_have_count(12, timeout=SLOW)
    chips(page, person)


def chips(page: Page, person: Person) -> None:
    """Words of the grid before are offered, and can be taken with a tap."""
    person.sort_grid()
    person.submit()
    for word in ("green", "red", "blue"):
        expect(page.locator(".ask input")).to_be_focused()
        person.press(page.locator(".chip", has_text=word))
    expect(page.get_by_test_id("progress")).to_contain_text("1 of")
    expect(page.locator(".ask input")).to_have_value("blue")
    person.submit()
    expect(page.get_by_test_id("progress")).to_contain_text("2 of", timeout=SLOW)
    assert [word for word in stored()[-1].descriptions if word] == ["green", "red", "blue"]


def assert_uncovered(page: Page, tile: Locator) -> None:
    assert tile.evaluate(
        """one => {
            const {left, top, width} = one.getBoundingClientRect();
            return one.contains(document.elementFromPoint(left + width / 2, top + 10));
        }"""
    )


def test_from_the_words_one_can_go_back_to_sorting(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web), **PHONE)
    person = Person(page, "touch", kind_of)
    person.sort_grid()
    person.submit()
    expect(page.locator(".ask input")).to_be_focused()
    person.press(page.get_by_role("button", name="Keep sorting"))
    expect(page.locator(".ask")).to_have_count(0)
    expect(page.locator(".faded")).to_have_count(0)
    expect(page.locator("button[data-group='0']")).to_be_visible()


def test_in_bins_a_tap_after_the_words_chooses_an_image_as_before(
    browser: Browser, web: System
) -> None:
    words = {"descriptions": "required"}
    campaign = a_campaign(kind="bins", grid_size=12, budget=4, annotation=words)
    page = at_work(browser, link_of(campaign, web), **PHONE)
    person = Person(page, "touch", kind_of)
    first, other = page.locator(TILES).all()[:2]
    for tile in (first, other):
        person.press(tile)
    person.press(page.locator("button[data-group='0']"))
    person.submit()
    expect(page.locator(".ask input")).to_be_focused()
    person.press(page.get_by_role("button", name="Keep sorting"))
    expect(page.get_by_test_id("submit")).to_be_focused()
    person.press(page.locator(f".images {TILES}").first)
    expect(page.locator(f"{TILES}[aria-pressed='true']")).to_have_count(1)
    expect(person.bin(0).locator(TILES)).to_have_count(2)
