"""The large view of an image, as people find it."""

from playwright.sync_api import Locator, Page, expect

from tests.support.person import TILES


def centre(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def loupe(page: Page, index: int) -> Locator:
    return page.locator(TILES).nth(index).locator(".loupe")


def opened_view(page: Page, index: int = 1) -> Locator:
    """Press Space on an image, and wait until it is there."""
    page.locator(TILES).nth(index).focus()
    page.keyboard.press("Space")
    picture = page.get_by_role("dialog").get_by_role("img")
    expect(picture).to_be_visible()
    picture.evaluate("picture => picture.decode()")
    return picture


def zoom(page: Page) -> int:
    """What the dialog says, in percent."""
    text = page.get_by_test_id("zoom").inner_text()
    return int("".join(character for character in text if character.isdigit()))


def sides(place: Locator) -> tuple[float, float, float, float]:
    """Left, top, right and bottom, in pixels; of a picture, without the room next to it."""
    box = place.evaluate(
        """one => {
            const {left, top, width, height} = one.getBoundingClientRect();
            const [across, down] = [one.naturalWidth ?? width, one.naturalHeight ?? height];
            const scale = Math.min(width / across, height / down);
            return [left + width / 2, top + height / 2, across * scale / 2, down * scale / 2];
        }"""
    )
    x, y, across, down = box
    return x - across, y - down, x + across, y + down
