"""The annotators' page in a real browser: start to finish in every way, and around the grids."""

import re
from typing import get_args

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, select, update

from app.annotation.models import Annotator, Remark
from app.campaigns.models import Grid
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    CONSENT,
    DESK,
    PHONE,
    assert_right,
    at_work,
    finish,
    grouped,
    kind_of,
    link_of,
    no_errors_on_the_page,
    opened,
    sort_some,
    stored,
    visit,
    web_settings,
)
from tests.support.person import SLOW, TILES, Person, Way

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser


# --- start to finish -------------------------------------------------------------------------


@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.parametrize("kind", ["grid", "bins"])
def test_both_kinds_are_done_from_start_to_finish(
    browser: Browser, web: System, kind: str, way: Way
) -> None:
    campaign = a_campaign(
        kind=kind,
        strategy="cen" if kind == "grid" else "crowdster",
        grid_size=8,
        budget=2,
        grids_per_assignment=2,
        reward_cents=200,
        annotation={
            "consent": CONSENT,
            "known_attribute": "colour",
            "practice": 1,
            "completion_url": "https://example.org/done?code={code}",
        },
    )
    page = opened(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    expect(page.get_by_test_id("consent").get_by_role("heading")).to_have_text("About this study")
    person.press(page.get_by_test_id("consent-agree"))
    person.press(page.get_by_test_id("start"))
    practise(person, kind)
    for n_done in range(2):
        expect(page.get_by_test_id("progress")).to_have_text(f"{n_done} of 2 done", timeout=SLOW)
        expect(page.get_by_test_id("earned")).to_contain_text(f"{n_done}.00 of $2.00")
        if kind == "grid":
            person.sort_grid()
            person.describe()
        else:
            person.sort_bins(leave=1)
        person.submit()
        if page.get_by_test_id("submit-leftovers").is_visible():
            person.press(page.get_by_test_id("submit-leftovers"))
    code = page.get_by_test_id("completion-code")
    expect(code).to_have_text(re.compile(r"^[A-Z2-9]{4}-[A-Z2-9]{4}$"), timeout=SLOW)
    address = page.get_by_role("link", name="Finish").get_attribute("href")
    assert address == f"https://example.org/done?code={code.inner_text()}"
    answers = stored()
    assert len(answers) == 2
    for answer in answers:
        assert_right(answer)
        assert answer.groups is not None
        assert answer.groups.count(-1) == (0 if kind == "grid" else 1)
        assert answer.trace[0][1] == "o"
        assert sum(event[1] == "p" for event in answer.trace) >= 3
        assert answer.device is not None
        assert answer.device["width"] == (360 if way == "touch" else 1366)


def practise(person: Person, kind: str) -> None:
    """Once wrong, with the known groups shown; then right."""
    page = person.page
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible(timeout=SLOW)
    first, second, *_ = person.images()
    for image in (first, second):
        if person.way == "keyboard":
            person.focus(image)
            page.keyboard.press("1")
        elif kind == "grid":
            person.press(person.tile(image))
        else:
            person.press(person.tile(image))
            person.press(person.bin(0).locator(".name"))
    person.submit()
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    assert page.locator(".frame").count() == len(person.images())
    person.press(page.get_by_test_id("practice-proceed"))
    person.sort_grid() if kind == "grid" else person.sort_bins()
    person.submit()
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)
    person.press(page.get_by_test_id("practice-proceed"))


def test_a_grid_of_24_takes_26_clicks_and_no_scrolling(browser: Browser, web: System) -> None:
    campaign = a_campaign(grid_size=24, budget=4)
    page = at_work(browser, link_of(campaign, web))
    page.evaluate("window.clicks = 0; addEventListener('pointerdown', () => window.clicks++, true)")
    person = Person(page, "mouse", kind_of)
    images = person.images()
    groups = [[image for image in images if kind_of(image) == kind] for kind in range(3)]
    for group, members in enumerate(groups[:2]):
        if group:
            page.locator(f"button[data-group='{group}']").click()
        for image in members:
            person.tile(image).click()
    page.locator("button[data-group='2']").click()
    page.get_by_role("button", name="Put the rest here").click()
    page.get_by_test_id("submit").click()
    for word in ("red", "green", "blue"):
        page.keyboard.type(word)
        page.keyboard.press("Enter")
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert page.evaluate("window.clicks") <= 26
    assert page.evaluate(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    ) == [768, 1366]
    assert page.evaluate("[scrollX, scrollY]") == [0, 0]
    (answer,) = stored()
    assert_right(answer)
    assert [word for word in answer.descriptions if word] == ["red", "green", "blue"]


