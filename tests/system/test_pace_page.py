"""How fast people are: how much is left, and the question before an answer that came very soon."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import update

from app.annotation.models import Answer
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    DESK,
    PHONE,
    finish,
    grouped,
    link_of,
    no_errors_on_the_page,
    opened,
    stored,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
TOUCH = {"has_touch": True, "is_mobile": True}
SIZES: list[dict[str, Any]] = [
    {"viewport": {"width": 320, "height": 640}, **TOUCH},
    {"viewport": {"width": 390, "height": 844}, **TOUCH},
    {"viewport": {"width": 844, "height": 390}, **TOUCH},
    {"viewport": {"width": 1440, "height": 900}},
]
AT_ONCE = {"show_instructions": False, "descriptions": "none"}
SENT = Answer.state == "submitted"
QUICK = {**AT_ONCE, "quick_pause": 10}


def size_of(options: dict[str, Any]) -> str:
    return "{width}x{height}".format(**options["viewport"])


def at_grid(browser: Browser, link: str, **options: Any) -> Page:
    page = opened(browser, link, **options)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    return page


def pair(page: Page) -> None:
    """The least that can be submitted: two images together."""
    tiles = page.locator(TILES)
    images = [tile.get_attribute("data-image") for tile in tiles.all()[:2]]
    for image in images:
        page.locator(f"{TILES}[data-image='{image}']").click()
    if page.locator("section[data-group]").count():
        page.locator("section[data-group='0'] .name").click()


def next_grid(page: Page, n_done: int) -> None:
    expect(page.get_by_test_id("progress")).to_contain_text(str(n_done), timeout=SLOW)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)


def width_of(page: Page) -> tuple[int, int]:
    return page.evaluate("document.documentElement.scrollWidth"), page.evaluate("innerWidth")


# --- what is left ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", SIZES, ids=size_of)
def test_the_minutes_left_follow_the_pace(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    campaign = a_campaign(
        budget=4, grids_per_assignment=4, reward_cents=1200, grid_size=4, annotation=AT_ONCE
    )
    page = at_grid(browser, link_of(campaign, web), **options)
    left = page.get_by_test_id("time-left")
    expect(left).to_have_count(0)
    pair(page)
    finish(page)
    next_grid(page, 1)
    expect(left).to_have_text("less than a minute left")
    with transaction() as session:
        session.execute(update(Answer).where(SENT).values(elapsed_ms=118_000))
    page.reload()
    next_grid(page, 1)
    expect(left).to_have_text("about 6 min left")
    wide, inner = width_of(page)
    assert wide == inner
    page.screenshot(path=f"test-results/time-left-{size_of(options)}.png")
    # From now on by the sets of this visit.
    pair(page)
    finish(page)
    next_grid(page, 2)
    expect(left).to_have_text("less than a minute left")


def test_the_minutes_left_in_arabic(browser: Browser, web: System) -> None:
    campaign = a_campaign(budget=4, grids_per_assignment=3, grid_size=4, annotation=AT_ONCE)
    page = at_grid(browser, f"{link_of(campaign, web)}?lang=ar", **PHONE)
    pair(page)
    finish(page)
    next_grid(page, 1)
    with transaction() as session:
        session.execute(update(Answer).where(SENT).values(elapsed_ms=60_000))
    page.reload()
    next_grid(page, 1)
    expect(page.get_by_test_id("time-left")).to_have_text("بقيت دقيقتان تقريبًا")


# --- a quick answer --------------------------------------------------------------------------


def choices_of(answer: Answer) -> list[int]:
    return [event[2] for event in answer.trace if event[1] == "q"]


def submit(page: Page) -> None:
    page.get_by_test_id("submit").click()
    if page.get_by_test_id("submit-leftovers").is_visible():
        page.get_by_test_id("submit-leftovers").click()


@pytest.mark.parametrize("options", SIZES, ids=size_of)
@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_a_quick_answer_is_asked_about_once(
    browser: Browser, web: System, kind: str, options: dict[str, Any]
) -> None:
    strategy = {"grid": "cen", "bins": "crowdster"}[kind]
    campaign = a_campaign(
        kind=kind, strategy=strategy, budget=2, grid_size=24, grids_per_assignment=2,
        annotation=QUICK,
    )  # fmt: skip
    page = at_grid(browser, link_of(campaign, web), **options)
    pair(page)
    submit(page)
    question = page.get_by_test_id("quick")
    expect(question).to_contain_text("That was quick. Did you look at every picture?")
    expect(page.get_by_test_id("quick-back")).to_be_focused()
    expect(page.get_by_test_id("quick-back")).to_be_in_viewport(ratio=0.95)
    expect(page.get_by_test_id("submit-quick")).to_be_in_viewport(ratio=0.95)
    page.screenshot(path=f"test-results/quick-{kind}-{size_of(options)}.png")
    assert violations(page) == []
    assert stored() == []
    page.keyboard.press("Enter")
    expect(question).to_have_count(0)
    expect(page.locator(f"{TILES}:focus")).to_have_count(1)
    submit(page)
    next_grid(page, 1)
    pair(page)
    submit(page)
    page.get_by_test_id("submit-quick").click()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [choices_of(answer) for answer in stored()] == [[0, 1], [0, 2]]


def test_going_on_sorting_is_looking_again(browser: Browser, web: System) -> None:
    campaign = a_campaign(budget=1, grid_size=24, grids_per_assignment=1, annotation=QUICK)
    page = at_grid(browser, link_of(campaign, web), **DESK)
    pair(page)
    submit(page)
    expect(page.get_by_test_id("quick")).to_be_visible()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_test_id("quick")).to_have_count(0)
    expect(page.get_by_test_id("submit")).to_be_focused()
    # Nor is anybody asked again who opens the page again.
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved")
    page.reload()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    submit(page)
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [choices_of(answer) for answer in stored()] == [[0]]


def test_nobody_is_asked_again_who_opens_the_page_again(browser: Browser, web: System) -> None:
    campaign = a_campaign(budget=1, grid_size=24, grids_per_assignment=1, annotation=QUICK)
    page = at_grid(browser, link_of(campaign, web), **DESK)
    pair(page)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved")
    submit(page)
    expect(page.get_by_test_id("quick")).to_be_visible()
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved")
    page.reload()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    submit(page)
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [choices_of(answer) for answer in stored()] == [[0]]


def test_leftovers_are_asked_about_once(browser: Browser, web: System) -> None:
    campaign = a_campaign(budget=1, grid_size=24, grids_per_assignment=1, annotation=QUICK)
    page = at_grid(browser, link_of(campaign, web), **DESK)
    pair(page)
    page.get_by_test_id("submit").click()
    page.get_by_test_id("submit-leftovers").click()
    page.get_by_test_id("quick-back").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [choices_of(answer) for answer in stored()] == [[0, 1]]


def test_a_key_that_is_held_answers_no_question(browser: Browser, web: System) -> None:
    campaign = a_campaign(budget=1, grid_size=24, grids_per_assignment=1, annotation=QUICK)
    page = at_grid(browser, link_of(campaign, web), **DESK)
    pair(page)
    before = grouped(page)
    for button, question in (("submit", "leftovers"), ("submit-leftovers", "quick")):
        page.get_by_test_id(button).focus()
        for _ in range(5):
            page.keyboard.down("Enter")
            page.wait_for_timeout(30)
        page.keyboard.up("Enter")
        expect(page.get_by_test_id(question)).to_be_visible()
    assert grouped(page) == before
    assert stored() == []


def test_who_takes_their_time_is_not_asked(browser: Browser, web: System) -> None:
    campaign = a_campaign(
        budget=1, grid_size=4, grids_per_assignment=1, annotation={**QUICK, "quick_pause": 0.2}
    )
    page = at_grid(browser, link_of(campaign, web), **DESK)
    pair(page)
    page.wait_for_timeout(900)
    submit(page)
    code = page.get_by_test_id("completion-code")
    expect(code).to_have_text(re.compile(r"\w"), timeout=SLOW)
    assert [choices_of(answer) for answer in stored()] == [[]]
