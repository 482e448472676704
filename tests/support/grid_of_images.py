"""Where images are on a grid's page, and the groups that they are in."""

from collections.abc import Sequence

from playwright.sync_api import Page

from tests.support.annotators_page import grouped, kind_of
from tests.support.person import TILES, Person


def centre(page: Page, index: int) -> tuple[float, float]:
    box = page.locator(TILES).nth(index).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def groups(page: Page) -> list[int]:
    """Group of each image in the grid's order, counted from 1; 0 for none."""
    numbers = grouped(page)
    return [int(numbers.get(image, "0")) for image in Person(page, "mouse", kind_of).images()]


def put(*, count: int = 24, **by_group: Sequence[int]) -> list[int]:
    """The groups of all images: g1=[0, 1] are in group 1."""
    expected = [0] * count
    for group, images in by_group.items():
        for image in images:
            expected[image] = int(group[1:])
    return expected
