"""The annotators' page in any of the browsers: what is seen there, and hands that do something."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.annotation.models import Answer
from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support import hands as by_hand
from tests.support.annotators_page import link_of, stored
from tests.support.engines import Engine
from tests.support.hands import Hands, Place

TILES = "button[data-image]"
DESK = (1366, 768)
SECONDS = 60.0
# Without instructions and words, where a test is about something else.
AT_ONCE = {"show_instructions": False, "descriptions": "none"}
GROUPS = f"""
return [...document.querySelectorAll("{TILES}")].map(
    (tile) => Number(tile.querySelector(".number")?.textContent ?? 0));
"""
PAINTED = f"""
const tiles = [...document.querySelectorAll("{TILES}")];
return tiles.length > 0 && tiles.every((tile) => tile.querySelector("img")?.naturalWidth > 0);
"""


@dataclass
class WorkPage:
    engine: Engine

    @property
    def hands(self) -> Hands:
        return self.engine.hands

    def open(self, link: str, size: tuple[int, int] = DESK) -> None:
        """As a newcomer; all pictures are there."""
        self.engine.resize(*size)
        self.engine.open(link)
        self.await_pictures()

    def await_pictures(self) -> None:
        self.until("the pictures", "all painted", lambda: self.engine.run(PAINTED))

    # --- what is seen ---------------------------------------------------------------------------

    def until(self, what: str, expected: object, seen: Any) -> None:
        """Waits for a sight; names the last one if it does not come."""
        last: list[object] = []

        def is_there() -> bool:
            last[:] = [seen()]
            return bool(last[0]) if expected == "all painted" else last[0] == expected

        try:
            wait_until(what, is_there, SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{what}: {last[0]!r}, not {expected!r}") from error

    def one(self, css: str, what: str, index: int = 0) -> Any:
        """What an expression says of `one`, an element; null while there is none."""
        element = f"document.querySelectorAll({json.dumps(css)})[{index}]"
        return self.engine.run(f"const one = {element}; return one ? ({what}) : null")

    def count(self, css: str) -> int:
        return int(self.engine.run(f"return document.querySelectorAll({json.dumps(css)}).length"))

    def text(self, css: str) -> str:
        """Empty while there is none."""
        return self.one(css, "one.textContent.trim().replace(/\\s+/g, ' ')") or ""

    def said(self, test_id: str) -> str:
        return self.text(f"[data-testid='{test_id}']")

    def groups(self) -> list[int]:
        """Of each image, as people count: the first group is 1; 0 for none."""
        return list(self.engine.run(GROUPS))

    def images(self) -> list[int]:
        images = f"[...document.querySelectorAll('{TILES}')].map((one) => +one.dataset.image)"
        return list(self.engine.run(f"return {images}"))

    def sides(self, css: str, index: int = 0) -> list[float]:
        """Left, top, right and bottom, in pixels of the viewport."""
        box = "(({left, top, right, bottom}) => [left, top, right, bottom])"
        sides = self.one(css, f"{box}(one.getBoundingClientRect())", index)
        assert sides is not None, f"there is no {css} {index}"
        return list(sides)

    def centre(self, css: str, index: int = 0) -> Place:
        left, top, right, bottom = self.sides(css, index)
        return (left + right) / 2, (top + bottom) / 2

    def tile(self, index: int) -> Place:
        return self.centre(TILES, index)

    def has_focus(self, css: str, index: int = 0) -> bool:
        return self.one(css, "one === document.activeElement", index) is True

    def focused_tile(self) -> int:
        """Index of the image that has the focus; -1 for none."""
        tiles = f"[...document.querySelectorAll('{TILES}')]"
        return int(self.engine.run(f"return {tiles}.indexOf(document.activeElement)"))

    # --- what hands do --------------------------------------------------------------------------

    def click(self, css: str, index: int = 0) -> None:
        wait_until(css, lambda: self.count(css) > index, SECONDS)
        by_hand.click(self.hands, self.centre(css, index))

    def click_test_id(self, test_id: str) -> None:
        self.click(f"[data-testid='{test_id}']")

    def stroke(self, *images: int) -> None:
        """Press on the first image and go to the others; the button stays down."""
        by_hand.drag(self.hands, *(self.tile(image) for image in images))

    def tab_to(self, css: str, index: int = 0) -> None:
        for _ in range(80):
            if self.has_focus(css, index):
                return
            self.hands.press("Tab")
        raise AssertionError(f"the Tab key does not reach {css}")

    def look(self, name: str, folder: Path) -> None:
        """Keep a picture of the page, for people."""
        place = Path(os.environ.get("LIKEWISE_LOOK", folder))
        self.engine.look(place / f"{type(self.engine).__name__.lower()}-{name}.png")


def link(web: System, **plan: Any) -> str:
    """The address of a campaign without instructions and words, unless the plan says otherwise."""
    annotation = {**AT_ONCE, **plan.pop("annotation", {})}
    return link_of(a_campaign(annotation=annotation, **plan), web)


def put(count: int = 24, **by_group: Sequence[int]) -> list[int]:
    """The groups of all images: g1=[0, 1] are in group 1."""
    expected = [0] * count
    for group, images in by_group.items():
        for image in images:
            expected[image] = int(group[1:])
    return expected


def answered(n: int = 1) -> list[Answer]:
    """The answers that the server keeps, once there are so many."""
    return wait_until("the answers", lambda: answers if len(answers := stored()) == n else None)


def sent(page: WorkPage) -> Answer:
    """Submit, and read what the server keeps."""
    page.click_test_id("submit")
    return answered()[0]


def groups_of(answer: Answer) -> list[int]:
    """As people count them."""
    assert answer.groups is not None
    return [group + 1 for group in answer.groups]
