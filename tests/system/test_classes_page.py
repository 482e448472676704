"""The annotators' page for classes and labels in a real browser."""

import re
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.builders import COLOURS, a_campaign, an_account
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
)
from tests.support.axe import violations, violations_of_colours
from tests.support.person import SLOW, TILES, Person, Way

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
LABELS = ["even", "large", "third label"]
MANY = [f"a rather long name of class {k}" for k in range(10)]


def a_class_campaign(kind: str = "classify", owner: Account | None = None, **plan: Any) -> Campaign:
    values: dict[str, Any] = {
        "grid_size": 8,
        "budget": 4,
        "classes": list(COLOURS) if kind == "classify" else LABELS,
        "question": "What is it?",
        **plan,
    }
    settings = {"features": "features"}
    return a_campaign(owner, kind=kind, strategy="neucrowd", settings=settings, **values)


def groups_of(answer: Answer) -> dict[int, int]:
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    assert answer.groups is not None
    return dict(zip(images, answer.groups, strict=True))


def named(page: Page) -> list[str]:
    """What the images are called, without their places."""
    names: list[str] = page.locator(TILES).evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label').replace(/^Image \\d+, /, ''))"
    )
    return names


# --- one class for each image ----------------------------------------------------------------


@pytest.mark.parametrize("way", get_args(Way))
def test_an_assignment_is_done_from_start_to_finish(
    browser: Browser, web: System, way: Way
) -> None:
    campaign = a_class_campaign(
        budget=2, grids_per_assignment=2, annotation={"known_attribute": "colour", "practice": 1}
    )
    page = opened(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    expect(page.get_by_text("Images without a class count as “can't tell”.")).to_be_visible()
    person.press(page.get_by_test_id("start"))
    practise(person)
    for n_done in range(2):
        expect(page.get_by_test_id("progress")).to_have_text(f"{n_done} of 2 done", timeout=SLOW)
        person.sort_grid()
        expect(page.get_by_test_id("left")).to_have_text("All images are sorted")
        person.submit()
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    for answer in stored():
        assert groups_of(answer) == {image: kind_of(image) for image in groups_of(answer)}


def practise(person: Person) -> None:
    """Once wrong, with the known answer shown; then right."""
    page = person.page
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible(timeout=SLOW)
    first = person.images()[0]
    wrong = (kind_of(first) + 1) % 3
    Person(page, person.way, lambda image: (kind_of(image) + 1) % 3).sort_grid()
    person.submit()
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    expect(person.tile(first)).to_have_accessible_name(
        re.compile(f"^Image 1, {COLOURS[wrong]}; expected answer: {COLOURS[kind_of(first)]}$")
    )
    expect(page.locator(f"{TILES}:not(.agrees)")).to_have_count(len(person.images()))
    person.press(page.get_by_test_id("practice-proceed"))
    person.sort_grid()
    person.submit()
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)
    person.press(page.get_by_test_id("practice-proceed"))


