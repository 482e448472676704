"""The annotators' page for the nearer of two in a real browser."""

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
# New images take no choice for a moment, nor before they are loaded.
CHOICES = f"{OPEN} .place {TILES}:not([aria-disabled])"


def a_campaign_of_choices(**plan: Any) -> Campaign:
    values: dict[str, Any] = {"grid_size": 3, "budget": 20, "grids_per_assignment": 20, **plan}
    return a_campaign(kind="nearer", question="Which is more like the one above?", **values)


def shown(page: Page) -> list[int]:
    """The image to compare with and the two choices, once they can be chosen."""
    expect(page.locator(CHOICES)).to_have_count(2, timeout=SLOW)
    above = page.locator(f".reference {TILES}").get_attribute("data-image")
    choices = [tile.get_attribute("data-image") for tile in page.locator(CHOICES).all()]
    return [int(image) for image in (above, *choices) if image is not None]


def near_in(images: list[int]) -> int:
    """The choice with the colour of the image above; the first if neither or both have it."""
    return 1 if kind_of(images[2]) != kind_of(images[0]) else 2


def choose(person: Person, images: list[int], place: int) -> None:
    if person.way == "keyboard":
        person.page.keyboard.press(str(place))
    else:
        person.press(person.tile(images[place]))


def expect_done(page: Page, n_done: int) -> None:
    expect(page.get_by_test_id("progress")).to_have_text(f"{n_done} of 20 done", timeout=SLOW)


def groups_of(answer: Answer) -> dict[int, int]:
    assert answer.groups is not None
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    return dict(zip(images, answer.groups, strict=True))


@pytest.mark.parametrize("way", get_args(Way))
def test_an_assignment_is_twenty_choices_between_two(
    browser: Browser, web: System, way: Way
) -> None:
    campaign = a_campaign_of_choices()
    page = opened(browser, link_of(campaign, web), **(PHONE if way == "touch" else DESK))
    person = Person(page, way, kind_of)
    expect(page.get_by_text("You see one image above two others.")).to_be_visible()
    person.press(page.get_by_test_id("start"))
    expected = []
    for n_done in range(20):
        expect_done(page, n_done)
        images = shown(page)
        place = near_in(images)
        expected.append({images[0]: TOGETHER, images[place]: TOGETHER, images[3 - place]: ODD})
        choose(person, images, place)
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert [groups_of(answer) for answer in stored()] == expected


def test_the_image_above_cannot_be_chosen(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign_of_choices(), web))
    shown(page)
    page.locator(f".reference {TILES}").click()
    expect(page.get_by_role("dialog", name="First image")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.wait_for_timeout(300)
    expect_done(page, 0)
    assert stored() == []


def test_practice_frames_the_one_of_the_two_that_was_expected(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign_of_choices(annotation={"known_attribute": "colour", "practice": 1})
    page = opened(browser, link_of(campaign, web))
    person = Person(page, "mouse", kind_of)
    person.press(page.get_by_test_id("start"))
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible(timeout=SLOW)
    images = shown(page)
    near = near_in(images)
    choose(person, images, 3 - near)
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible(timeout=SLOW)
    expect(page.locator(".frame")).to_have_count(1)
    expect(person.tile(images[near])).to_have_accessible_name(f"Image {near}; expected here")
    person.press(page.get_by_test_id("practice-proceed"))
    choose(person, shown(page), near)
    expect(page.get_by_role("heading", name="Well done")).to_be_visible(timeout=SLOW)


@pytest.mark.parametrize("options", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_is_accessible_and_all_three_images_fit(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    page = at_work(browser, link_of(a_campaign_of_choices(), web), **options)
    shown(page)
    assert violations(page) == []
    width, height = options["viewport"]["width"], options["viewport"]["height"]
    boxes = [tile.bounding_box() for tile in page.locator(TILES).all()]
    assert len(boxes) == 3
    for box in boxes:
        assert box is not None
        assert box["width"] >= 100
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
