"""The large view: opened from an image's corner, by key, hold or mouse; magnified and moved."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.campaigns.models import Campaign
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from testbed.builders import a_campaign, a_png, an_account
from testbed.system import System, wait_until
from tests.support.accessibility_tree import spoken
from tests.support.annotators_page import (
    PHONE,
    at_work,
    finish,
    grouped,
    link_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.axe import violations
from tests.support.fingers import Fingers
from tests.support.kinds import PLANS
from tests.support.person import OPEN, SLOW, TILES

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
SELECTED = ".tile.selected"
HOVER_MS = 1200
CASES: dict[str, dict[str, Any]] = {
    "desk": {},
    "phone": {**PHONE, "viewport": {"width": 390, "height": 844}},
    "phone on its side": {**PHONE, "viewport": {"width": 844, "height": 390}},
    "magnified four times": {"viewport": {"width": 320, "height": 256}},
    "Arabic": {**PHONE, "locale": "ar"},
}


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


# --- the corner of an image --------------------------------------------------------------------


def test_a_click_on_the_loupe_enlarges_and_does_nothing_else(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    tile = page.locator(TILES).nth(1)
    expect(loupe(page, 1)).to_have_css("opacity", "0")
    tile.hover()
    expect(loupe(page, 1)).to_have_css("opacity", "0.9")
    page.mouse.click(*centre(loupe(page, 1)))
    expect(page.get_by_role("dialog")).to_contain_text("Image 2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(tile).to_be_focused()
    assert grouped(page) == {}
    expect(page.locator(SELECTED)).to_have_count(0)
    # The mouse is where it was: a digit is for this image.
    page.mouse.move(*centre(tile))
    page.keyboard.press("2")
    assert list(grouped(page).values()) == ["2"]
    page.get_by_role("button", name="Put the rest here").click()
    finish(page)
    (answer,) = wait_until("an answer", stored)
    assert [event[1:] for event in answer.trace if event[1] == "z"] == [["z", 1]]


def test_what_begins_on_the_loupe_draws_and_colours_nothing(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    for key in (None, "Shift", "Control"):
        if key:
            page.keyboard.down(key)
        for end in (page.locator(TILES).nth(3), page.locator(TILES).nth(1), loupe(page, 2)):
            page.mouse.move(*centre(loupe(page, 1)))
            page.mouse.down()
            page.mouse.move(*centre(end), steps=4)
            expect(page.locator(".marquee")).to_have_count(0)
            page.mouse.up()
        if key:
            page.keyboard.up(key)
    assert grouped(page) == {}
    expect(page.locator(SELECTED)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Keys are for the image, wherever the mouse was before; so is what begins on the image.
    page.locator(TILES).nth(1).focus()
    page.keyboard.press("Enter")
    assert len(grouped(page)) == 1
    page.mouse.move(*centre(page.locator(TILES).nth(4)))
    page.mouse.down()
    page.mouse.move(*centre(loupe(page, 4)), steps=3)
    page.mouse.up()
    assert len(grouped(page)) == 2
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_finger_on_the_loupe_enlarges_and_does_nothing_else(browser: Browser, link: str) -> None:
    page = at_work(browser, link, **PHONE)
    expect(loupe(page, 0)).to_have_css("opacity", "0.75")
    box = loupe(page, 0).bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24
    page.touchscreen.tap(*centre(loupe(page, 0)))
    expect(page.get_by_role("dialog")).to_contain_text("Image 1")
    page.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("dialog")).to_have_count(0)
    Fingers(page).swipe(centre(loupe(page, 0)), centre(page.locator(TILES).nth(2)))
    assert grouped(page) == {}
    # A touch that follows a swipe at once is no tap to the browser.
    page.wait_for_timeout(500)
    page.locator(TILES).nth(0).tap()
    expect(page.locator(".tile.grouped")).to_have_count(1)


def test_loupes_are_no_buttons_of_their_own_and_not_on_small_images(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=20, budget=4)
    page = at_work(browser, link_of(campaign, web), **PHONE)
    assert len([node for node in spoken(page) if node.name.startswith("Image ")]) == 20
    expect(page.locator(".loupe")).to_have_count(20)
    expect(page.locator(".loupe:visible")).to_have_count(0)
    page.set_viewport_size({"width": 1366, "height": 900})
    expect(page.locator(".loupe:visible")).to_have_count(20)
    assert violations(page) == []


@pytest.mark.parametrize("kind", PLANS)
def test_every_kind_enlarges_by_key_loupe_and_hold_and_answers_nothing(
    browser: Browser, web: System, kind: str
) -> None:
    plan = {"strategy": "crowdster"} if kind == "bins" else {}
    campaign = a_campaign(kind=kind, budget=4, **{**PLANS[kind], **plan})
    page = at_work(browser, link_of(campaign, web), has_touch=True)
    if kind in ("odd_one_out", "nearer"):
        page.locator(OPEN).wait_for(timeout=SLOW)
    dialog, finger = page.get_by_role("dialog"), Fingers(page)
    for index in range(3):
        expect(opened_view(page, index)).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.touchscreen.tap(*centre(loupe(page, index)))
        expect(dialog).to_be_visible()
        page.get_by_role("button", name="Close").tap()
        expect(dialog).to_have_count(0)
        finger.down(centre(page.locator(TILES).nth(index)))
        expect(page.locator(".large img")).to_be_visible()
        finger.up()
        expect(page.locator(".large img")).to_have_count(0)
    page.wait_for_timeout(500)
    assert grouped(page) == {}
    assert stored() == []
    expect(page.locator(SELECTED)).to_have_count(0)


# --- zoom --------------------------------------------------------------------------------------


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
    page.mouse.dblclick(x, y)
    assert zoom(page) == 100
    page.wait_for_timeout(400)
    page.mouse.dblclick(x, y)
    assert zoom(page) == 200
    page.mouse.wheel(0, 2000)
    wait_until("the whole image", lambda: zoom(page) == 100)


def test_two_fingers_zoom_and_one_moves(browser: Browser, link: str) -> None:
    page = at_work(browser, link, **PHONE)
    page.touchscreen.tap(*centre(loupe(page, 0)))
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
    page.touchscreen.tap(x + 50, y)
    page.touchscreen.tap(x + 50, y)
    assert zoom(page) == 200
    page.touchscreen.tap(x, y)
    page.touchscreen.tap(x, y)
    assert zoom(page) == 100


@pytest.mark.parametrize("size", [(40, 2000), (2000, 40)], ids=["banner", "column"])
def test_very_long_images_are_magnified_until_they_fill_the_view(
    browser: Browser, web: System, size: tuple[int, int]
) -> None:
    page = at_work(browser, link_of(a_campaign_of(size), web))
    picture = opened_view(page)
    frame = picture.locator("..")
    x, y = centre(frame)
    page.mouse.dblclick(x, y)
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


# --- next to the mouse ---------------------------------------------------------------------------


def test_a_click_is_no_wish_to_see_it_large_after_a_look_either(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link)
    opened_view(page)
    page.keyboard.press("Escape")
    page.locator(TILES).nth(3).click()
    page.wait_for_timeout(HOVER_MS)
    expect(page.locator(".large")).to_have_count(0)
    page.locator(TILES).nth(4).hover()
    page.mouse.move(2, 2)
    page.wait_for_timeout(HOVER_MS)
    expect(page.locator(".large")).to_have_count(0)


@pytest.mark.parametrize("kind", ["grid", "odd_one_out"])
def test_the_mouse_can_move_onto_the_view(browser: Browser, web: System, kind: str) -> None:
    campaign = a_campaign(kind=kind, budget=4, **PLANS[kind])
    page = at_work(browser, link_of(campaign, web))
    if kind == "odd_one_out":
        page.locator(OPEN).wait_for(timeout=SLOW)
    for index in (1, 0):
        page.locator(TILES).nth(index).hover()
    view = page.locator(".large")
    expect(view).to_be_visible()
    page.mouse.move(*centre(view))
    page.wait_for_timeout(HOVER_MS)
    expect(view).to_be_visible()


def test_the_mouse_in_the_view_says_nothing_about_the_images_below(
    browser: Browser, link: str
) -> None:
    page = at_work(browser, link)
    page.locator(TILES).nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_role("dialog")).to_be_visible()
    for index in (5, 6):
        page.mouse.move(*centre(page.locator(TILES).nth(index)))
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator(f"{TILES}.grouped")).to_have_count(1)
    image = page.locator(TILES).nth(1).get_attribute("data-image") or ""
    assert grouped(page) == {int(image): "2"}


# --- settings, screens and languages -------------------------------------------------------------


def test_resting_the_mouse_can_be_switched_off_for_good(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    setting = page.get_by_label("Enlarge images when the mouse rests on them")
    page.keyboard.press("?")
    expect(setting).to_be_checked()
    setting.uncheck()
    page.keyboard.press("Escape")
    for _ in range(2):
        page.locator(TILES).nth(0).hover()
        page.locator(TILES).nth(1).hover()
        page.wait_for_timeout(HOVER_MS)
        expect(page.locator(".large")).to_have_count(0)
        opened_view(page)
        page.keyboard.press("Escape")
        page.reload()
        expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.keyboard.press("?")
    expect(setting).not_to_be_checked()
    setting.check()
    page.keyboard.press("Escape")
    page.locator(TILES).nth(0).hover()
    page.locator(TILES).nth(1).hover()
    expect(page.locator(".large img")).to_be_visible()


def test_without_single_keys_only_buttons_and_arrows_are_left(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    page.keyboard.press("?")
    page.get_by_label("Use single keys as shortcuts").uncheck()
    page.keyboard.press("Escape")
    opened_view(page)
    page.keyboard.press("+")
    assert zoom(page) == 100
    page.get_by_role("button", name="Zoom in").click()
    assert zoom(page) == 150
    page.keyboard.press("0")
    assert zoom(page) == 150


def test_help_tells_of_every_way(browser: Browser, link: str) -> None:
    page = at_work(browser, link)
    page.keyboard.press("?")
    for words in ("enlarge the image", "Hold a finger", "Magnifying glass", "closer, farther"):
        expect(page.get_by_role("dialog")).to_contain_text(words)


@pytest.mark.parametrize("case", CASES)
def test_all_of_it_is_in_view_on_every_screen(browser: Browser, link: str, case: str) -> None:
    page = at_work(browser, link, **CASES[case])
    picture = opened_view(page)
    dialog = page.get_by_role("dialog")
    assert dialog.evaluate("one => one.scrollHeight <= one.clientHeight")
    assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth")
    width, height = page.evaluate("[innerWidth, innerHeight]")
    for button in dialog.get_by_role("button").all():
        left, top, right, bottom = sides(button)
        assert (left >= 0, top >= 0, right <= width, bottom <= height) == (True,) * 4
        assert min(right - left, bottom - top) >= 24
    left, top, right, bottom = sides(picture.locator(".."))
    assert min(right - left, bottom - top) >= 96
    nearer = dialog.get_by_role("button").nth(2)
    before = sides(picture)
    for _ in range(4):
        nearer.click()
    now = sides(picture)
    assert now[2] - now[0] == pytest.approx(4 * (before[2] - before[0]), abs=2)
    page.keyboard.press("ArrowRight")
    # The image goes to the left in every language: what is to its right is looked at.
    assert sides(picture)[0] < now[0]
    assert violations(page) == []
