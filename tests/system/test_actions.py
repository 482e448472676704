"""How many actions sorting a grid takes, as the benchmark of actions plans them."""

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from bench.actions import (
    ARRANGEMENTS,
    PACE,
    Action,
    Screen,
    by_held_keys,
    by_keys,
    by_strokes,
    clumped,
)
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import at_work, link_of, no_errors_on_the_page, web_settings
from tests.support.grid_of_images import centre, groups, put
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
COUNT = """
window.actions = [];
window.counting?.abort();
window.counting = new AbortController();
const options = {capture: true, signal: window.counting.signal};
addEventListener('pointerdown', () => window.actions.push('press'), options);
addEventListener('keydown', event => {
    if (!event.repeat && !['Control', 'Shift'].includes(event.key)) window.actions.push(event.key);
}, options);
"""


# When keys came, by the clock of events: however slow the machine is.
TIMES = """
window.times = [];
addEventListener('keydown', event => window.times.push(event.timeStamp), {capture: true});
"""


@pytest.fixture
def link(web: System) -> str:
    return link_of(a_campaign(grid_size=24, budget=8, max_groups=4), web)


def at_first_image(browser: Browser, link: str) -> Page:
    """The first grid, reached without a pointer."""
    page = at_work(browser, link)
    page.locator(".content").focus()
    page.keyboard.press("Tab")
    return page


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
def test_24_images_take_24_keys_and_the_one_that_submits(
    browser: Browser, link: str, arrangement: str
) -> None:
    page = at_first_image(browser, link)
    # From the second grid on, not even a Tab is needed.
    for seed in range(2):
        layout = ARRANGEMENTS[arrangement](np.random.default_rng(seed))
        plan = by_keys(layout)
        keys = carried_out(page, plan, layout)
        describe(page, done=seed + 1)
        assert len(keys) == len(plan) <= 25
        assert keys[-1] == "Enter"


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_keys_that_are_held_sort_images_in_a_row(
    browser: Browser, link: str, arrangement: str
) -> None:
    page = at_first_image(browser, link)
    layout = ARRANGEMENTS[arrangement](np.random.default_rng(0))
    plan = by_held_keys(layout)
    keys = carried_out(page, plan, layout)
    describe(page, done=1)
    assert len(keys) == len(plan) <= 24


def test_a_held_digit_is_obeyed_at_a_pace_that_eyes_follow(browser: Browser, link: str) -> None:
    page = at_first_image(browser, link)
    page.evaluate(TIMES)
    for _ in range(60):
        page.keyboard.down("2")
    page.keyboard.up("2")
    first, last = page.evaluate("[window.times[0], window.times.at(-1)]")
    assert 1 <= groups(page).count(2) <= 1 + (last - first) // (1000 * PACE)
    # With the mouse, a digit is about one image.
    page.mouse.move(*centre(page, 10))
    before = groups(page)
    for _ in range(3):
        page.keyboard.down("3")
        page.wait_for_timeout(450)
    page.keyboard.up("3")
    assert groups(page) == [*before[:10], 3, *before[11:]]


def test_after_a_pointer_a_digit_without_focus_chooses_the_group(
    browser: Browser, link: str
) -> None:
    page = at_first_image(browser, link)
    *keys, _ = by_keys(clumped(np.random.default_rng(0)))
    for action in keys:
        page.keyboard.press(action.key)
    page.get_by_test_id("submit").click()
    describe(page, done=1)
    page.keyboard.press("3")
    assert groups(page) == put()
    expect(page.locator("button[data-group='2']")).to_have_attribute("aria-pressed", "true")


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
        if action.images > 1:
            hold(page, action)
        elif action.key:
            page.keyboard.press(action.key)
        else:
            page.mouse.up()
    actions: list[str] = page.evaluate("window.actions")
    return actions


def hold(page: Page, action: Action) -> None:
    """Hold a key until all its images are coloured; the system repeats it at its own rate."""
    left = groups(page).count(0)
    page.keyboard.down(action.key)
    while groups(page).count(0) > left - action.images:
        page.wait_for_timeout(30)
        page.keyboard.down(action.key)
    page.keyboard.up(action.key)


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