def test_keys_classify_one_and_many_and_steps_are_undone(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_class_campaign(), web))
    person = Person(page, "keyboard", kind_of)
    person.focus(person.images()[0])
    page.keyboard.press("3")
    page.keyboard.press("1")
    assert named(page)[:3] == ["blue", "red", "no class yet"]
    expect(page.get_by_test_id("announcement")).to_have_text("Image 2: red. 6 images left.")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    expect(page.get_by_test_id("announcement")).to_have_text(
        "Image 2: class removed. 7 images left."
    )
    page.keyboard.press("Control+z")
    assert named(page)[1] == "red"
    page.locator(TILES).nth(3).click(modifiers=["Control"])
    page.locator(TILES).nth(5).click(modifiers=["Shift"])
    page.keyboard.press("2")
    assert named(page)[3:6] == ["green"] * 3
    # A space enlarges the focused image, with its class.
    page.keyboard.press(" ")
    expect(page.get_by_role("dialog", name=re.compile(", green$"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_test_id("submit").click()
    expect(page.get_by_role("alert").first).to_contain_text("3 images have no class.")
    page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert list(groups_of(answer).values()).count(-1) == 3


def test_a_reload_goes_on_where_it_was(browser: Browser, web: System) -> None:
    for kind in ("classify", "labels"):
        page = at_work(browser, link_of(a_class_campaign(kind, an_account(f"{kind}@a.org")), web))
        for number, place in ((2, 1), (0, 1), (1, 4)):
            page.locator(f"button[data-group='{number}']").click()
            page.locator(TILES).nth(place).click()
        before = named(page)
        page.reload()
        expect(page.locator(".tile.grouped")).to_have_count(2, timeout=SLOW)
        assert named(page) == before


# --- several labels for each image -----------------------------------------------------------


@pytest.mark.parametrize("way", get_args(Way))
def test_images_get_several_labels(browser: Browser, web: System, way: Way) -> None:
    campaign = a_class_campaign("labels")
    page = at_work(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    images = person.images()

    def switch(label: int, place: int) -> None:
        if way == "keyboard":
            person.focus(images[place])
            page.keyboard.press(str(label + 1))
        else:
            person.press(page.locator(f"button[data-group='{label}']"))
            person.press(person.tile(images[place]))

    switch(0, 0)
    switch(2, 0)
    switch(2, 1)
    assert named(page)[:3] == ["even, third label", "third label", "no label"]
    expect(page.get_by_test_id("announcement")).to_have_text(
        "Image 2: third label added. 6 images without a label."
    )
    # Both labels are shown by number and name, not only by colour.
    marks = person.tile(images[0]).locator(".number")
    expect(marks).to_have_text(["even", "third label"])
    assert [mark.get_attribute("data-number") for mark in marks.all()] == ["1", "3"]
    expect(page.locator("button[data-group='2']")).to_have_accessible_name("third label, 2 images")
    switch(2, 0)
    expect(page.get_by_test_id("announcement")).to_contain_text("Image 1: third label removed.")
    page.keyboard.press("Control+z")
    assert named(page)[0] == "even, third label"
    person.press(page.get_by_test_id("submit"))
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    (answer,) = stored()
    assert groups_of(answer) == {**dict.fromkeys(images, 0), images[0]: 5, images[1]: 4}


def test_an_answer_without_labels_is_asked_about(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_class_campaign("labels"), web))
    page.get_by_test_id("submit").click()
    expect(page.get_by_role("alert").first).to_contain_text("Does no label fit")
    page.get_by_test_id("submit-leftovers").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    assert set(groups_of(stored()[0]).values()) == {0}


# --- for everybody ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classify", "labels"])
def test_no_page_breaks_the_accessibility_rules(browser: Browser, web: System, kind: str) -> None:
    campaign = a_class_campaign(kind, budget=1, grids_per_assignment=1)
    page = opened(browser, link_of(campaign, web), color_scheme="light", reduced_motion="reduce")
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
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    for number, place in ((0, 0), (1, 1), (2, 2), (1, 0), (2, 0)):
        page.locator(f"button[data-group='{number}']").click()
        page.locator(TILES).nth(place).click()
    check("task")
    page.get_by_test_id("submit").click()
    page.keyboard.press("?")
    check("help")
    assert {name: problems for name, problems in seen.items() if problems} == {}


@pytest.mark.parametrize("kind", ["classify", "labels"])
@pytest.mark.parametrize(("width", "language"), [(320, "en"), (390, "de"), (390, "ar")])
def test_nothing_is_wider_than_the_screen_or_cut_off(
    browser: Browser, web: System, kind: str, width: int, language: str
) -> None:
    campaign = a_class_campaign(kind, grid_size=12, classes=MANY)
    viewport = {"width": width, "height": 844}
    page = at_work(browser, link_of(campaign, web), viewport=viewport, locale=language)
    for number in range(10):
        page.locator(f"button[data-group='{number}']").click()
        page.locator(TILES).first.click()
    page.get_by_test_id("submit").scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    too_narrow = page.locator("button[data-group], .side button").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML)"
    )
    assert too_narrow == []


def test_answers_are_played_back_by_their_names(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_class_campaign("labels", owner)
    page = at_work(browser, link_of(campaign, web))
    images = Person(page, "mouse", kind_of).images()
    for number in (0, 1):
        page.locator(f"button[data-group='{number}']").click()
        page.locator(TILES).first.click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    theirs = browser.new_context().new_page()
    with transaction() as session:
        theirs.goto(create_sign_in_link(session, owner, web.base_url))
    theirs.get_by_role("button", name="Sign in").click()
    expect(theirs.get_by_role("button", name="Sign out")).to_be_visible()
    theirs.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators#play-0")
    replay = theirs.get_by_test_id("replay")
    expect(replay.get_by_alt_text(f"Image {images[0]}, even; large")).to_be_visible(timeout=SLOW)
    expect(replay.get_by_alt_text(f"Image {images[1]}, no label")).to_be_visible()
    assert violations(theirs) == []
