"""The large view: magnified and moved by mouse, fingers and keys."""

import pytest
from playwright.sync_api import Browser, Locator, expect

from app.campaigns.models import Campaign
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from testbed.builders import a_campaign, a_png, an_account
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    PHONE,
    at_work,
    grouped,
    link_of,
    no_errors_on_the_page,
    web_settings,
)
from tests.support.axe import violations
from tests.support.fingers import Fingers, double_click
from tests.support.large_view import centre, loupe, opened_view, sides, zoom
from tests.support.person import TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser


@pytest.fixture
def link(web: System) -> str:
    return link_of(a_campaign(grid_size=12, budget=4), web)


def a_campaign_of(size: tuple[int, int]) -> Campaign:
    """All images have this height and width."""
    owner = an_account()
    table = "\n".join(["filename,feature_0", *(f"{k}.png,{k}" for k in range(12))])
    files = [(f"{k}.png", a_png(k, size)) for k in range(12)]
    with transaction() as session:
        collection = create_collection(session, owner, "Shapes")
        add_files(session, owner, collection, [*files, ("table.csv", table.encode())])
    return a_campaign(owner, collection)


def zoom_in_fully(button: Locator) -> None:
    for _ in range(20):
        if button.get_attribute("aria-disabled") == "true":
            return
        button.click()
    raise AssertionError("there is no largest zoom")


def is_whole(picture: Locator) -> bool:
    """Whether all of a square picture is in the middle of its frame."""
    left, top, right, bottom = sides(picture.locator(".."))
    room = min(right - left, bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    return sides(picture) == pytest.approx((x - room, y - room, x + room, y + room), abs=1)


def test_keys_and_buttons_zoom_and_move_within_the_image(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    picture = opened_view(page)
    frame = picture.locator("..")
    nearer, whole = (
        page.get_by_role("button", name=name) for name in ("Zoom in", "Show the whole image")
    )
    farther = page.get_by_role("button", name="Zoom out")
    expect(farther).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_test_id("zoom")).to_have_text("100%")
    assert is_whole(picture)
    page.keyboard.press("ArrowRight")
    assert is_whole(picture)
    for key, expected in (("+", 150), ("=", 200), ("-", 150), ("0", 100)):
        page.keyboard.press(key)
        assert zoom(page) == expected
    zoom_in_fully(nearer)
    assert zoom(page) == 800
    page.keyboard.press("ArrowRight")
    assert sides(picture)[0] < -sides(frame)[2]
    for key, side in (("ArrowLeft", 0), ("ArrowUp", 1), ("ArrowRight", 2), ("ArrowDown", 3)):
        for _ in range(60):
            page.keyboard.press(key)
        assert sides(picture)[side] == pytest.approx(sides(frame)[side], abs=1)
    farther.click()
    assert zoom(page) == 600
    whole.click()
    assert zoom(page) == 100
    assert is_whole(picture)
    nearer.click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(TILES).nth(1)).to_be_focused()
    assert grouped(page) == {}
    # Each look begins with the whole image.
    opened_view(page)
    assert zoom(page) == 100


