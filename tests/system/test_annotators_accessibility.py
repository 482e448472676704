"""The annotators' page for everybody: accessibility rules, languages, screen widths, the focus."""

import pytest
from playwright.sync_api import Browser, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    CONSENT,
    PHONE,
    at_work,
    kind_of,
    link_of,
    no_errors_on_the_page,
    opened,
    web_settings,
)
from tests.support.axe import violations, violations_of_colours
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_no_page_breaks_the_accessibility_rules(browser: Browser, web: System, kind: str) -> None:
    campaign = a_campaign(
        kind=kind,
        strategy="cen" if kind == "grid" else "crowdster",
        grid_size=8,
        budget=1,
        grids_per_assignment=1,
        reward_cents=150,
        annotation={"consent": CONSENT, "known_attribute": "colour", "practice": 1},
    )
    page = opened(browser, link_of(campaign, web), color_scheme="light", reduced_motion="reduce")
    person = Person(page, "mouse", kind_of)
    seen: dict[str, list[str]] = {}

    def check(name: str) -> None:
        page.wait_for_timeout(100)
        seen[name] = violations(page)
        page.emulate_media(color_scheme="dark")
        seen[f"{name} in the dark"] = violations_of_colours(page)
        page.emulate_media(color_scheme="light")

    expect(page.get_by_test_id("consent")).to_be_visible(timeout=SLOW)
    check("consent")
    page.get_by_role("button", name="I don't agree").click()
    check("declined")
    page.get_by_role("button", name="Read it again").click()
    page.get_by_test_id("consent-agree").click()
    expect(page.get_by_test_id("start")).to_be_visible(timeout=SLOW)
    check("instructions")
    page.get_by_test_id("start").click()
    person.images()
    check("practice")
    person.tile(person.images()[0]).click()
    if kind == "bins":
        person.bin(0).locator(".name").click()
    page.get_by_test_id("submit").click()
    person.sort_grid() if kind == "grid" else person.sort_bins()
    page.get_by_test_id("submit").click()
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)
    check("feedback")
    page.get_by_test_id("practice-proceed").click()
    expect(page.get_by_test_id("earned")).to_be_visible(timeout=SLOW)
    person.images()
    check("task")
    page.locator(TILES).nth(1).click(modifiers=["Shift"])
    check("task with a choice")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check("help")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More").click()
    check("menu")
    page.get_by_role("button", name="Report a broken image").click()
    check("report")
    page.keyboard.press("Escape")
    person.sort_grid() if kind == "grid" else person.sort_bins(leave=2)
    page.get_by_test_id("submit").click()
    check("something missing")
    if kind == "grid":
        person.describe()
        page.get_by_test_id("submit").click()
    else:
        page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    check("thanks")
    assert {name: problems for name, problems in seen.items() if problems} == {}


@pytest.mark.parametrize(
    ("language", "submit", "direction"),
    [("en", "Submit", "ltr"), ("de", "Abschicken", "ltr"), ("ar", "إرسال", "rtl")],
)
def test_the_page_speaks_the_browsers_language(
    browser: Browser, web: System, language: str, submit: str, direction: str
) -> None:
    campaign = a_campaign(grid_size=12, budget=4, annotation={"show_instructions": False})
    page = opened(browser, link_of(campaign, web), locale=language, **PHONE)
    expect(page.get_by_test_id("submit")).to_have_text(submit, timeout=SLOW)
    assert page.locator("html").get_attribute("dir") == direction
    assert page.locator("html").get_attribute("lang") == language
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("width", [320, 768, 3840])
@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, web: System, kind: str, width: int
) -> None:
    strategy = "cen" if kind == "grid" else "crowdster"
    campaign = a_campaign(kind=kind, strategy=strategy, grid_size=24, budget=4)
    viewport = {"width": width, "height": 2160 if width > 1000 else 700}
    page = at_work(browser, link_of(campaign, web), viewport=viewport)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    edges = page.locator(TILES).evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert all(0 <= left < right <= width for left, right in edges)


def test_the_focus_is_never_lost_and_never_hidden(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=12, budget=20), web)
    page = at_work(browser, link, viewport={"width": 360, "height": 640})
    where = "document.activeElement.tagName"
    page.get_by_role("button", name="Put the rest here").click()
    assert page.evaluate(where) == "BUTTON"
    page.get_by_title("Undo").click()
    assert page.evaluate(where) == "BUTTON"
    person = Person(page, "mouse", kind_of)
    person.sort_grid()
    person.describe()
    person.submit()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.closest('.content') !== null")
    hidden = []
    Person(page, "keyboard", kind_of).focus(Person(page, "mouse", kind_of).images()[0])
    for _ in range(11):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(60)
        tile, panel = page.evaluate(
            """() => [document.activeElement, document.querySelector('.side')].map(
                one => [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom])"""
        )
        if tile[0] >= panel[0] and tile[1] <= panel[1]:
            hidden.append(tile)
    assert hidden == []