def test_images_are_chosen_by_range_and_shown_large_by_resting_and_space(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign(grid_size=12, budget=4)
    page = at_work(browser, link_of(campaign, web))
    tiles = page.locator(TILES)
    tiles.nth(0).click(modifiers=["Shift"])
    tiles.nth(4).click(modifiers=["Shift"])
    expect(page.locator(".tile.selected")).to_have_count(5)
    page.locator("button[data-group='2']").click()
    expect(page.locator(".tile.grouped")).to_have_count(5)
    page.keyboard.press("Control+z")
    expect(page.locator(".tile.grouped")).to_have_count(0)
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".tile.grouped")).to_have_count(5)
    tiles.nth(6).hover()
    expect(page.locator(".large img")).to_be_visible()
    page.mouse.move(1, 1)
    expect(page.locator(".large img")).to_have_count(0)
    expect(page.locator(".tile.grouped")).to_have_count(5)
    tiles.nth(6).focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_several_images_are_dragged_at_once_and_back(browser: Browser, web: System) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=10, budget=4)
    page = at_work(browser, link_of(campaign, web))
    person = Person(page, "mouse", kind_of)
    tray = page.get_by_test_id("tray").locator(TILES)
    for k in (0, 2, 4):
        tray.nth(k).click()
    person.drag(tray.nth(2), person.bin(1))
    expect(person.bin(1).locator(TILES)).to_have_count(3)
    expect(tray).to_have_count(7)
    person.drag(person.bin(1).locator(TILES).first, person.bin(3))
    expect(person.bin(3).locator(TILES)).to_have_count(1)
    person.drag(person.bin(3).locator(TILES).first, page.get_by_test_id("tray"))
    expect(tray).to_have_count(8)
    expect(page.get_by_test_id("announcement")).to_contain_text("removed")


def test_a_digit_chooses_a_group_after_a_click_and_moves_an_image_after_an_arrow(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    first, second = Person(page, "mouse", kind_of).images()[:2]
    tile = Person(page, "mouse", kind_of).tile
    tile(first).click()
    page.keyboard.press("2")
    assert grouped(page) == {first: "1"}
    page.keyboard.press("ArrowRight")
    page.keyboard.press("3")
    assert grouped(page) == {first: "1", second: "3"}


# --- around the grids ------------------------------------------------------------------------


def test_broken_images_comments_and_skipped_grids_reach_the_requester(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    images = Person(page, "mouse", kind_of).images()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report a broken image").click()
    page.get_by_role("dialog").get_by_role("button", name="Image 3").click()
    expect(page.locator(".tile.broken")).to_have_count(1)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Comment").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("<b>too small</b>")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status").first).to_contain_text("Thank you")
    sort_some(page, 2)
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Skip this set").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("blurred")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    (answer,) = stored()
    assert answer.unseen == [images[2]]
    remarks = wait_until(
        "three remarks", lambda: rows if len(rows := stored_remarks()) == 3 else None
    )
    assert remarks == [
        ("broken_image", "", images[2]),
        ("comment", "<b>too small</b>", None),
        ("skipped", "blurred", None),
    ]


def test_who_has_no_skip_left_is_not_offered_one(browser: Browser, web: System) -> None:
    campaign = a_campaign(grid_size=6, budget=8, annotation={"most_skips": 2})
    page = at_work(browser, link_of(campaign, web))
    for left in ("You can skip 2 more sets.", "You can skip one more set."):
        page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="Skip this set").click()
        expect(page.get_by_role("dialog")).to_contain_text(left)
        with page.expect_response("**/leases"):
            page.get_by_role("button", name="Skip", exact=True).click()
        expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("button", name="Report a broken image")).to_be_visible()
    expect(page.get_by_role("button", name="Skip this set")).to_have_count(0)