def test_the_mouse_zooms_where_it_is_and_moves_the_image(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    picture = opened_view(page)
    frame = picture.locator("..")
    left, top, right, bottom = sides(frame)
    x, y = (left + right) / 2 - (bottom - top) / 4, top + (bottom - top) / 4
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    wait_until("closer", lambda: zoom(page) > 200)
    # A quarter from its corner is a quarter of the image still.
    now = sides(picture)
    assert (x - now[0]) / (now[2] - now[0]) == pytest.approx(0.25, abs=0.01)
    assert (y - now[1]) / (now[3] - now[1]) == pytest.approx(0.25, abs=0.01)
    page.mouse.down()
    page.mouse.move(x - 40, y - 30, steps=5)
    page.mouse.up()
    assert sides(picture)[:2] == pytest.approx((now[0] - 40, now[1] - 30), abs=1)
    page.mouse.down()
    page.mouse.move(x + 5000, y + 5000, steps=5)
    page.mouse.up()
    assert sides(picture)[:2] == pytest.approx((left, top), abs=1)
    # A click brings what is there to the middle; a double click leads back, and closer again.
    page.wait_for_timeout(400)
    page.mouse.click(right - 20, bottom - 20)
    assert sides(picture)[0] == pytest.approx(left - (right - left) / 2 + 20, abs=2)
    page.wait_for_timeout(400)
    double_click(page, (x, y))
    assert zoom(page) == 100
    page.wait_for_timeout(400)
    double_click(page, (x, y))
    assert zoom(page) == 200
    page.mouse.wheel(0, 2000)
    wait_until("the whole image", lambda: zoom(page) == 100)


def test_two_fingers_zoom_and_one_moves(browser: Browser, link: str) -> None:
    page = at_work(browser, link, **PHONE)
    Fingers(page).tap(centre(loupe(page, 0)))
    picture = page.get_by_role("dialog").get_by_role("img")
    picture.evaluate("picture => picture.decode()")
    frame = picture.locator("..")
    x, y = centre(frame)
    finger = Fingers(page)
    finger.move([(x - 30, y), (x + 30, y)], [(x - 90, y), (x + 90, y)])
    assert zoom(page) == pytest.approx(300, abs=20)
    before = sides(picture)
    finger.swipe((x, y), (x + 40, y - 20))
    assert sides(picture)[:2] == pytest.approx((before[0] + 40, before[1] - 20), abs=8)
    finger.move([(x - 90, y), (x + 90, y)], [(x - 20, y), (x + 20, y)])
    assert zoom(page) == 100
    assert page.evaluate("visualViewport.scale") == 1
    finger.tap_twice((x + 50, y))
    assert zoom(page) == 200
    finger.tap_twice((x, y))
    assert zoom(page) == 100


@pytest.mark.parametrize("size", [(40, 2000), (2000, 40)], ids=["banner", "column"])
def test_very_long_images_are_magnified_until_they_fill_the_view(
    browser: Browser, web: System, size: tuple[int, int]
) -> None:
    page = at_work(browser, link_of(a_campaign_of(size), web))
    picture = opened_view(page)
    frame = picture.locator("..")
    x, y = centre(frame)
    double_click(page, (x, y))
    wait_until("closer", lambda: zoom(page) > 3000)
    page.keyboard.press("0")
    zoom_in_fully(page.get_by_role("button", name="Zoom in"))
    left, top, right, bottom = sides(picture)
    long, short = max(size), min(size)
    assert max(right - left, bottom - top) == pytest.approx(
        min(right - left, bottom - top) * long / short, rel=0.1
    )
    assert min(right - left, bottom - top) >= 0.9 * min(
        sides(frame)[2] - sides(frame)[0], sides(frame)[3] - sides(frame)[1]
    )
    # At its end, there is nothing but the image.
    for _ in range(900):
        page.keyboard.press("ArrowRight" if size[1] > size[0] else "ArrowDown")
    end = 2 if size[1] > size[0] else 3
    assert sides(picture)[end] == pytest.approx(sides(frame)[end], abs=1)


def test_a_finger_that_trembles_taps(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    picture = opened_view(page)
    for _ in range(2):
        page.keyboard.press("+")
    x, y = centre(picture.locator(".."))
    before = sides(picture)
    page.mouse.move(x + 60, y + 40)
    page.mouse.down()
    for k in range(12):
        page.mouse.move(x + 60 + 2 * (k % 2), y + 40)
    page.mouse.up()
    assert sides(picture)[:2] == pytest.approx((before[0] - 62, before[1] - 40), abs=1)


def test_arrow_keys_scroll_where_they_move_nothing(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    opened_view(page)
    page.evaluate("addEventListener('keydown', event => { scrolls = !event.defaultPrevented })")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("scrolls") is True
    page.keyboard.press("+")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("scrolls") is False


def test_the_zoom_is_said_after_the_last_step(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    opened_view(page)
    status = page.get_by_role("dialog").get_by_role("status")
    expect(status).to_have_text("100%")
    status.evaluate(
        """status => {
            window.said = [];
            new MutationObserver(() => said.push(status.textContent))
                .observe(status, {childList: true, characterData: true, subtree: true});
        }"""
    )
    for _ in range(4):
        page.keyboard.press("+")
    expect(status).to_have_text("400%")
    assert page.evaluate("said") == ["400%"]
