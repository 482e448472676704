"""The annotators' page in a real browser: start to finish in every way, and nothing lost."""

import re
import time
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import func, select, update

from app.annotation.models import Annotator, Answer, Remark
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.browser import KEPT
from testbed.builders import COLOURS, a_campaign
from testbed.system import System, wait_until
from tests.support.axe import violations, violations_of_colours
from tests.support.person import SLOW, TILES, Person, Way

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1366, "height": 768}}
CONSENT = "# About this study\n\nYou sort **pictures**. [More](https://example.org)"


@pytest.fixture(scope="module")
def web_settings() -> dict[str, str]:
    return {"LIKEWISE_LEASE_SECONDS": "60"}


def kind_of(image: int) -> int:
    """Colours of the builders' table come in turn."""
    return image % len(COLOURS)


def link_of(campaign: Campaign, web: System) -> str:
    return annotator_link(campaign, web.base_url)


def opened(browser: Browser, link: str, **options: Any) -> Page:
    """The page of a newcomer, in a context of their own."""
    context = browser.new_context(**{**DESK, **options})
    return visit(context, link)


errors: list[str] = []


@pytest.fixture(autouse=True)
def no_errors_on_the_page() -> Iterator[None]:
    """Failing inside Playwright's own callback would end its connection."""
    errors.clear()
    yield
    assert errors == []


def visit(context: BrowserContext, link: str) -> Page:
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(link)
    return page


def at_work(browser: Browser, link: str, **options: Any) -> Page:
    page = opened(browser, link, **options)
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    return page


def stored() -> list[Answer]:
    with transaction() as session:
        query = select(Answer).where(Answer.state.in_(("submitted", "surplus")))
        return list(session.scalars(query.order_by(Answer.submitted_at)))


def assert_right(answer: Answer) -> None:
    """Every image is where this person meant it to be."""
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    assert answer.groups is not None
    for image, group in zip(images, answer.groups, strict=True):
        assert group in (kind_of(image), -1)


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


def test_images_are_chosen_by_box_range_and_holding(browser: Browser, web: System) -> None:
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
    first, last = tiles.nth(6).bounding_box(), tiles.nth(8).bounding_box()
    assert first is not None
    assert last is not None
    page.mouse.move(first["x"] + 10, first["y"] + 10)
    page.mouse.down()
    page.mouse.move(last["x"] + 20, last["y"] + 20, steps=5)
    page.mouse.up()
    expect(page.locator(".tile.selected")).to_have_count(3)
    page.keyboard.press("1")
    expect(page.locator(".tile.grouped")).to_have_count(8)
    page.mouse.move(first["x"] + 10, first["y"] + 10)
    page.mouse.down()
    expect(page.locator(".large img")).to_be_visible()
    page.mouse.up()
    expect(page.locator(".large img")).to_have_count(0)
    expect(page.locator(".tile.grouped")).to_have_count(8)
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


# --- for everybody ---------------------------------------------------------------------------


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


# --- nothing is lost -------------------------------------------------------------------------


def sort_some(page: Page, n: int, group: int = 0) -> list[int]:
    person = Person(page, "mouse", kind_of)
    images = person.images()[:n]
    page.locator(f"button[data-group='{group}']").click()
    for image in images:
        person.tile(image).click()
    return images


