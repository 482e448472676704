"""What hands do on the annotators' page, in three browsers: strokes, boxes, digits, piles and bins.

Real input, by each browser's own driver. More of Chromium is in tests/system:
test_grid_gestures.py, test_piles.py and test_bins_in_hand.py.
"""

from pathlib import Path

import pytest

from testbed.system import System
from tests.support.engine_fixtures import engine, page
from tests.support.hands import drag
from tests.support.scale import FULL
from tests.support.work_page import (
    DESK,
    TILES,
    WorkPage,
    answered,
    groups_of,
    link,
    put,
    sent,
)

__all__ = ["engine", "page"]
pytestmark = pytest.mark.skipif(not FULL, reason="run by make acceptance (LIKEWISE_FULL_TESTS=1)")
SELECTED = ".tile.selected"
IN_PILE = "[data-pile-image]"
LARGE = {"grid_size": 24, "max_groups": 4}
CLOSE = "dialog header button"


# --- strokes, boxes and digits ------------------------------------------------------------------


def test_strokes_boxes_and_digits(page: WorkPage, web: System) -> None:
    page.open(link(web, **LARGE))
    # All of them are in view.
    assert page.sides(TILES, 23)[3] <= DESK[1]
    page.stroke(0, 3)
    page.until("the stroke", 4, lambda: page.count(".tile.grouped"))
    assert page.groups() == put()
    page.hands.move(page.tile(10))
    page.hands.up()
    first = [0, 1, 2, 3, 10]
    page.until("the first group", put(g1=first), page.groups)
    assert "5 images moved to Group 1" in page.said("announcement")
    page.hands.press("Control+z")
    page.until("nothing", put(), page.groups)
    page.hands.press("Control+Shift+z")
    page.until("the first group again", put(g1=first), page.groups)
    # A digit is for the image under the mouse, unless that was just pressed.
    page.hands.move(page.tile(4))
    page.hands.press("2")
    page.until("a digit", put(g1=first, g2=[4]), page.groups)
    # What is sorted stays; Esc gives a stroke up.
    page.stroke(9, 3, 5)
    page.hands.up()
    page.until("another stroke", put(g1=first, g2=[4, 5, 9]), page.groups)
    page.stroke(12, 14)
    page.hands.press("Escape")
    page.hands.up()
    draw_a_box(page)
    page.hands.press("3")
    third = [12, 13, 14, 18, 19, 20]
    page.until("the box", put(g1=first, g2=[4, 5, 9], g3=third), page.groups)
    lead_on_by_keys(page)
    page.hands.press("r")
    expected = put(g1=first, g2=[4, 5, 6, 9], g3=third)
    expected = [group or 4 for group in expected]
    page.until("the rest", expected, page.groups)
    answer = sent(page)
    assert groups_of(answer) == expected
    puts = [event[1:] for event in answer.trace if event[1] == "p"]
    assert puts[:3] == [["p", 0, *first], ["p", 1, 4], ["p", 1, 9, 5]]
    assert puts[3] == ["p", 2, *third]


def draw_a_box(page: WorkPage) -> None:
    """With Shift, over twelve to twenty; what it holds is shown while it grows."""
    page.hands.hold("Shift")
    page.stroke(12, 19)
    page.until("the box", 1, lambda: page.count(".marquee"))
    page.until("four", 4, lambda: page.count(SELECTED))
    page.hands.move(page.tile(20))
    page.until("six", 6, lambda: page.count(SELECTED))
    page.hands.up()
    page.hands.let_go("Shift")
    assert page.count(".marquee") == 0
    assert page.count(SELECTED) == 6


def lead_on_by_keys(page: WorkPage) -> None:
    """From the first image that has no group to the next ones, by digits."""
    page.tab_to(f"{TILES}[tabindex='0']")
    page.hands.press("Home", *["ArrowRight"] * 6)
    page.until("the seventh", 6, page.focused_tile)
    page.hands.press("2")
    page.until("the next one", 7, page.focused_tile)
    page.hands.press("4")
    page.until("the one after", 8, page.focused_tile)
    # Undone, the focus is where the digit was.
    page.hands.press("Control+z")
    page.until("back", 7, page.focused_tile)
    page.hands.press("4")
    page.until("on again", 8, page.focused_tile)


# --- piles --------------------------------------------------------------------------------------


