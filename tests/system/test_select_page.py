"""The annotators' page for votes in a real browser: yes, no or unsure for every image."""

import re
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.support.annotators_page import (
    DESK,
    PHONE,
    at_work,
    kind_of,
    link_of,
    no_errors_on_the_page,
    opened,
    stored,
    visit,
)
from tests.support.axe import violations, violations_of_colours
from tests.support.person import SLOW, TILES, Person, Way

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
YES, NO, UNSURE = 0, 1, 2
RED = {"known_attribute": "colour", "known_value": "red"}


def a_select_campaign(owner: Account | None = None, **plan: Any) -> Campaign:
    values: dict[str, Any] = {"grid_size": 8, "budget": 4, "question": "Which are red?", **plan}
    return a_campaign(
        owner, kind="select", strategy="neucrowd", settings={"features": "features"}, **values
    )


def voted(page: Page) -> dict[int, int]:
    """Votes as tiles show them, by their names."""
    labels = page.locator(TILES).evaluate_all(
        "all => all.map(one => [one.dataset.image, one.getAttribute('aria-label')])"
    )
    names = {"yes": YES, "no": NO, "unsure": UNSURE}
    matches = {int(image): re.match(r"Image \d+, (\w+)", label) for image, label in labels}
    return {
        k: names[match[1]]
        for k, match in matches.items()
        if match is not None and match[1] in names
    }


def votes_of(answer: Answer) -> dict[int, int]:
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    assert answer.groups is not None
    return dict(zip(images, answer.groups, strict=True))


def is_saved(page: Page) -> None:
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved", timeout=SLOW)


# --- start to finish -------------------------------------------------------------------------


@pytest.mark.parametrize("way", get_args(Way))
def test_an_assignment_is_done_from_start_to_finish(
    browser: Browser, web: System, way: Way
) -> None:
    campaign = a_select_campaign(
        budget=2, grids_per_assignment=2, annotation={**RED, "practice": 1}
    )
    page = opened(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    expect(page.get_by_text("Pictures you don't tick count as “No”.")).to_be_visible()
    person.press(page.get_by_test_id("start"))
    practise(person)
    given: list[dict[int, int]] = []
    for n_done in range(2):
        expect(page.get_by_test_id("progress")).to_have_text(f"{n_done} of 2 done", timeout=SLOW)
        images = person.images()
        votes = {image: YES for image in images if kind_of(image) == 0}
        others = [image for image in images if image not in votes]
        person.vote({**votes, others[0]: UNSURE, others[1]: NO})
        assert voted(page) == {**votes, others[0]: UNSURE, others[1]: NO}
        n_yes, n_no = len(votes), len(images) - len(votes) - 1
        expect(page.get_by_test_id("left")).to_have_text(
            re.compile(rf"^{n_yes}\stick.*1\sunsure,\s{n_no}\sno$")
        )
        expect(page.locator("button[data-group='1']")).to_have_accessible_name(f"No, {n_no} images")
        given.append({image: NO for image in images} | votes | {others[0]: UNSURE})
        person.submit()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    answers = stored()
    assert [votes_of(answer) for answer in answers] == given
    assert all(sum(event[1] == "p" for event in answer.trace) >= 3 for answer in answers)


def practise(person: Person) -> None:
    """Once wrong, with the known answer shown; then right."""
    page = person.page
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("Which are red?")).to_be_visible()
    images = person.images()
    red = {image: YES for image in images if kind_of(image) == 0}
    wrong = next(image for image in images if image not in red)
    person.vote({wrong: YES})
    person.submit()
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    expect(page.locator(".frame")).to_have_count(len(images))
    expect(page.locator(".frame[style*='solid']")).to_have_count(len(red))
    # Those judged otherwise are the only ones that are not faint.
    expect(page.locator(f"{TILES}:not(.agrees)")).to_have_count(len(red) + 1)
    expect(person.tile(wrong)).to_have_accessible_name(
        re.compile(r"^Image \d+, yes; expected answer: no$")
    )
    person.press(page.get_by_test_id("practice-proceed"))
    # Once more takes the tick away.
    person.vote({wrong: YES, **red})
    person.submit()
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)
    person.press(page.get_by_test_id("practice-proceed"))


