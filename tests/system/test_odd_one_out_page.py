"""The annotators' page for the odd one out in a real browser: one click or key for each answer."""

import re
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser, Page, expect

from app.annotation.models import Answer
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from app.kinds.odd_one_out import ODD, TOGETHER
from testbed.builders import a_campaign
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
from tests.support.axe import violations
from tests.support.person import OPEN, SLOW, TILES, Person, Way

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser


def a_campaign_of_triplets(**plan: Any) -> Campaign:
    values: dict[str, Any] = {"grid_size": 3, "budget": 20, "grids_per_assignment": 20, **plan}
    return a_campaign(kind="odd_one_out", question="Which is least like the others?", **values)


def odd_of(images: list[int]) -> int:
    """The first image whose colour no other has; the last if there is none."""
    colours = [kind_of(image) for image in images]
    alone = [image for image in images if colours.count(kind_of(image)) == 1]
    return alone[0] if alone else images[-1]


def is_open(page: Page) -> None:
    """New images take no choice for a moment, nor before they are loaded."""
    tile = page.locator(f"{OPEN} {TILES}:not([aria-disabled])").first
    expect(tile).to_be_visible(timeout=SLOW)


def choose(person: Person, image: int) -> None:
    is_open(person.page)
    if person.way == "keyboard":
        person.page.keyboard.press(str(person.images().index(image) + 1))
    else:
        person.press(person.tile(image))


def odd_in(answer: Answer) -> int:
    assert answer.groups is not None
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    assert sorted(answer.groups) == [TOGETHER] * (len(images) - 1) + [ODD]
    return images[answer.groups.index(ODD)]


def expect_done(page: Page, n_done: int, of: int) -> None:
    expect(page.get_by_test_id("progress")).to_have_text(f"{n_done} of {of} done", timeout=SLOW)


@pytest.mark.parametrize("way", get_args(Way))
def test_an_assignment_is_twenty_choices_without_a_reload(
    browser: Browser, web: System, way: Way
) -> None:
    campaign = a_campaign_of_triplets()
    page = opened(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    expect(page.get_by_text("Click the one that you think")).to_be_visible()
    person.press(page.get_by_test_id("start"))
    page.evaluate("window.loadedOnce = true")
    given = []
    for n_done in range(20):
        expect_done(page, n_done, 20)
        images = person.images()
        assert len(images) == 3
        given.append(odd_of(images))
        choose(person, given[-1])
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert page.evaluate("window.loadedOnce")
    answers = stored()
    assert [odd_in(answer) for answer in answers] == given
    assert all([event[1] for event in answer.trace].count("p") == 1 for answer in answers)


def test_arrows_and_enter_choose_too(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign_of_triplets(), web))
    person = Person(page, "keyboard", kind_of)
    images = person.images()
    is_open(page)
    person.focus(images[2])
    page.keyboard.press("Enter")
    expect_done(page, 1, 20)
    assert odd_in(stored()[0]) == images[2]


def test_a_double_click_and_a_key_that_is_held_answer_once(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign_of_triplets(), web))
    person = Person(page, "mouse", kind_of)
    first = person.images()
    is_open(page)
    person.tile(first[1]).dblclick()
    expect_done(page, 1, 20)
    is_open(page)
    for _ in range(3):
        # Without a release in between, the browser says that the key repeats.
        page.keyboard.down("3")
    page.keyboard.up("3")
    expect_done(page, 2, 20)
    page.wait_for_timeout(500)
    expect_done(page, 2, 20)
    assert odd_in(stored()[0]) == first[1]


def test_the_space_bar_shows_an_image_large_and_chooses_nothing(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(a_campaign_of_triplets(), web))
    person = Person(page, "keyboard", kind_of)
    is_open(page)
    person.focus(person.images()[1])
    for _ in range(3):
        page.keyboard.down(" ")
    page.keyboard.up(" ")
    page.wait_for_timeout(300)
    expect_done(page, 0, 20)
    assert stored() == []


def test_practice_shows_which_image_was_expected(browser: Browser, web: System) -> None:
    campaign = a_campaign_of_triplets(annotation={"known_attribute": "colour", "practice": 1})
    page = opened(browser, link_of(campaign, web))
    person = Person(page, "mouse", kind_of)
    person.press(page.get_by_test_id("start"))
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible(timeout=SLOW)
    images = person.images()
    odd = odd_of(images)
    choose(person, next(image for image in images if image != odd))
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("The frame shows the image that was expected here.")).to_be_visible()
    expect(page.locator(".frame")).to_have_count(1)
    expect(person.tile(odd)).to_have_accessible_name(re.compile(r"^Image \d; expected here$"))
    person.press(page.get_by_test_id("practice-proceed"))
    choose(person, odd)
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)
    person.press(page.get_by_test_id("practice-proceed"))
    expect_done(page, 0, 20)


def test_a_broken_image_of_three_leaves_nothing_to_choose(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign_of_triplets(), web))
    person = Person(page, "mouse", kind_of)
    first = person.images()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Report a broken image").click()
    page.get_by_role("dialog").get_by_role("button", name="Image 2").click()
    page.get_by_test_id("skip").click()
    expect_done(page, 1, 20)
    (answer,) = stored()
    assert (answer.groups, answer.unseen) == ([-1, -1, -1], [first[1]])


@pytest.mark.parametrize("options", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_is_accessible_and_images_are_large(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    page = at_work(browser, link_of(a_campaign_of_triplets(), web), **options)
    assert violations(page) == []
    boxes = [tile.bounding_box() for tile in page.locator(TILES).all()]
    width, height = options["viewport"]["width"], options["viewport"]["height"]
    assert len(boxes) == 3
    for box in boxes:
        assert box is not None
        assert box["width"] >= min(160, width / 3)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    is_open(page)
    page.keyboard.press("?")
    expect(page.get_by_text("choose the first, second, third … image")).to_be_visible()
    assert violations(page) == []
