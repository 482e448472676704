"""While an answer is on its way: what screen readers hear, and where the keyboard is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.accessibility_tree import spoken
from tests.support.annotators_page import (
    at_work,
    kind_of,
    link_of,
    no_errors_on_the_page,
    web_settings,
)
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser

STRATEGIES = {"grid": "cen", "bins": "crowdster", "odd_one_out": "cen"}


@contextmanager
def held_answers(page: Page) -> Iterator[list[Route]]:
    """Answers wait on their way until they are let on."""
    waiting: list[Route] = []
    page.route("**/answer", lambda route: waiting.append(route))
    yield waiting
    page.unroute("**/answer")


def answer(page: Page, kind: str) -> None:
    person = Person(page, "mouse", kind_of)
    images = person.images()
    if kind == "odd_one_out":
        person.tile(images[1]).click()
        return
    if kind == "grid":
        person.sort_grid()
        person.describe()
    else:
        person.sort_bins()
    page.get_by_test_id("submit").click()


def focus(page: Page) -> tuple[str, str]:
    """The role and name of what has the focus; the page itself if nothing has."""
    focused = [(node.role, node.name) for node in spoken(page) if node.focused]
    return focused[-1]


@pytest.mark.parametrize("kind", STRATEGIES)
def test_screen_readers_hear_of_an_answer_on_its_way(
    browser: Browser, web: System, kind: str
) -> None:
    campaign = a_campaign(
        kind=kind,
        strategy=STRATEGIES[kind],
        name="Shapes",
        grid_size=3 if kind == "odd_one_out" else 8,
        budget=9,
        grids_per_assignment=3,
    )
    page = at_work(browser, link_of(campaign, web))
    assert page.title() == "Set 1 of 3 – Shapes"
    with held_answers(page) as waiting:
        answer(page, kind)
        for _ in range(100):
            page.wait_for_timeout(100)
            if waiting:
                break
        (route,) = waiting
        role, name = focus(page)
        assert role == "button"
        assert name == "Sending…" if kind != "odd_one_out" else name.startswith("Image 2")
        route.abort()
        expect(page.get_by_role("alert").first).to_contain_text("No connection", timeout=SLOW)
        nodes = spoken(page)
        assert "alert" in {node.role for node in nodes}
        assert any(
            node.role == "StaticText" and node.name.startswith("No connection") for node in nodes
        )
        assert focus(page)[0] == "button"
    while waiting[1:]:
        waiting.pop().continue_()
    expect(page.get_by_test_id("position")).to_have_text("Set 1 sent. Set 2 of 3.", timeout=SLOW)
    assert page.title() == "Set 2 of 3 – Shapes"
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    assert "polite" in {node.live for node in spoken(page) if node.name == "Set 2 of 3."}
    # At the beginning of the new set.
    assert focus(page) == ("region", campaign.question)
    assert page.evaluate("scrollY") == 0
    page.wait_for_timeout(400)
    page.keyboard.press("Tab")
    assert focus(page)[1].startswith("Images to sort" if kind == "bins" else "Image 1")
