"""Bins by keyboard, mouse and finger: what moves, what scrolls, and what can be taken back."""

from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Locator, Page, expect

from app.campaigns.models import Campaign
from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    DESK,
    PHONE,
    at_work,
    kind_of,
    link_of,
    no_errors_on_the_page,
    web_settings,
)
from tests.support.person import TILES, Person

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser

NARROW = {"viewport": {"width": 390, "height": 500}}


def bins(**plan: Any) -> Campaign:
    return a_campaign(kind="bins", strategy="crowdster", **{"grid_size": 10, "budget": 4, **plan})


def focused(page: Page) -> int:
    return int(page.evaluate("document.activeElement.dataset.image ?? -1"))


def places(page: Page) -> dict[str, list[float]]:
    """Where the images in the tray are, in pixels."""
    found: dict[str, list[float]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('[data-tray] [data-image]')].map(
            (tile) => [tile.dataset.image, tile.getBoundingClientRect()]).map(
            ([image, box]) => [image, [box.x, box.y + scrollY, box.width]]))"""
    )
    return found


def have_stayed(now: dict[str, list[float]], before: dict[str, list[float]]) -> bool:
    return now == {image: before[image] for image in now}


def centre(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def in_tray(page: Page) -> Locator:
    return page.get_by_test_id("tray").locator(TILES)


def test_digits_alone_sort_everything(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(bins(), web))
    person = Person(page, "keyboard", kind_of)
    images = person.images()
    person.focus(images[0])
    page.keyboard.press("ArrowRight")
    for n_sorted in range(1, len(images) + 1):
        image = focused(page)
        expect(in_tray(page)).to_have_count(len(images) - n_sorted + 1)
        page.keyboard.press(str(kind_of(image) + 1))
        expect(person.bin(kind_of(image)).locator(person.tile(image))).to_be_visible()
        if n_sorted < len(images):
            expect(page.locator(f"[data-tray] {TILES}:focus")).to_have_count(1)
    # The last one keeps the focus, and so does one that is taken out again or put elsewhere.
    last = focused(page)
    assert last == images[0]
    page.keyboard.press("4")
    assert focused(page) == last
    page.keyboard.press("Delete")
    expect(in_tray(page)).to_have_count(1)
    assert focused(page) == last


def test_arrows_pass_over_gaps(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(bins(), web))
    person = Person(page, "keyboard", kind_of)
    images = person.images()
    person.focus(images[1])
    page.keyboard.press("1")
    page.keyboard.press("1")
    assert focused(page) == images[3]
    page.keyboard.press("ArrowLeft")
    assert focused(page) == images[0]
    page.keyboard.press("1")
    assert focused(page) == images[3]
    page.keyboard.press("ArrowLeft")
    assert focused(page) == images[3]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    assert focused(page) == images[3]


@pytest.mark.parametrize("descriptions", ["none", "required"])
@pytest.mark.parametrize("screen", ["desk", "narrow"])
def test_no_image_moves_until_the_gaps_are_closed(
    browser: Browser, web: System, screen: str, descriptions: str
) -> None:
    campaign = bins(annotation={"descriptions": descriptions})
    page = at_work(browser, link_of(campaign, web), **(DESK if screen == "desk" else NARROW))
    person = Person(page, "mouse", kind_of)
    before = places(page)
    for image in person.images()[:6]:
        person.tile(image).click()
        assert have_stayed(places(page), before)
        person.bin(kind_of(image)).locator(".name").click()
        expect(person.bin(kind_of(image)).locator(person.tile(image))).to_be_visible()
        page.wait_for_timeout(100)
        now = places(page)
        assert str(image) not in now
        assert have_stayed(now, before)
    page.keyboard.press("Control+z")
    expect(in_tray(page)).to_have_count(5)
    now = places(page)
    assert have_stayed(now, before)
    page.get_by_test_id("tidy").click()
    expect(page.locator("[data-gap]")).to_have_count(0)
    assert not have_stayed(places(page), now)
    assert page.evaluate("document.activeElement.closest('[data-tray]') !== null")


def test_a_swipe_scrolls_and_a_finger_that_rests_first_carries(
    browser: Browser, web: System
) -> None:
    page = at_work(browser, link_of(bins(grid_size=20), web), **{**PHONE, **NARROW})
    person = Person(page, "touch", kind_of)
    touch = page.context.new_cdp_session(page)
    image = person.images()[2]
    x, y = centre(person.tile(image))
    page.wait_for_timeout(500)
    swipe(touch, page, (x, y), (x, y - 150))
    assert page.evaluate("scrollY") > 80
    expect(in_tray(page)).to_have_count(20)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    swipe(touch, page, (x, y), centre(person.bin(1)), rest=700)
    expect(person.bin(1).locator(person.tile(image))).to_be_visible()
    assert page.evaluate("scrollY") == 0


def swipe(
    touch: CDPSession,
    page: Page,
    start: tuple[float, float],
    end: tuple[float, float],
    rest: int = 0,
) -> None:
    """Move a finger, after it has rested for so many milliseconds."""

    def send(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    send("touchStart", start)
    page.wait_for_timeout(rest)
    for step in range(1, 11):
        x, y = (a + (b - a) * step / 10 for a, b in zip(start, end, strict=True))
        send("touchMove", (x, y))
        page.wait_for_timeout(16)
    send("touchEnd")
    page.wait_for_timeout(300)


def test_images_held_at_the_edge_go_on_scrolling(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(bins(grid_size=20), web), **NARROW)
    person = Person(page, "mouse", kind_of)
    image = person.images()[0]
    room = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert room > 100
    page.mouse.move(*centre(person.tile(image)))
    page.mouse.down()
    page.mouse.move(200, 490, steps=3)
    # The pointer rests, and the page goes on to its end.
    wait_until("the end", lambda: page.evaluate("scrollY") >= room - 2)
    page.mouse.move(200, 5)
    wait_until("the beginning", lambda: page.evaluate("scrollY") == 0)
    page.mouse.move(*centre(person.bin(0)))
    page.mouse.up()
    expect(person.bin(0).locator(person.tile(image))).to_be_visible()


def test_escape_puts_back_what_is_carried(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(bins(), web))
    person = Person(page, "mouse", kind_of)
    images = person.images()
    for image in images[:2]:
        person.tile(image).click()
    page.mouse.move(*centre(person.tile(images[0])))
    page.mouse.down()
    page.mouse.move(*centre(person.bin(2)), steps=4)
    expect(page.locator(".ghost")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".ghost, [data-carried], .over")).to_have_count(0)
    page.mouse.move(*centre(person.bin(1)), steps=4)
    expect(page.locator(".ghost, .over")).to_have_count(0)
    page.mouse.up()
    page.wait_for_timeout(200)
    expect(in_tray(page)).to_have_count(len(images))
    # What was chosen still is, and can be carried again.
    expect(page.locator(".tile.selected")).to_have_count(2)
    person.drag(person.tile(images[0]), person.bin(2))
    expect(person.bin(2).locator(TILES)).to_have_count(2)


def test_a_box_is_drawn_from_an_empty_place_or_with_shift(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(bins(grid_size=16), web))
    person = Person(page, "mouse", kind_of)
    images = person.images()
    selected = page.locator("[data-tray] .tile.selected")
    # From the room around the images to the middle of the sixth one, and back to the first.
    space = page.locator("[data-tray] .space").bounding_box()
    assert space is not None
    page.mouse.move(space["x"] + 1, space["y"] + 1)
    page.mouse.down()
    page.mouse.move(*centre(person.tile(images[5])), steps=4)
    expect(page.locator(".marquee")).to_be_visible()
    grown = selected.count()
    assert grown > 2
    page.mouse.move(*centre(person.tile(images[0])), steps=4)
    expect(selected).to_have_count(1)
    page.mouse.move(*centre(person.tile(images[1])), steps=4)
    page.mouse.up()
    expect(page.locator(".marquee")).to_have_count(0)
    expect(selected).to_have_count(2)
    expect(page.get_by_test_id("announcement")).to_have_text("2 images selected")
    page.keyboard.press("1")
    expect(person.bin(0).locator(TILES)).to_have_count(2)
    # With Shift from an image, which is not carried then; into a bin by hand.
    page.keyboard.down("Shift")
    page.mouse.move(*centre(person.tile(images[2])))
    page.mouse.down()
    page.mouse.move(*centre(person.tile(images[3])), steps=4)
    expect(page.locator(".ghost")).to_have_count(0)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(selected).to_have_count(2)
    person.drag(person.tile(images[2]), person.bin(2))
    expect(person.bin(2).locator(TILES)).to_have_count(2)
    # Esc gives a box up, and a drag without a key carries.
    page.mouse.move(space["x"] + space["width"] - 1, space["y"] + space["height"] - 1)
    page.mouse.down()
    page.mouse.move(*centre(person.tile(images[-6])), steps=4)
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator(".tile.selected, .marquee")).to_have_count(0)
    person.drag(person.tile(images[4]), person.bin(1))
    expect(person.bin(1).locator(TILES)).to_have_count(1)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(person.bin(2).locator(TILES)).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_text_at_twice_its_size_does_not_crush_the_bins(
    browser: Browser, web: System, width: int, height: int
) -> None:
    page = at_work(
        browser,
        link_of(bins(grid_size=20), web),
        viewport={"width": width, "height": height},
    )
    person = Person(page, "mouse", kind_of)
    for image in person.images()[:6]:
        person.tile(image).click()
        person.bin(kind_of(image)).locator(".name").click()
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('.bin')].map((bin) => {
            const [box, head, space] = [bin, ...bin.children].map(
                (part) => part.getBoundingClientRect());
            return [box.top, box.bottom, head.bottom, space.top, space.bottom];
        })"""
    )
    for top, bottom, head, start, end in boxes:
        # A bin holds its name and room for images, one below the other.
        assert top < head <= start
        assert end <= bottom
        assert end - start >= 80
    tray, *others = boxes
    assert all(other[0] >= tray[1] for other in others)
    # At the end of the page nothing lies over the last bin.
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_timeout(200)
    person.tile(person.images()[-1]).focus()
    last = person.bin(3)
    last.scroll_into_view_if_needed()
    last.locator(".space").click(timeout=5000)
