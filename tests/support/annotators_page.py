"""The annotators' page in a browser: opening it, working on it, and what the server stored."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign, Grid
from app.core.database import transaction
from testbed.builders import COLOURS
from testbed.system import System
from tests.support.person import SLOW, TILES, Person

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
    assert errors == [], errors


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
