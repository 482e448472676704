"""The annotators' page in browsers whose IndexedDB neither succeeds nor fails."""

import pytest
from playwright.sync_api import Browser, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    finish,
    grouped,
    link_of,
    no_errors_on_the_page,
    sort_some,
    stored,
    visit,
    web_settings,
)
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser

HANGING = {
    "open": "IDBFactory.prototype.open = () => new EventTarget();",
    "requests": """
        const silent = () => new EventTarget();
        const store = {get: silent, put: silent, delete: silent, transaction: silent()};
        IDBDatabase.prototype.transaction = () => ({objectStore: () => store});""",
}
FORGET_JOURNAL = """
    Object.keys(localStorage).filter((key) => key.startsWith('likewise:journal:'))
        .forEach((key) => localStorage.removeItem(key))"""


@pytest.mark.parametrize("what", HANGING)
def test_hanging_storage_neither_stops_the_page_nor_loses_work(
    browser: Browser, web: System, what: str
) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.add_init_script(HANGING[what])
    page = visit(context, link_of(a_campaign(grid_size=12, budget=20), web))
    page.get_by_test_id("start").click()
    sort_some(page, 4)
    before = grouped(page)
    # At once: only this browser's journal has all moves.
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(4, timeout=SLOW)
    assert grouped(page) == before
    sort_some(page, 6, group=1)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)
    before = grouped(page)
    # Where the browser keeps nothing at all, the server does.
    page.evaluate(FORGET_JOURNAL)
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(6, timeout=SLOW)
    assert grouped(page) == before
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    sort_some(page, 3)
    expect(page.locator(".tile.grouped")).to_have_count(3)
    assert len(stored()) == 1


@pytest.mark.parametrize("what", HANGING)
def test_an_answer_that_was_not_sent_outlives_hanging_storage(
    browser: Browser, web: System, what: str
) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.add_init_script(HANGING[what])
    page = visit(context, link_of(a_campaign(grid_size=12, budget=20), web))
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    images = sort_some(page, 5)
    page.route("**/answer", lambda route: route.abort())
    finish(page)
    expect(page.get_by_role("alert").first).to_contain_text("No connection", timeout=SLOW)
    page.unroute("**/answer")
    page.reload()
    expect(page.get_by_role("status").first).to_contain_text("It has been sent now", timeout=SLOW)
    (answer,) = stored()
    assert answer.groups is not None
    assert answer.groups.count(0) == len(images)