def test_an_untouched_grid_is_asked_about_every_time(browser: Browser, web: System) -> None:
    campaign = a_select_campaign(budget=3, grids_per_assignment=3)
    page = at_work(browser, link_of(campaign, web))
    submit, confirm = page.get_by_test_id("submit"), page.get_by_test_id("submit-leftovers")
    # Whoever clicks twice has not answered the question in between.
    submit.dblclick()
    expect(page.get_by_role("alert").first).to_contain_text("Do none of these images show it?")
    page.wait_for_timeout(300)
    assert stored() == []
    page.get_by_role("button", name="Check again").click()
    expect(confirm).to_be_hidden()
    submit.click()
    page.locator(TILES).first.click()
    expect(confirm).to_be_hidden()
    page.locator(TILES).first.click()
    for n in (1, 2):
        submit.click()
        confirm.click()
        expect(page.get_by_test_id("progress")).to_have_text(f"{n} of 3 done", timeout=SLOW)
        expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    # One image is marked, though as no: that says enough.
    page.keyboard.press("2")
    page.locator(TILES).first.click()
    submit.click()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [set(answer.groups or []) for answer in stored()] == [{NO}] * 3


def test_a_broken_image_gets_no_vote(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_select_campaign(), web))
    images = Person(page, "mouse", kind_of).images()
    page.locator(TILES).nth(2).click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report a broken image").click()
    page.get_by_role("dialog").get_by_role("button", name="Image 3").click()
    expect(page.locator(".tile.broken")).to_have_accessible_name(
        "Image 3, not ticked, can't be displayed"
    )
    page.locator(TILES).nth(2).click()
    expect(page.get_by_test_id("left")).to_have_text(re.compile(r"^0\s.*, 7\sno$"))
    page.get_by_role("button", name="Mark the rest: yes").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert votes_of(answer) == {image: -1 if image == images[2] else YES for image in images}
    assert answer.unseen == [images[2]]


# --- by keyboard, and nothing is lost --------------------------------------------------------


def test_keys_vote_on_one_and_on_many_and_enter_goes_on_ticking(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_select_campaign(), web))
    images = Person(page, "keyboard", kind_of).images()
    Person(page, "keyboard", kind_of).focus(images[0])
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    assert voted(page) == {images[0]: UNSURE, images[1]: YES}
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("announcement")).to_contain_text("Image 2: mark removed.")
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    assert voted(page) == {}
    page.locator(TILES).nth(3).click(modifiers=["Control"])
    page.locator(TILES).nth(5).click(modifiers=["Shift"])
    page.keyboard.press("2")
    assert voted(page) == dict.fromkeys(images[3:6], NO)
    page.keyboard.press("r")
    assert list(voted(page).values()).count(YES) == 5
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert voted(page) == {}
    page.keyboard.press("Control+Shift+z")
    assert voted(page) == dict.fromkeys(images[3:6], NO)


def test_a_reload_and_another_window_go_on_where_it_was(browser: Browser, web: System) -> None:
    link = link_of(a_select_campaign(), web)
    page = at_work(browser, link)
    images = Person(page, "mouse", kind_of).images()
    Person(page, "mouse", kind_of).vote({images[1]: YES, images[4]: YES, images[2]: UNSURE})
    before = voted(page)
    assert len(before) == 3
    # At once: the server has not heard of the last votes yet.
    page.reload()
    expect(page.locator(".tile.grouped")).to_have_count(3, timeout=SLOW)
    assert voted(page) == before
    is_saved(page)
    other = visit(page.context, link)
    expect(other.locator(".tile.grouped")).to_have_count(3, timeout=SLOW)
    other.locator(TILES).nth(6).click()
    expect(page.locator(".tile.grouped")).to_have_count(4)
    assert voted(page) == {**before, images[6]: YES}


# --- for everybody ---------------------------------------------------------------------------


