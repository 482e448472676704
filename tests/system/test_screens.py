"""Every kind of task on every screen: phones, desks, magnified pages, forced colours, reduced
motion, and written from right to left."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.accessibility_tree import spoken
from tests.support.annotators_page import (
    at_work,
    link_of,
    no_errors_on_the_page,
    web_settings,
)
from tests.support.axe import violations
from tests.support.kinds import PLANS
from tests.support.person import SLOW
from tests.support.screens import COVERED, DESK, PHONE, Size, resize

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
# Grids of the size that people see.
LARGE = {"grid": 24, "bins": 20, "select": 12, "classify": 12, "labels": 12}
# Kinds in which an image is the answer; arrows lead from one to the next.
IMAGE_ANSWERS = ("odd_one_out", "nearer")
OUTLINE = """
() => {
    const style = getComputedStyle(document.activeElement);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
}
"""


def plan_of(kind: str) -> dict[str, Any]:
    strategy = {"grid": "cen", "bins": "crowdster"}.get(kind)
    plan = {**({"strategy": strategy} if strategy else {}), **PLANS[kind], "budget": 40}
    return {**plan, "grid_size": LARGE[kind]} if kind in LARGE else plan


def answering(page: Page, kind: str) -> Locator:
    """What people press to answer: the button, or an image where that is the answer."""
    if kind in IMAGE_ANSWERS:
        return page.locator("button:has(img)").last
    return page.get_by_test_id("submit")


def problems_of(page: Page, kind: str) -> list[str]:
    """What is wrong with the page as it stands."""
    problems = []
    width = page.evaluate("innerWidth")
    if page.evaluate("document.documentElement.scrollWidth") > width:
        problems.append("wider than the screen")
    edges = page.locator("button:has(img)").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    if not edges or not all(0 <= left < right <= width for left, right in edges):
        problems.append(f"images beyond the edge: {edges}")
    target = answering(page, kind)
    target.scroll_into_view_if_needed()
    if target.evaluate(COVERED):
        problems.append("what answers is covered")
    return problems + violations(page)


def assert_fine(
    browser: Browser, web: System, kind: str, sizes: list[Size], **options: Any
) -> Page:
    campaign = a_campaign(kind=kind, **plan_of(kind))
    page = at_work(browser, link_of(campaign, web), **options)
    expect(page.locator("button:has(img)").first).to_be_visible(timeout=SLOW)
    found: dict[str, list[str]] = {}
    for size in sizes:
        resize(page, size)
        found[f"{size[0]}x{size[1]}"] = problems_of(page, kind)
    assert {size: problems for size, problems in found.items() if problems} == {}
    return page


@pytest.mark.parametrize("kind", PLANS)
def test_a_desk_and_its_magnified_pages(browser: Browser, web: System, kind: str) -> None:
    page = assert_fine(browser, web, kind, [*DESK, (320, 256)])
    resize(page, (1440, 900))
    page.emulate_media(reduced_motion="reduce")
    assert problems_of(page, kind) == []
    page.emulate_media(reduced_motion="no-preference", forced_colors="active")
    assert problems_of(page, kind) == []
    assert_keyboard_reaches_everything(page, kind)


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_phones(browser: Browser, web: System, kind: str, language: str) -> None:
    viewport = {"width": 390, "height": 844}
    page = assert_fine(browser, web, kind, PHONE, viewport=viewport, has_touch=True,
                       is_mobile=True, locale=language)  # fmt: skip
    assert page.locator("html").get_attribute("dir") == ("rtl" if language == "ar" else "ltr")


def assert_keyboard_reaches_everything(page: Page, kind: str) -> None:
    """Tab leads to an image and to the button, each with an outline, and each has a name."""
    page.locator(".content").focus()
    images, buttons = 0, 0
    wanted = answering(page, kind).element_handle()
    for _ in range(80):
        page.keyboard.press("Tab")
        is_image = page.evaluate("document.activeElement.matches('button:has(img)')")
        if is_image and kind in IMAGE_ANSWERS:
            page.keyboard.press("End")
        is_wanted = page.evaluate("one => document.activeElement === one", wanted)
        images, buttons = images + is_image, buttons + is_wanted
        if is_image or is_wanted:
            assert page.evaluate(OUTLINE), page.evaluate("document.activeElement.outerHTML")
        if images and buttons:
            break
    assert images > 0
    assert buttons > 0
    assert [node for node in spoken(page) if node.role == "button" and not node.name] == []