def grouped(page: Page) -> dict[int, str]:
    numbers: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('.tile.grouped')].map(
            one => [one.dataset.image, one.querySelector('.number').textContent]))"""
    )
    return {int(image): number for image, number in numbers.items()}


def finish(page: Page) -> None:
    """Describe what is used, and submit with leftovers."""
    for field in page.locator("[data-description]").all():
        field.fill("something")
    page.get_by_test_id("submit").click()
    if page.get_by_test_id("submit-leftovers").is_visible():
        page.get_by_test_id("submit-leftovers").click()


def test_a_reload_in_the_middle_goes_on_where_it_was(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web))
    sort_some(page, 4)
    page.locator("[data-description='0']").fill("blue ones")
    before = grouped(page)
    # At once: the server has not heard of the last moves yet.
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(4, timeout=SLOW)
    assert grouped(page) == before
    expect(page.locator("[data-description='0']")).to_have_value("blue ones")
    page.keyboard.press("Control+z")
    expect(page.locator(".tile.grouped")).to_have_count(3)


def test_the_server_killed_between_click_and_reply_stores_one_answer(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web))
    images = sort_some(page, 5)
    # The request reaches the server, which dies before the page has the reply.
    replies: list[bool] = []

    def die(route: Any) -> None:
        route.fetch()
        web.kill("web")
        replies.append(True)
        route.abort()

    page.route("**/answer", die, times=1)
    finish(page)
    expect(page.get_by_role("alert").first).to_contain_text("No connection", timeout=SLOW)
    assert replies
    web.start("web")
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert answer.groups is not None
    assert answer.groups.count(0) == len(images)


def test_the_server_killed_before_the_answer_and_the_page_reloaded(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web))
    images = sort_some(page, 5)
    page.route("**/answer", lambda route: route.abort())
    finish(page)
    expect(page.get_by_role("alert").first).to_contain_text("No connection", timeout=SLOW)
    web.kill("web")
    web.start("web")
    # Only the page that comes anew can send it.
    page.reload()
    page.unroute("**/answer")
    expect(page.get_by_role("status").first).to_contain_text("It has been sent now", timeout=SLOW)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert answer.groups is not None
    assert answer.groups.count(0) == len(images)


def test_thirty_seconds_offline_lose_no_move(browser: Browser, web: System) -> None:
    campaign = a_campaign(grid_size=12, budget=4)
    tokens: set[str] = set()
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.on("request", lambda asked: tokens.add(asked.headers.get("authorization", "")))
    page = visit(context, link_of(campaign, web))
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.context.set_offline(True)
    began = time.monotonic()
    sort_some(page, 3)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "local", timeout=SLOW)
    # The draft is kept in the browser, and who works there is not but by a random key.
    kept = page.evaluate(KEPT)
    assert "groups" in kept
    (token,) = {header.removeprefix("Bearer ") for header in tokens} - {""}
    assert token not in kept
    with transaction() as session:
        ids = session.scalars(select(Annotator.id)).all()
    assert len(ids) == 1
    assert str(ids[0]) not in kept
    sort_some(page, 6, group=1)
    finish(page)
    expect(page.get_by_role("alert").first).to_contain_text("No connection", timeout=SLOW)
    page.wait_for_timeout(max(0.0, 30 - (time.monotonic() - began)) * 1000)
    assert stored() == []
    page.context.set_offline(False)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert answer.groups is not None
    assert answer.groups.count(1) == 6


def test_two_tabs_show_the_same_and_store_one_answer(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=12, budget=4), web)
    first_tab = at_work(browser, link)
    other = visit(first_tab.context, link)
    expect(other.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    sort_some(first_tab, 3)
    expect(other.locator(".tile.grouped")).to_have_count(3, timeout=SLOW)
    person = Person(other, "mouse", kind_of)
    other.locator("button[data-group='1']").click()
    person.tile(person.images()[5]).click()
    expect(first_tab.locator(".tile.grouped")).to_have_count(4, timeout=SLOW)
    finish(first_tab)
    expect(first_tab.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    expect(other.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert answer.groups is not None
    assert sorted(group for group in answer.groups if group >= 0) == [0, 0, 0, 1]


def test_another_device_goes_on_by_the_personal_address(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=12, budget=4), web))
    sort_some(page, 4)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Switch device").click()
    address = page.get_by_test_id("elsewhere").input_value()
    page.keyboard.press("Escape")
    phone = opened(browser, address, **PHONE)
    expect(phone.locator(".tile.grouped")).to_have_count(4, timeout=SLOW)
    assert "#" not in phone.url
    person = Person(phone, "touch", kind_of)
    phone.locator("button[data-group='1']").tap()
    person.tile(person.images()[10]).tap()
    expect(phone.get_by_test_id("save-state")).to_have_attribute(
        "data-state", "saved", timeout=SLOW
    )
    # Back at the first one, which knows nothing of it: both moves are kept.
    desk = Person(page, "mouse", kind_of)
    desk.tile(desk.images()[7]).click()
    expect(page.get_by_role("status").first).to_contain_text("have been added", timeout=SLOW)
    expect(page.locator(".tile.grouped")).to_have_count(6)
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Annotator)) == 1


def test_a_lease_that_ran_out_keeps_its_work(browser: Browser, web: System) -> None:
    campaign = a_campaign(grid_size=12, budget=1, grids_per_assignment=1)
    link = link_of(campaign, web)
    page = at_work(browser, link)
    images = sort_some(page, 5)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)
    with transaction() as session:
        session.execute(update(Answer).values(lease_expires_at=func.now()))
    # Somebody else takes the grid over and finishes it.
    second = at_work(browser, link)
    assert sorted(Person(second, "mouse", kind_of).images()) == sorted(
        Person(page, "mouse", kind_of).images()
    )
    sort_some(second, 2)
    finish(second)
    expect(second.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(5, timeout=SLOW)
    finish(page)
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    answers = stored()
    assert [answer.state for answer in answers] == ["submitted", "surplus"]
    assert answers[1].groups is not None
    assert answers[1].groups.count(0) == len(images)


def test_a_double_click_on_submit_stores_one_answer(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    person = Person(page, "mouse", kind_of)
    person.sort_grid()
    person.describe()
    page.get_by_test_id("submit").dblclick()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    page.wait_for_timeout(500)
    assert len(stored()) == 1


def test_what_two_tabs_did_offline_is_saved_by_both(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=12, budget=4), web)
    first_tab = at_work(browser, link)
    other = visit(first_tab.context, link)
    expect(other.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    first_tab.context.set_offline(True)
    sort_some(other, 1)
    expect(first_tab.locator(".tile.grouped")).to_have_count(1)
    person = Person(first_tab, "mouse", kind_of)
    for image in person.images()[4:6]:
        person.tile(image).click()
    expect(other.locator(".tile.grouped")).to_have_count(3)
    first_tab.context.set_offline(False)
    for page in (first_tab, other):
        expect(page.get_by_test_id("save-state")).to_have_attribute(
            "data-state", "saved", timeout=SLOW
        )
    other.close()
    first_tab.reload()
    expect(first_tab.locator(".tile.grouped")).to_have_count(3, timeout=SLOW)


def test_work_done_offline_comes_back_although_its_lease_ran_out(
    browser: Browser, web: System
) -> None:
    link = link_of(a_campaign(grid_size=12, budget=4), web)
    page = at_work(browser, link)
    page.context.set_offline(True)
    sort_some(page, 5)
    before = grouped(page)
    page.close()
    with transaction() as session:
        session.execute(update(Answer).values(lease_expires_at=func.now()))
    taken = at_work(browser, link)
    assert sorted(Person(taken, "mouse", kind_of).images()) != []
    page.context.set_offline(False)
    again = visit(page.context, link)
    expect(again.locator(".tile.grouped")).to_have_count(5, timeout=SLOW)
    assert grouped(again) == before


def test_a_lost_head_start_is_made_up_for(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=12, budget=4, annotation={"show_instructions": False}), web)
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.route("**/images/small", lambda route: route.abort(), times=1)
    page = visit(context, link)
    expect(page.locator(f"{TILES} img")).to_have_count(12, timeout=SLOW)


def test_a_late_picture_does_not_stop_the_waiting(browser: Browser, web: System) -> None:
    link = link_of(a_campaign(grid_size=6, budget=2, grids_per_assignment=5), web)
    page = opened(browser, link, device_scale_factor=2)
    held: list[Any] = []
    page.route("**/images/thumb", lambda route: held.append(route))
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    other = at_work(browser, link)
    sort_some(page, 2)
    finish(page)
    # The other one holds the grid that is left.
    expect(page.get_by_role("heading", name="being prepared")).to_be_visible(timeout=SLOW)
    for route in list(held):
        route.continue_()
    page.wait_for_timeout(500)
    other.get_by_role("button", name="More").click()
    other.get_by_role("button", name="Skip this set").click()
    other.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)


def test_reported_images_stay_reported_and_out_of_the_rest(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    images = Person(page, "mouse", kind_of).images()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report a broken image").click()
    page.get_by_role("dialog").get_by_role("button", name="Image 3").click()
    expect(page.locator(".tile.broken")).to_have_count(1)
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)
    page.reload()
    expect(page.locator(".tile.broken")).to_have_count(1, timeout=SLOW)
    page.get_by_role("button", name="Put the rest here").click()
    expect(page.get_by_test_id("left")).to_contain_text("All images are sorted")
    finish(page)
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert answer.unseen == [images[2]]
    assert answer.groups is not None
    assert answer.groups.count(-1) == 1


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


def test_warned_then_stopped_then_let_in_again(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=20), web))
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
