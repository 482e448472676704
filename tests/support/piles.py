"""Groups as piles, as people find them on the page."""

from typing import Any

from playwright.sync_api import Browser, Locator, Page

from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import at_work, grouped, kind_of, link_of
from tests.support.person import Person, Way

IMAGES = "[data-pile-image]"


def person_at(page: Page, way: Way) -> Person:
    """Puts every third image into the same group."""
    images = Person(page, way, kind_of).images()
    return Person(page, way, lambda image: images.index(image) % 3)


def sorted_grid(browser: Browser, web: System, way: Way = "mouse", **options: Any) -> Page:
    """Twelve images in three groups of four."""
    plan = options.pop("plan", {})
    campaign = a_campaign(**{"grid_size": 12, "budget": 4, "max_groups": 6, **plan})
    page = at_work(browser, link_of(campaign, web), **options)
    person_at(page, way).sort_grid()
    return page


def members(page: Page, group: int) -> set[int]:
    """The images of a group, which is named as people see it: the first one is 1."""
    return {image for image, number in grouped(page).items() if number == str(group)}


def pile(page: Page, group: int) -> Locator:
    return page.locator(f"[data-pile='{group - 1}']")


def in_pile(page: Page) -> list[int]:
    values = page.locator(IMAGES).evaluate_all("all => all.map(one => one.dataset.pileImage)")
    return [int(value) for value in values]