def test_no_page_breaks_the_accessibility_rules(browser: Browser, web: System) -> None:
    campaign = a_select_campaign(
        budget=1, grids_per_assignment=1, annotation={**RED, "practice": 1}
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

    expect(page.get_by_test_id("start")).to_be_visible(timeout=SLOW)
    check("instructions")
    page.get_by_test_id("start").click()
    images = person.images()
    person.vote({images[0]: YES, images[1]: UNSURE, images[2]: NO})
    check("practice")
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("practice-proceed")).to_be_visible(timeout=SLOW)
    check("feedback")
    page.get_by_test_id("practice-proceed").click()
    page.get_by_title("Clear all").click()
    person.vote({image: YES for image in images if kind_of(image) == 0})
    page.get_by_test_id("submit").click()
    page.get_by_test_id("practice-proceed").click()
    expect(page.get_by_test_id("save-state")).to_be_visible(timeout=SLOW)
    images = person.images()
    check("task")
    page.get_by_test_id("submit").click()
    check("asked about nothing")
    person.vote({images[0]: YES, images[1]: UNSURE, images[2]: NO})
    page.locator(TILES).nth(1).click(modifiers=["Shift"])
    check("task with votes and a choice")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check("help")
    assert {name: problems for name, problems in seen.items() if problems} == {}


@pytest.mark.parametrize(
    ("width", "language"), [(320, "en"), (320, "de"), (320, "ar"), (768, "ar")]
)
def test_nothing_is_wider_than_the_screen_or_cut_off(
    browser: Browser, web: System, width: int, language: str
) -> None:
    campaign = a_select_campaign(grid_size=24)
    viewport = {"width": width, "height": 700}
    page = at_work(browser, link_of(campaign, web), viewport=viewport, locale=language)
    page.locator(TILES).first.click()
    page.get_by_test_id("submit").scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    too_narrow = page.locator("button[data-group], .side button").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML)"
    )
    assert too_narrow == []


# --- before it and after it ------------------------------------------------------------------


def signed_in(browser: Browser, web: System, owner: Account) -> Page:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


def test_requesters_try_it_and_others_look_at_it(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner, grids_per_assignment=1)
    address = f"{web.base_url}/campaigns/{campaign.id}/preview"
    page = signed_in(browser, web, owner)
    page.goto(address)
    page.get_by_test_id("start").click()
    page.locator(TILES).first.click()
    assert list(voted(page).values()) == [YES]
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("completion-code")).to_have_text("PREV-IEW0")

    def lock(route: Route) -> None:
        """As on platforms, for who has not taken the task on."""
        reply = route.fetch()
        text = reply.text()
        assert '"stages"' in text
        route.fulfill(response=reply, body=text.replace('"stages"', '"locked": true, "stages"', 1))

    page.route(address, lock)
    page.goto(address)
    expect(page.get_by_test_id("preview-banner")).to_be_visible()
    expect(page.locator(f"{TILES} img")).to_have_count(8)
    expect(page.get_by_text("Pictures you don't tick count as “No”.").first).to_be_visible()
    page.locator(TILES).first.click(force=True)
    assert voted(page) == {}
    assert stored() == []


def test_votes_are_played_back_by_their_names(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_select_campaign(owner)
    page = at_work(browser, link_of(campaign, web))
    images = Person(page, "mouse", kind_of).images()
    Person(page, "mouse", kind_of).vote({images[0]: YES, images[1]: UNSURE})
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    theirs = signed_in(browser, web, owner)
    theirs.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators#play-0")
    replay = theirs.get_by_test_id("replay")
    expect(replay.get_by_test_id("votes")).to_contain_text("1 yes, 6 no, 1 unsure", timeout=SLOW)
    expect(replay.get_by_alt_text(f"Image {images[0]}, yes")).to_be_visible()
    expect(replay.get_by_alt_text(f"Image {images[1]}, unsure")).to_be_visible()
    expect(replay.get_by_alt_text(f"Image {images[2]}, not ticked")).to_be_visible()
    with transaction() as session:
        assert session.get_one(Campaign, campaign.id).kind == "select"
    assert violations(theirs) == []