def test_piles_are_opened_split_merged_and_undone(
    page: WorkPage, web: System, tmp_path: Path
) -> None:
    page.open(link(web, grid_size=12, max_groups=6))
    for group, start in enumerate((0, 4, 8)):
        page.click(f"button[data-group='{group}']")
        page.stroke(start, start + 1, start + 2, start + 3)
        page.hands.up()
    by_rows = put(12, g1=range(4), g2=range(4, 8), g3=range(8, 12))
    page.until("three groups", by_rows, page.groups)
    page.until("the last look", "3 groups, 12 images", lambda: last_look(page))
    assert_square(page, TILES)
    page.look("piles", tmp_path)
    split(page, tmp_path)
    page.until("two of them", [4, 4, 1, 1, *by_rows[4:]], page.groups)
    # By the keyboard: one out again, which Esc after it does not undo.
    page.tab_to("[data-pile='1']")
    page.hands.press("Enter")
    page.until("the pile", 4, lambda: page.count(IN_PILE))
    page.tab_to(IN_PILE)
    page.hands.press("ArrowRight", "Space")
    page.tab_to(".acts .cluster button", 1)
    page.hands.press("Enter")
    page.until("one less", 3, lambda: page.count(IN_PILE))
    page.hands.press("Escape")
    page.until("the focus", True, lambda: page.has_focus("[data-pile='1']"))
    assert page.groups() == [4, 4, 1, 1, 2, 0, 2, 2, 3, 3, 3, 3]
    page.until("a last look", "4 groups, 11 images, 1 without a group", lambda: last_look(page))
    # All of the third into the fourth, and the focus with them.
    page.click("[data-pile='2']")
    page.click("[data-into='3']")
    page.until("no dialog", 0, lambda: page.count("dialog"))
    page.until("the group", True, lambda: page.has_focus("button[data-group='3']"))
    merged = [4, 4, 1, 1, 2, 0, 2, 2, 4, 4, 4, 4]
    page.until("merged", merged, page.groups)
    page.hands.press("Control+z")
    page.until("undone", [*merged[:8], 3, 3, 3, 3], page.groups)
    page.hands.press("Control+Shift+z")
    page.until("done again", merged, page.groups)
    page.click_test_id("submit")
    page.click_test_id("submit-leftovers")
    assert groups_of(answered()[0]) == merged


def assert_square(page: WorkPage, css: str) -> None:
    left, top, right, bottom = page.sides(css)
    assert right - left == pytest.approx(bottom - top, abs=1)


def split(page: WorkPage, folder: Path) -> None:
    """The first two of the first group become a group of their own, by mouse."""
    page.click("[data-pile='0']")
    page.until("the pile", 4, lambda: page.count(IN_PILE))
    assert page.text("dialog h2") == "Group 1, 4 images"
    assert_square(page, IN_PILE)
    for index in (0, 1):
        page.click(IN_PILE, index)
    page.until("two", 2, lambda: page.count(f"{IN_PILE}[aria-pressed='true']"))
    page.look("open-pile", folder)
    page.click(".acts .cluster button")
    page.until("the others", 2, lambda: page.count(IN_PILE))
    page.hands.press("Control+z")
    page.until("undone", 4, lambda: page.count(IN_PILE))
    page.hands.press("Control+Shift+z")
    page.until("done again", 2, lambda: page.count(IN_PILE))
    page.click(CLOSE)
    page.until("closed", 0, lambda: page.count("dialog"))
    page.until("the focus", True, lambda: page.has_focus("[data-pile='0']"))


def last_look(page: WorkPage) -> str:
    return page.text("[data-testid='last-look'] > p")


# --- bins ---------------------------------------------------------------------------------------


def test_bins_take_what_is_carried(page: WorkPage, web: System) -> None:
    page.open(link(web, kind="bins", strategy="crowdster", grid_size=10))
    images = page.images()
    carry(page, images[0], 0)
    page.until("one", [images[0]], lambda: in_bin(page, 0))
    # Esc puts back what is carried, and letting go does nothing then.
    drag(page.hands, at_image(page, images[1]), page.centre("section[data-group='2']"))
    page.until("carried", 1, lambda: page.count(".ghost"))
    page.hands.press("Escape")
    page.until("put back", 0, lambda: page.count(".ghost, [data-carried], .over"))
    page.hands.move(page.centre("section[data-group='1']"))
    page.hands.up()
    assert in_bin(page, 1) == in_bin(page, 2) == []
    # A box around two, with Shift, which then go together.
    page.hands.hold("Shift")
    drag(page.hands, at_image(page, images[2]), at_image(page, images[3]))
    page.until("the box", 2, lambda: page.count(SELECTED))
    page.hands.up()
    page.hands.let_go("Shift")
    assert page.said("announcement") == "2 images selected"
    carry(page, images[2], 2)
    page.until("two", {images[2], images[3]}, lambda: set(in_bin(page, 2)))
    page.hands.press("Control+z")
    page.until("none", [], lambda: in_bin(page, 2))
    page.hands.press("Control+Shift+z")
    # By keys, the focus goes on to the next one in the tray.
    page.tab_to(f"[data-tray] {TILES}[tabindex='0']")
    page.hands.press("Home")
    for _ in range(7):
        page.hands.press("2")
    page.until("the tray", 0, lambda: page.count(f"[data-tray] {TILES}"))
    answer = sent(page)
    third = (images[2], images[3])
    expected = [1 if image == images[0] else 3 if image in third else 2 for image in images]
    assert groups_of(answer) == expected


def at_image(page: WorkPage, image: int) -> tuple[float, float]:
    return page.centre(f"{TILES}[data-image='{image}']")


def carry(page: WorkPage, image: int, group: int) -> None:
    drag(page.hands, at_image(page, image), page.centre(f"section[data-group='{group}']"))
    page.hands.up()


def in_bin(page: WorkPage, group: int) -> list[int]:
    tiles = f"[...one.querySelectorAll('{TILES}')].map((tile) => +tile.dataset.image)"
    return list(page.one(f"section[data-group='{group}']", tiles))
