"""On phones, one line says how a task works, until somebody has done it once."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    DESK,
    link_of,
    no_errors_on_the_page,
    opened,
    web_settings,
)
from tests.support.axe import violations
from tests.support.kinds import PLANS
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
TOUCH = {"has_touch": True, "is_mobile": True}
PHONES: list[dict[str, Any]] = [
    {"viewport": {"width": 390, "height": 844}, **TOUCH},
    {"viewport": {"width": 844, "height": 390}, **TOUCH},
]
HINTS = {
    "grid": "Tap a group, then tap or swipe over images. Hold an image to see it large.",
    "select": "Tap or swipe over the images that show it. Hold an image to see it large.",
    "classify": "Tap a class, then tap or swipe over images. Hold an image to see it large.",
    "bins": "Hold an image and drag it into a bin, or tap images and then a bin.",
    "labels": "Tap a label, then tap or swipe over images. Hold an image to see it large.",
}
AT_ONCE = {"show_instructions": False}


def size_of(options: dict[str, Any]) -> str:
    return "{width}x{height}".format(**options["viewport"])


@pytest.mark.parametrize("options", PHONES, ids=size_of)
@pytest.mark.parametrize("kind", HINTS)
def test_one_line_says_how_it_works_until_the_first_act(
    browser: Browser, web: System, kind: str, options: dict[str, Any]
) -> None:
    strategy = "crowdster" if kind == "bins" else "cen"
    plan = {"strategy": strategy, **PLANS[kind], "grid_size": 24}
    campaign = a_campaign(kind=kind, budget=4, annotation=AT_ONCE, **plan)
    page = opened(browser, link_of(campaign, web), **options)
    tiles = page.locator(TILES)
    expect(tiles.locator("img").first).to_be_visible(timeout=SLOW)
    hint = page.get_by_test_id("touch-hint")
    expect(hint).to_have_text(HINTS[kind])
    expect(hint).to_be_in_viewport(ratio=1)
    page.screenshot(path=f"test-results/touch-{kind}-{size_of(options)}.png")
    assert violations(page) == []
    # It takes no room from the images.
    before = tiles.first.bounding_box()
    hint.evaluate("hint => { hint.style.display = 'none' }")
    assert tiles.first.bounding_box() == before
    tiles.first.tap()
    expect(hint).to_have_count(0)
    page.reload()
    expect(tiles.locator("img").first).to_be_visible(timeout=SLOW)
    expect(hint).to_have_count(0)


def test_a_mouse_needs_no_such_line(browser: Browser, web: System) -> None:
    campaign = a_campaign(grid_size=24, budget=4, annotation=AT_ONCE)
    page = opened(browser, link_of(campaign, web), **DESK)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    expect(page.get_by_test_id("touch-hint")).to_have_count(0)
