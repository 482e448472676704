"""The large view in three browsers: by key, by its corner, by a mouse that rests and a finger that
holds; zoom by keys, buttons and wheel.

Real input, by each browser's own driver. More of Chromium is in tests/system: test_zoom.py and
test_large_view.py.
"""

from pathlib import Path

import pytest

from testbed.system import System
from tests.support.engine_fixtures import engine, page
from tests.support.hands import drag
from tests.support.scale import FULL
from tests.support.work_page import TILES, WorkPage, groups_of, link, put, sent

__all__ = ["engine", "page"]
pytestmark = pytest.mark.skipif(not FULL, reason="run by make acceptance (LIKEWISE_FULL_TESTS=1)")
SELECTED = ".tile.selected"
CLOSE = "dialog header button"
PICTURE = ".zoom .frame img"
ZOOM = "[data-testid='zoom']"


def test_the_large_view_zooms_and_moves(page: WorkPage, web: System, tmp_path: Path) -> None:
    page.open(link(web, grid_size=24, max_groups=4))
    page.tab_to(f"{TILES}[tabindex='0']")
    page.hands.press("ArrowRight", "Space")
    await_view(page)
    for key, expected in (("+", "150%"), ("=", "200%"), ("-", "150%"), ("0", "100%")):
        page.hands.press(key)
        page.until(key, expected, lambda: page.text(ZOOM))
    for _ in range(2):
        page.click(".zoom .bar button", 1)
    page.until("buttons", "200%", lambda: page.text(ZOOM))
    before = page.sides(PICTURE)
    page.hands.press("ArrowRight")
    page.until("an arrow", True, lambda: page.sides(PICTURE)[0] < before[0])
    zoom_by_wheel_and_drag(page)
    page.look("large-view", tmp_path)
    page.hands.press("Escape")
    page.until("closed", 0, lambda: page.count("dialog"))
    page.until("the focus", 1, page.focused_tile)
    # The corner of an image enlarges it and does nothing else.
    page.hands.move(page.tile(5), page.centre(".loupe", 5))
    page.click(".loupe", 5)
    await_view(page)
    assert page.text("dialog h2").startswith("Image 6")
    page.click(CLOSE)
    page.until("closed", 0, lambda: page.count("dialog"))
    page.until("the focus", 5, page.focused_tile)
    assert page.groups() == put()
    # So does a mouse that rests on it.
    page.hands.move(page.tile(8), page.tile(7))
    page.until("next to the mouse", 1, lambda: page.count(".large img"))
    page.hands.press("Escape")
    page.until("hidden", 0, lambda: page.count(".large img"))
    page.hands.press("2")
    page.until("a digit", put(g2=[7]), page.groups)
    page.hands.press("r")
    answer = sent(page)
    assert groups_of(answer) == [2] * 24
    assert [event[2] for event in answer.trace if event[1] == "z"] == [1, 5, 7]


def await_view(page: WorkPage) -> None:
    loaded = "one.complete && one.naturalWidth > 0 && one.getBoundingClientRect().width > 100"
    page.until("the view", True, lambda: page.one(PICTURE, loaded))
    page.until("all of it", "100%", lambda: page.text(ZOOM))


def zoom_by_wheel_and_drag(page: WorkPage) -> None:
    page.hands.press("0")
    left, top, right, bottom = page.sides(".zoom .frame")
    x, y = (left + right) / 2 - (bottom - top) / 4, top + (bottom - top) / 4
    page.hands.wheel((x, y), -400)
    page.until("the wheel", "223%", lambda: page.text(ZOOM))
    now = page.sides(PICTURE)
    # A quarter from the top is a quarter of the image still.
    assert (y - now[1]) / (now[3] - now[1]) == pytest.approx(0.25, abs=0.01)
    drag(page.hands, (x, y), (x - 40, y - 30))
    page.hands.up()
    moved = [now[0] - 40, now[1] - 30]
    page.until("a drag", [round(side) for side in moved], lambda: corner(page))
    page.hands.wheel((x, y), 4000)
    page.until("the wheel back", "100%", lambda: page.text(ZOOM))
    page.hands.wheel((x, y), -400)
    page.until("the wheel again", "223%", lambda: page.text(ZOOM))


def corner(page: WorkPage) -> list[int]:
    return [round(side) for side in page.sides(PICTURE)[:2]]


def test_a_finger_that_holds_an_image_enlarges_it(page: WorkPage, web: System) -> None:
    if page.hands.lacks_touch:
        pytest.skip(page.hands.lacks_touch)
    page.open(link(web, grid_size=24, max_groups=4))
    page.hands.touch(page.tile(4))
    page.until("the view", 1, lambda: page.count(".large img"))
    page.hands.lift()
    page.until("hidden", 0, lambda: page.count(".large img"))
    assert page.groups() == put()
    assert page.count(SELECTED) == 0
