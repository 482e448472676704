"""Clicks, strokes, boxes, swipes and digits on a grid."""

import pytest
from playwright.sync_api import Browser, Page, expect

from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    PHONE,
    at_work,
    finish,
    link_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.fingers import Fingers
from tests.support.grid_of_images import centre, groups, put
from tests.support.person import TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
SELECTED = ".tile.selected"


@pytest.fixture
def link(web: System) -> str:
    return link_of(a_campaign(grid_size=24, budget=8, max_groups=4), web)


def stroke(page: Page, *images: int, steps: int = 3) -> None:
    page.mouse.move(*centre(page, images[0]))
    page.mouse.down()
    for image in images[1:]:
        page.mouse.move(*centre(page, image), steps=steps)


# --- clicks ----------------------------------------------------------------------------------


def test_clicks_that_move_a_little_and_slow_ones_colour(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    x, y = centre(page, 0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 6, y + 2, steps=3)
    page.mouse.up()
    assert groups(page) == put(g1=[0])
    page.mouse.move(*centre(page, 1))
    page.mouse.down()
    page.wait_for_timeout(1000)
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1])
    # Pressed at an image's edge and let go next to it.
    box = page.locator(TILES).nth(2).bounding_box()
    assert box is not None
    edge = box["x"] + box["width"] - 2
    page.mouse.move(edge, y)
    page.mouse.down()
    page.mouse.move(edge + 5, y)
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1, 2])
    expect(page.locator(SELECTED)).to_have_count(0)
    expect(page.locator(".large")).to_have_count(0)


def test_holding_with_a_finger_shows_the_image_and_does_nothing_else(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link, **PHONE)
    finger = Fingers(page)
    finger.down(centre(page, 1))
    expect(page.locator(".large img")).to_be_visible()
    finger.up()
    expect(page.locator(".large img")).to_have_count(0)
    expect(page.locator(SELECTED)).to_have_count(0)
    assert groups(page) == put()
    page.locator(TILES).nth(1).tap()
    assert groups(page) == put(g1=[1])


# --- strokes and boxes -----------------------------------------------------------------------


def test_a_stroke_colours_what_it_crosses_in_one_step(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    stroke(page, 0, 3, steps=1)
    expect(page.locator(".tile.grouped")).to_have_count(4)
    assert groups_shown(page) == []
    page.mouse.move(*centre(page, 10))
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1, 2, 3, 10])
    expect(page.get_by_test_id("announcement")).to_contain_text("5 images moved to Group 1")
    page.keyboard.press("Control+z")
    assert groups(page) == put()
    page.keyboard.press("Control+Shift+z")
    assert groups(page) == put(g1=[0, 1, 2, 3, 10])
    page.keyboard.press("2")
    # What is sorted stays, unless the stroke begins there.
    stroke(page, 9, 3, 4)
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1, 2, 3, 10], g2=[4, 9])
    stroke(page, 2, 4)
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1, 10], g2=[2, 3, 4, 9])
    stroke(page, 12, 14)
    page.keyboard.press("Escape")
    page.mouse.up()
    assert groups(page) == put(g1=[0, 1, 10], g2=[2, 3, 4, 9])
    expect(page.locator(SELECTED)).to_have_count(0)
    finish(page)
    (answer,) = wait_until("an answer", stored)
    puts = [event[1:] for event in answer.trace if event[1] == "p"]
    assert puts == [["p", 0, 0, 1, 2, 3, 10], ["p", 1, 9, 4], ["p", 1, 2, 3, 4]]


def groups_shown(page: Page) -> list[str]:
    return page.locator(".tile .number").all_inner_texts()


def test_a_box_is_drawn_with_shift_and_shows_what_it_holds(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    page.keyboard.down("Shift")
    stroke(page, 0, 7)
    expect(page.locator(".marquee")).to_be_visible()
    expect(page.locator(SELECTED)).to_have_count(4)
    page.mouse.move(*centre(page, 8))
    expect(page.locator(SELECTED)).to_have_count(6)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.locator(SELECTED)).to_have_count(6)
    page.keyboard.press("3")
    assert groups(page) == put(g3=[0, 1, 2, 6, 7, 8])
    # With no group chosen, a box needs no key.
    page.keyboard.press("Escape")
    stroke(page, 3, 10)
    page.mouse.up()
    expect(page.locator(SELECTED)).to_have_count(4)


def test_a_sideways_swipe_colours_and_a_vertical_one_scrolls(browser: Browser, link: str) -> None:
    phone = {**PHONE, "viewport": {"width": 360, "height": 560}}
    page = at_work(browser, link, **phone)
    finger = Fingers(page)
    finger.swipe(centre(page, 0), centre(page, 2))
    assert groups(page) == put(g1=[0, 1, 2])
    assert page.evaluate("scrollY") == 0
    finger.swipe(centre(page, 13), centre(page, 1))
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") > 50
    assert groups(page) == put(g1=[0, 1, 2])
    expect(page.locator(SELECTED)).to_have_count(0)


# --- digits ----------------------------------------------------------------------------------


def test_a_digit_colours_the_image_under_the_mouse(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    for index, digit in ((0, "2"), (1, "3"), (1, "4")):
        page.mouse.move(*centre(page, index))
        page.keyboard.press(digit)
    assert groups(page) == put(g2=[0], g4=[1])
    # The group is chosen for the clicks to come; right after one, a digit chooses the next group.
    page.locator(TILES).nth(2).click()
    page.keyboard.press("1")
    page.locator(TILES).nth(3).click()
    assert groups(page) == put(g1=[3], g2=[0], g4=[1, 2])
    # After a key that moves the focus, a digit is for the focused image.
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Home")
    page.keyboard.press("3")
    assert groups(page) == put(g1=[3], g3=[0], g4=[1, 2])


def test_on_the_keyboard_a_digit_leads_on_to_the_next_image_without_a_group(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link)
    page.locator(TILES).nth(1).click()
    page.keyboard.press("Home")
    focused = "[...document.querySelectorAll('[data-image]')].indexOf(document.activeElement)"
    page.keyboard.press("2")
    assert page.evaluate(focused) == 2
    page.keyboard.press("3")
    assert page.evaluate(focused) == 3
    # Undone, the focus is where the digit was wrong.
    page.keyboard.press("Control+z")
    assert page.evaluate(focused) == 2
    page.keyboard.press("4")
    assert groups(page) == put(g1=[1], g2=[0], g4=[2])
    page.keyboard.press("End")
    page.keyboard.press("1")
    assert page.evaluate(focused) == 3
