"""Around the sets: codes at the end, going on after it, practice, and links that lead nowhere."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    at_work,
    finish,
    kind_of,
    link_of,
    no_errors_on_the_page,
    opened,
    sort_some,
    stored,
    visit,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
CODE = re.compile(r"^[A-Z2-9]{4}-[A-Z2-9]{4}$")


def finish_a_set(page: Page) -> str:
    """Finish the last set of an assignment, and return its code."""
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    sort_some(page, 2)
    finish(page)
    code = page.get_by_test_id("completion-code")
    expect(code).to_have_text(CODE, timeout=SLOW)
    return code.inner_text()


def test_codes_are_copied_and_all_of_them_listed(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=6, budget=9, grids_per_assignment=1), web)
    page = at_work(browser, link)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    first_code = finish_a_set(page)
    page.get_by_role("button", name=f"Copy: {first_code}").click()
    expect(page.get_by_role("button", name=f"Copied: {first_code}")).to_be_visible()
    expect(page.get_by_role("status").last).to_have_text(f"{first_code}: Copied")
    assert page.evaluate("navigator.clipboard.readText()") == first_code
    page.get_by_test_id("do-more").click()
    code = finish_a_set(page)
    assert code != first_code
    for _ in range(2):
        expect(page.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
        expect(page.get_by_test_id("earlier-codes").get_by_role("listitem")).to_have_count(1)
        expect(page.get_by_test_id("earlier-codes")).to_contain_text(first_code)
        assert violations(page) == []
        page.reload()
    page.get_by_role("button", name=f"Copy: {first_code}").click()
    expect(page.get_by_role("button", name=f"Copied: {first_code}")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == first_code


def test_a_reload_goes_on_with_the_assignment_that_is_open(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=6, budget=9, grids_per_assignment=2), web)
    page = at_work(browser, link)
    sort_some(page, 2)
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    code = finish_a_set(page)
    page.get_by_test_id("do-more").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    sort_some(page, 2)
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(2, timeout=SLOW)
    expect(page.get_by_test_id("progress")).to_contain_text("0 of 2")
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert finish_a_set(page) != code


@pytest.mark.parametrize("channel", ["windows hear each other", "each on its own"])
def test_two_tabs_at_the_last_set_both_come_to_the_end(
    browser: Browser, web: System, channel: str
) -> None:
    link = link_of(a_campaign(grid_size=6, budget=9, grids_per_assignment=1), web)
    context = browser.new_context()
    if channel == "each on its own":
        context.add_init_script(
            "window.BroadcastChannel = class { constructor() { throw new Error('no'); } };"
        )
    page = visit(context, link)
    page.get_by_test_id("start").click()
    # The start is known to the browser's other tabs when the first set has come.
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    other = visit(context, link)
    expect(other.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    if channel == "each on its own":
        sort_some(other, 3)
    code = finish_a_set(page)
    if channel == "each on its own":
        finish(other)
    expect(other.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
    assert len(stored()) == 1


def in_practice(browser: Browser, web: System, kind: str) -> Page:
    """A practice set that was done wrong."""
    campaign = a_campaign(
        kind=kind,
        strategy="cen" if kind == "grid" else "crowdster",
        grid_size=8,
        annotation={"known_attribute": "colour", "practice": 1},
    )
    page = opened(browser, link_of(campaign, web))
    page.get_by_test_id("start").click()
    person = Person(page, "mouse", kind_of)
    for image in person.images()[:2]:
        person.tile(image).click()
    if kind == "bins":
        person.bin(0).locator(".name").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    return page


@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_practice_frames_have_no_groups_colour(browser: Browser, web: System, kind: str) -> None:
    page = in_practice(browser, web, kind)
    colours, styles = page.evaluate(
        """() => ['color', 'style'].map((what) => [...new Set(
            [...document.querySelectorAll('.frame')].map(
                (frame) => getComputedStyle(frame)[`border-top-${what}`]))])"""
    )
    assert colours == [page.evaluate("getComputedStyle(document.body).color")]
    # They differ by their lines and letters.
    assert len(styles) == 3
    letters = page.locator(".frame .letter").all_inner_texts()
    assert sorted({letter.strip() for letter in letters}) == ["A", "B", "C"]


@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_trying_again_begins_at_the_beginning(browser: Browser, web: System, kind: str) -> None:
    page = in_practice(browser, web, kind)
    page.get_by_test_id("practice-proceed").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Not quite")).to_have_count(0)
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.task') !== null")


@pytest.mark.parametrize("kind", ["grid", "select"])
@pytest.mark.parametrize("width", [390, 1366])
def test_forced_colours_show_the_active_group(
    browser: Browser, web: System, kind: str, width: int
) -> None:
    strategy = "cen" if kind == "grid" else "neucrowd"
    campaign = a_campaign(kind=kind, strategy=strategy, grid_size=6, budget=9)
    viewport = {"width": width, "height": 740}
    page = at_work(browser, link_of(campaign, web), viewport=viewport, forced_colors="active")
    look = """() => [...document.querySelectorAll('button[data-group]')].map((button) =>
        [button.ariaPressed, getComputedStyle(button).backgroundColor])"""
    page.locator("button[data-group='1']").click()
    page.evaluate("document.activeElement.blur()")
    looks = page.evaluate(look)
    active = {colour for pressed, colour in looks if pressed == "true"}
    others = {colour for pressed, colour in looks if pressed == "false"}
    assert len(active) == 1
    assert not active & others


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("en", "This link doesn't work"),
        ("de", "Dieser Link funktioniert nicht"),
        ("ar", "هذا الرابط لا يعمل"),
    ],
)
def test_a_bad_link_is_explained_in_the_browsers_language(
    browser: Browser, web: System, language: str, title: str
) -> None:
    link = link_of(a_campaign(grid_size=6), web)
    for address in (link[:-4], f"{web.base_url}/a/nothing", f"{web.base_url}/a/prolific/nothing"):
        page = opened(browser, address, locale=language, viewport={"width": 320, "height": 600})
        expect(page.get_by_role("heading")).to_have_text(title)
        assert page.locator("html").get_attribute("lang") == language
        expected = "rtl" if language == "ar" else "ltr"
        assert page.locator("html").get_attribute("dir") == expected
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        # Nothing of the requesters' pages.
        expect(page.get_by_role("link")).to_have_count(0)
        assert violations(page) == []
        page.context.close()
