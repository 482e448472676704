"""Work on the annotators' page survives reloads, killed servers, lost connections, second tabs and
late leases."""

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import func, select, update

from app.annotation.models import Annotator, Answer
from app.core.database import transaction
from testbed.browser import KEPT
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    PHONE,
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
from tests.support.person import SLOW, TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser


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
