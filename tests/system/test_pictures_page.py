"""An answer says something about pictures only once they were shown."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    DESK,
    link_of,
    no_errors_on_the_page,
    sort_some,
    stored,
    visit,
)
from tests.support.axe import violations
from tests.support.kinds import PLANS
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser

BUNDLES = "**/api/v1/annotate/leases/*/images/*"
SINGLES = "**/media/**"
AT_ONCE = {"show_instructions": False}
LOADING = "Pictures are still loading…"


def a_short_campaign(kind: str = "grid", **plan: Any) -> Campaign:
    values = {**PLANS[kind], "budget": 4, "annotation": AT_ONCE, **plan}
    return a_campaign(kind=kind, question="What is seen?", **values)


def a_newcomer(browser: Browser, **options: Any) -> BrowserContext:
    return browser.new_context(**{**DESK, **options})


def press_submit(page: Page) -> None:
    """As by a script or an impatient finger: whether or not the page is ready."""
    page.get_by_test_id("submit").evaluate("button => button.click()")


def decide(page: Page) -> None:
    """Answer as soon as the page lets one try, by the first image or by the button."""
    if page.locator(".place").count() > 0:
        page.locator(f".place {TILES}").first.evaluate("tile => tile.click()")
    else:
        press_submit(page)


def images_of(answer: Answer) -> list[int]:
    with transaction() as session:
        return list(session.get_one(Grid, answer.grid_id).images)


def blocked(requests: list[str]) -> Callable[[Route], None]:
    def block(route: Route) -> None:
        requests.append(route.request.url)
        route.abort()

    return block


@pytest.mark.parametrize("kind", PLANS)
def test_pictures_that_never_come_are_waited_for_and_end_up_unseen(
    browser: Browser, web: System, kind: str
) -> None:
    bundles: list[str] = []
    singles: list[str] = []
    context = a_newcomer(browser)
    context.route(BUNDLES, blocked(bundles))
    context.route(SINGLES, blocked(singles))
    page = visit(context, link_of(a_short_campaign(kind), web))
    expect(page.locator(TILES).first).to_be_visible(timeout=SLOW)
    # In a task of one click, the first images take none for a moment.
    page.wait_for_timeout(350)
    decide(page)
    expect(page.get_by_role("status").filter(has_text=LOADING)).to_be_visible()
    n_images = page.locator(TILES).count()
    expect(page.locator(".pictures")).to_contain_text(f"{n_images} pictures can't be loaded")
    # The head start of the page is one more request than the three.
    assert 3 <= len(bundles) <= 4
    assert len({url.split("#")[0] for url in singles}) == n_images
    assert stored() == []
    if kind in ("odd_one_out", "nearer"):
        page.get_by_test_id("skip").click()
    else:
        page.get_by_test_id("submit").click()
        expect(page.get_by_role("alert").filter(has_text="can't be loaded")).to_be_visible()
        page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert sorted(answer.unseen) == sorted(images_of(answer))


@pytest.mark.parametrize("kind", ["grid", "odd_one_out"])
def test_late_pictures_hold_back_the_answer_until_they_are_shown(
    browser: Browser, web: System, kind: str
) -> None:
    held: list[Route] = []
    context = a_newcomer(browser)
    context.route(BUNDLES, lambda route: held.append(route))
    page = visit(context, link_of(a_short_campaign(kind), web))
    expect(page.locator(TILES).first).to_be_visible(timeout=SLOW)
    # Nobody did anything yet: the page says by itself that it waits, and only after a moment.
    expect(page.locator(".pictures")).to_have_text(LOADING)
    tree = page.locator(".annotator").aria_snapshot()
    assert f"- status: {LOADING}" in tree
    assert violations(page) == []
    decide(page)
    page.wait_for_timeout(300)
    assert stored() == []
    if kind == "grid":
        # What can be done without seeing is not lost.
        for tile in page.locator(TILES).all()[:3]:
            tile.click()
        expect(page.get_by_test_id("submit")).to_have_attribute("aria-disabled", "true")
        expect(page.get_by_test_id("submit")).to_have_accessible_description(LOADING)
    for route in held:
        route.continue_()
    expect(page.locator(".pictures")).to_be_empty(timeout=SLOW)
    expect(page.locator(f"{TILES} img")).to_have_count(page.locator(TILES).count())
    if kind == "grid":
        for field in page.locator("[data-description]").all():
            field.fill("something")
        page.get_by_test_id("submit").click()
        page.get_by_test_id("submit-leftovers").click()
    else:
        page.locator(f".place {TILES}").first.click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert [answer.unseen for answer in stored()] == [[]]


def test_pictures_come_by_their_own_addresses_where_the_bundle_fails(
    browser: Browser, web: System
) -> None:
    context = a_newcomer(browser)
    context.route(BUNDLES, lambda route: route.abort())
    page = visit(context, link_of(a_short_campaign(), web))
    expect(page.locator(f"{TILES} img[src^='/media/']")).to_have_count(6, timeout=SLOW)
    sort_some(page, 4)
    for field in page.locator("[data-description]").all():
        field.fill("something")
    page.get_by_test_id("submit").click()
    page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert [answer.unseen for answer in stored()] == [[]]


def a_page_without_one_picture(context: BrowserContext, campaign: Campaign, web: System) -> Page:
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        url = route.request.url.split("#")[0]
        lost[:] = lost or [url]
        if url == lost[0]:
            route.abort()
        else:
            route.continue_()

    context.route(BUNDLES, lambda route: route.abort())
    context.route(SINGLES, lose_the_first)
    page = visit(context, link_of(campaign, web))
    expect(page.locator(".pictures")).to_contain_text("1 picture can't be loaded", timeout=SLOW)
    return page


def test_a_lost_picture_is_asked_for_until_it_comes(browser: Browser, web: System) -> None:
    context = a_newcomer(browser)
    page = a_page_without_one_picture(context, a_short_campaign(), web)
    labels = page.locator(TILES).evaluate_all("all => all.map(tile => tile.ariaLabel)")
    assert sum("can't be displayed" in label for label in labels) == 1
    context.unroute(SINGLES)
    expect(page.locator(".pictures")).to_be_empty(timeout=SLOW)
    expect(page.locator(f"{TILES} img")).to_have_count(6)


def test_an_answer_leaves_out_the_one_picture_that_was_not_shown(
    browser: Browser, web: System
) -> None:
    page = a_page_without_one_picture(a_newcomer(browser), a_short_campaign("select"), web)
    for tile in page.locator(TILES).all():
        tile.click()
    page.get_by_test_id("submit").click()
    page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    (unseen,) = answer.unseen
    groups = dict(zip(images_of(answer), answer.groups or [], strict=True))
    assert groups.pop(unseen) == -1
    assert set(groups.values()) == {0}


def test_a_lost_picture_is_asked_about_before_an_untouched_set_is(
    browser: Browser, web: System
) -> None:
    page = a_page_without_one_picture(a_newcomer(browser), a_short_campaign("select"), web)
    page.get_by_test_id("submit").click()
    question = page.locator(".confirm")
    expect(question).to_contain_text("Submit without seeing every picture?")
    page.get_by_test_id("submit-leftovers").click()
    expect(question).to_contain_text("Do none of these images show it?")
    assert stored() == []
    page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert len(stored()) == 1