def stored_remarks() -> list[tuple[str, str, int | None]]:
    with transaction() as session:
        rows = session.scalars(select(Remark).order_by(Remark.created_at))
        return [(remark.kind, remark.text, remark.image) for remark in rows]


def test_the_next_grids_images_are_there_before_it_is(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=20), web))
    person = Person(page, "mouse", kind_of)
    person.sort_grid()
    person.describe()
    page.wait_for_timeout(2500)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    expect(page.locator(f"{TILES} img")).to_have_count(6)
    assert not [url for url in asked if "/images/" in url]


def test_the_code_outlives_doing_more_and_a_reload(browser: Browser, web: System) -> None:
    campaign = a_campaign(
        grid_size=6,
        budget=2,
        reward_cents=100,
        grids_per_assignment=1,
        annotation={"completion_url": "https://example.org/?c={code}", "thanks": "So long"},
    )
    page = at_work(browser, link_of(campaign, web))
    sort_some(page, 2)
    finish(page)
    code = page.get_by_test_id("completion-code").inner_text()
    expect(page.get_by_test_id("do-more")).to_be_visible()
    # While they made up their mind, somebody else took the last grid.
    with transaction() as session:
        session.execute(update(Grid).where(Grid.n_answers == 0).values(wanted=0))
    page.get_by_test_id("do-more").click()
    expect(page.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
    page.reload()
    expect(page.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
    assert page.get_by_role("link", name="Finish").get_attribute("href") == (
        f"https://example.org/?c={code}"
    )
    expect(page.get_by_text("So long")).to_be_visible()
    expect(page.get_by_text("You earned $1.00.")).to_be_visible()


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (0, "There are no more sets for you."),
        (1000, "We have what we need from you. You are paid for 2 sets. You earned $2.00."),
    ],
)
def test_warned_then_stopped_then_let_in_again(
    browser: Browser, web: System, reward: int, words: str
) -> None:
    campaign = a_campaign(grid_size=6, budget=20, grids_per_assignment=10, reward_cents=reward)
    page = at_work(browser, link_of(campaign, web))
    now = {"warned_at": func.now()}
    with transaction() as session:
        session.execute(update(Annotator).values(now))
    sort_some(page, 2)
    finish(page)
    page.get_by_test_id("warning-seen").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    with transaction() as session:
        session.execute(update(Annotator).values(stopped_at=func.now()))
    sort_some(page, 2)
    finish(page)
    expect(page.get_by_role("heading", name="Thank you, you're done here")).to_be_visible(
        timeout=SLOW
    )
    expect(page.get_by_role("main")).to_contain_text(words)
    code = page.get_by_test_id("completion-code").inner_text()
    page.reload()
    expect(page.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
    with transaction() as session:
        session.execute(update(Annotator).values(stopped_at=None))
    page.reload()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)


def test_the_address_of_somebody_else_is_asked_about(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=6, budget=20), web)
    page = at_work(browser, link)
    sort_some(page, 2)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)
    strange = visit(page.context, f"{link}#k=somebody-else-entirely")
    expect(strange.get_by_role("heading", name="Continue as someone else?")).to_be_visible()
    strange.get_by_role("button", name="No, continue as before").click()
    expect(strange.locator(".tile.grouped")).to_have_count(2, timeout=SLOW)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Annotator)) == 1


def test_without_storage_the_page_works_as_long_as_it_is_open(
    browser: Browser, web: System
) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.add_init_script(
        """Object.defineProperty(window, 'localStorage', {get() { throw new Error('no'); }});
        IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };
        window.BroadcastChannel = class { constructor() { throw new Error('no'); } };"""
    )
    page = visit(context, link_of(a_campaign(grid_size=6, budget=20), web))
    page.get_by_test_id("start").click()
    sort_some(page, 2)
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    page.get_by_role("button", name="More").click()
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_test_id("progress")).to_contain_text("1 von", timeout=SLOW)
