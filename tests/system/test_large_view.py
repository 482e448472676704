"""The large view: opened from an image's corner, by key, hold or mouse."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.accessibility_tree import spoken
from tests.support.annotators_page import (
    PHONE,
    at_work,
    finish,
    grouped,
    link_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.axe import violations
from tests.support.fingers import Fingers
from tests.support.kinds import PLANS
from tests.support.large_view import centre, loupe, opened_view, sides, zoom
from tests.support.person import OPEN, SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
SELECTED = ".tile.selected"
HOVER_MS = 1200
CASES: dict[str, dict[str, Any]] = {
    "desk": {},
    "phone": {**PHONE, "viewport": {"width": 390, "height": 844}},
    "phone on its side": {**PHONE, "viewport": {"width": 844, "height": 390}},
    "magnified four times": {"viewport": {"width": 320, "height": 256}},
    "Arabic": {**PHONE, "locale": "ar"},
}


@pytest.fixture
def link(web: System) -> str:
    return link_of(a_campaign(grid_size=12, budget=4), web)


# --- the corner of an image --------------------------------------------------------------------


def test_a_click_on_the_loupe_enlarges_and_does_nothing_else(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    tile = page.locator(TILES).nth(1)
    expect(loupe(page, 1)).to_have_css("opacity", "0")
    tile.hover()
    expect(loupe(page, 1)).to_have_css("opacity", "0.9")
    page.mouse.click(*centre(loupe(page, 1)))
    expect(page.get_by_role("dialog")).to_contain_text("Image 2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(tile).to_be_focused()
    assert grouped(page) == {}
    expect(page.locator(SELECTED)).to_have_count(0)
    # The mouse is where it was: a digit is for this image.
    page.mouse.move(*centre(tile))
    page.keyboard.press("2")
    assert list(grouped(page).values()) == ["2"]
    page.get_by_role("button", name="Put the rest here").click()
    finish(page)
    (answer,) = wait_until("an answer", stored)
    assert [event[1:] for event in answer.trace if event[1] == "z"] == [["z", 1]]


def test_what_begins_on_the_loupe_draws_and_colours_nothing(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    for key in (None, "Shift", "Control"):
        if key:
            page.keyboard.down(key)
        for end in (page.locator(TILES).nth(3), page.locator(TILES).nth(1), loupe(page, 2)):
            page.mouse.move(*centre(loupe(page, 1)))
            page.mouse.down()
            page.mouse.move(*centre(end), steps=4)
            expect(page.locator(".marquee")).to_have_count(0)
            page.mouse.up()
        if key:
            page.keyboard.up(key)
    assert grouped(page) == {}
    expect(page.locator(SELECTED)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Keys are for the image, wherever the mouse was before; so is what begins on the image.
    page.locator(TILES).nth(1).focus()
    page.keyboard.press("Enter")
    assert len(grouped(page)) == 1
    page.mouse.move(*centre(page.locator(TILES).nth(4)))
    page.mouse.down()
    page.mouse.move(*centre(loupe(page, 4)), steps=3)
    page.mouse.up()
    assert len(grouped(page)) == 2
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_finger_on_the_loupe_enlarges_and_does_nothing_else(browser: Browser, link: str) -> None:
    page = at_work(browser, link, **PHONE)
    expect(loupe(page, 0)).to_have_css("opacity", "0.75")
    box = loupe(page, 0).bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24
    Fingers(page).tap(centre(loupe(page, 0)))
    expect(page.get_by_role("dialog")).to_contain_text("Image 1")
    page.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("dialog")).to_have_count(0)
    Fingers(page).swipe(centre(loupe(page, 0)), centre(page.locator(TILES).nth(2)))
    assert grouped(page) == {}
    # A touch that follows a swipe at once is no tap to the browser.
    page.wait_for_timeout(500)
    page.locator(TILES).nth(0).tap()
    expect(page.locator(".tile.grouped")).to_have_count(1)


def test_loupes_are_no_buttons_of_their_own_and_not_on_small_images(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=20, budget=4)
    page = at_work(browser, link_of(campaign, web), **PHONE)
    assert len([node for node in spoken(page) if node.name.startswith("Image ")]) == 20
    expect(page.locator(".loupe")).to_have_count(20)
    expect(page.locator(".loupe:visible")).to_have_count(0)
    page.set_viewport_size({"width": 1366, "height": 900})
    expect(page.locator(".loupe:visible")).to_have_count(20)
    assert violations(page) == []


@pytest.mark.parametrize("kind", PLANS)
def test_every_kind_enlarges_by_key_loupe_and_hold_and_answers_nothing(
    browser: Browser, web: System, kind: str
) -> None:
    plan = {"strategy": "crowdster"} if kind == "bins" else {}
    campaign = a_campaign(kind=kind, budget=4, **{**PLANS[kind], **plan})
    page = at_work(browser, link_of(campaign, web), has_touch=True)
    if kind in ("odd_one_out", "nearer"):
        page.locator(OPEN).wait_for(timeout=SLOW)
    dialog, finger = page.get_by_role("dialog"), Fingers(page)
    for index in range(3):
        expect(opened_view(page, index)).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        finger.tap(centre(loupe(page, index)))
        expect(dialog).to_be_visible()
        page.get_by_role("button", name="Close").tap()
        expect(dialog).to_have_count(0)
        finger.down(centre(page.locator(TILES).nth(index)))
        expect(page.locator(".large img")).to_be_visible()
        finger.up()
        expect(page.locator(".large img")).to_have_count(0)
    page.wait_for_timeout(500)
    assert grouped(page) == {}
    assert stored() == []
    expect(page.locator(SELECTED)).to_have_count(0)


# --- next to the mouse ---------------------------------------------------------------------------


def test_a_click_is_no_wish_to_see_it_large_after_a_look_either(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link)
    opened_view(page)
    page.keyboard.press("Escape")
    page.locator(TILES).nth(3).click()
    page.wait_for_timeout(HOVER_MS)
    expect(page.locator(".large")).to_have_count(0)
    page.locator(TILES).nth(4).hover()
    page.mouse.move(2, 2)
    page.wait_for_timeout(HOVER_MS)
    expect(page.locator(".large")).to_have_count(0)


@pytest.mark.parametrize("kind", ["grid", "odd_one_out"])
def test_the_mouse_can_move_onto_the_view(browser: Browser, web: System, kind: str) -> None:
    campaign = a_campaign(kind=kind, budget=4, **PLANS[kind])
    page = at_work(browser, link_of(campaign, web))
    if kind == "odd_one_out":
        page.locator(OPEN).wait_for(timeout=SLOW)
    for index in (1, 0):
        page.locator(TILES).nth(index).hover()
    view = page.locator(".large")
    expect(view).to_be_visible()
    page.mouse.move(*centre(view))
    page.wait_for_timeout(HOVER_MS)
    expect(view).to_be_visible()


def test_the_mouse_in_the_view_says_nothing_about_the_images_below(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link)
    page.locator(TILES).nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_role("dialog")).to_be_visible()
    for index in (5, 6):
        page.mouse.move(*centre(page.locator(TILES).nth(index)))
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator(f"{TILES}.grouped")).to_have_count(1)
    image = page.locator(TILES).nth(1).get_attribute("data-image") or ""
    assert grouped(page) == {int(image): "2"}


# --- settings, screens and languages -------------------------------------------------------------


def test_resting_the_mouse_can_be_switched_off_for_good(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    setting = page.get_by_label("Enlarge images when the mouse rests on them")
    page.keyboard.press("?")
    expect(setting).to_be_checked()
    setting.uncheck()
    page.keyboard.press("Escape")
    for _ in range(2):
        page.locator(TILES).nth(0).hover()
        page.locator(TILES).nth(1).hover()
        page.wait_for_timeout(HOVER_MS)
        expect(page.locator(".large")).to_have_count(0)
        opened_view(page)
        page.keyboard.press("Escape")
        page.reload()
        expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.keyboard.press("?")
    expect(setting).not_to_be_checked()
    setting.check()
    page.keyboard.press("Escape")
    page.locator(TILES).nth(0).hover()
    page.locator(TILES).nth(1).hover()
    expect(page.locator(".large img")).to_be_visible()


def test_without_single_keys_only_buttons_and_arrows_are_left(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    page.keyboard.press("?")
    page.get_by_label("Use single keys as shortcuts").uncheck()
    page.keyboard.press("Escape")
    opened_view(page)
    page.keyboard.press("+")
    assert zoom(page) == 100
    page.get_by_role("button", name="Zoom in").click()
    assert zoom(page) == 150
    page.keyboard.press("0")
    assert zoom(page) == 150


def test_help_tells_of_every_way(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    page.keyboard.press("?")
    for words in ("enlarge the image", "Hold a finger", "Magnifying glass", "closer, farther"):
        expect(page.get_by_role("dialog")).to_contain_text(words)


@pytest.mark.parametrize("case", CASES)
def test_all_of_it_is_in_view_on_every_screen(browser: Browser, link: str, case: str) -> None:
    page = at_work(browser, link, **CASES[case])
    picture = opened_view(page)
    dialog = page.get_by_role("dialog")
    assert dialog.evaluate("one => one.scrollHeight <= one.clientHeight")
    assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth")
    width, height = page.evaluate("[innerWidth, innerHeight]")
    for button in dialog.get_by_role("button").all():
        left, top, right, bottom = sides(button)
        assert (left >= 0, top >= 0, right <= width, bottom <= height) == (True,) * 4
        assert min(right - left, bottom - top) >= 24
    left, top, right, bottom = sides(picture.locator(".."))
    assert min(right - left, bottom - top) >= 96
    nearer = dialog.get_by_role("button").nth(2)
    before = sides(picture)
    for _ in range(4):
        nearer.click()
    now = sides(picture)
    assert now[2] - now[0] == pytest.approx(4 * (before[2] - before[0]), abs=2)
    page.keyboard.press("ArrowRight")
    # The image goes to the left in every language: what is to its right is looked at.
    assert sides(picture)[0] < now[0]
    assert violations(page) == []
