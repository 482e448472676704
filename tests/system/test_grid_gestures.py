"""Clicks, strokes, boxes, swipes and digits on a grid, and how many of them it takes."""

from collections.abc import Sequence

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from bench.actions import ARRANGEMENTS, Action, Screen, by_keys, by_strokes
from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    PHONE,
    at_work,
    finish,
    grouped,
    kind_of,
    link_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.fingers import Fingers
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
SELECTED = ".tile.selected"
COUNT = """
window.actions = [];
window.counting?.abort();
window.counting = new AbortController();
const options = {capture: true, signal: window.counting.signal};
addEventListener('pointerdown', () => window.actions.push('press'), options);
addEventListener('keydown', event => {
    if (!['Control', 'Shift'].includes(event.key)) window.actions.push(event.key);
}, options);
"""


@pytest.fixture
def link(web: System) -> str:
    return link_of(a_campaign(grid_size=24, budget=8, max_groups=4), web)


def centre(page: Page, index: int) -> tuple[float, float]:
    box = page.locator(TILES).nth(index).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def groups(page: Page) -> list[int]:
    """Group of each image in the grid's order, counted from 1; 0 for none."""
    numbers = grouped(page)
    return [int(numbers.get(image, "0")) for image in Person(page, "mouse", kind_of).images()]


def put(*, count: int = 24, **by_group: Sequence[int]) -> list[int]:
    """The groups of all images: g1=[0, 1] are in group 1."""
    expected = [0] * count
    for group, images in by_group.items():
        for image in images:
            expected[image] = int(group[1:])
    return expected


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


# --- how many it takes -----------------------------------------------------------------------


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_24_images_take_at_most_20_actions_by_mouse(
    browser: Browser, link: str, arrangement: str
) -> None:
    page = at_work(browser, link)
    for seed in range(3):
        layout = ARRANGEMENTS[arrangement](np.random.default_rng(seed))
        plan = by_strokes(layout)
        assert len(carried_out(page, plan, layout)) == len(plan) <= 20
        describe(page, done=seed + 1)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_24_images_take_24_keys(browser: Browser, link: str, arrangement: str) -> None:
    page = at_work(browser, link)
    layout = ARRANGEMENTS[arrangement](np.random.default_rng(0))
    plan = by_keys(layout)
    page.locator(".content").focus()
    keys = carried_out(page, plan, layout)
    describe(page, done=1)
    assert keys[0] == "Tab"
    assert keys[-1] == "Enter"
    assert len(keys) - 2 <= 24


def carried_out(page: Page, plan: list[Action], layout: list[int]) -> list[str]:
    """Do the actions, and return what the page counted.

    Before the last one, which submits, all images are where they belong.
    """
    page.evaluate(COUNT)
    for action in plan:
        if action is plan[-1]:
            assert groups(page) == [group + 1 for group in layout]
        for k, target in enumerate(action.path):
            where = centre(page, target) if isinstance(target, int) else middle(page, target)
            page.mouse.move(*where, steps=4)
            if k == 0 and not action.key:
                page.mouse.down()
        if action.key:
            page.keyboard.press(action.key)
        else:
            page.mouse.up()
    actions: list[str] = page.evaluate("window.actions")
    return actions


def describe(page: Page, done: int) -> None:
    """Type a word for each group, until the answer is sent."""
    for group in range(4):
        expect(page.locator(f"[data-description='{group}']")).to_be_focused()
        page.keyboard.type("word")
        page.keyboard.press("Enter")
    expect(page.get_by_test_id("progress")).to_contain_text(f"{done} of", timeout=SLOW)
    expect(page.locator(f"{TILES} img")).to_have_count(24, timeout=SLOW)


def middle(page: Page, name: str) -> tuple[float, float]:
    group = f"button[data-group='{int(name.split()[1]) - 1}']" if " " in name else ""
    box = page.locator(group or f"[data-testid='{name}']").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_modelled_screen_is_the_real_one(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    screen = Screen()
    for index in (0, 7, 23):
        x, y, _ = screen.box(index)
        assert centre(page, index) == pytest.approx((x, y), abs=6)
    for name in ("group 1", "group 4", "submit"):
        x, y, _ = screen.box(name)
        assert middle(page, name) == pytest.approx((x, y), abs=6)
