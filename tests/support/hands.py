"""Hands on a mouse, a screen and a keyboard, alike in all browsers: real input, not made-up events.

Keys have Playwright's names; `Control+z` is one press with a key held. Places are (x, y) in CSS
pixels from the viewport's corner.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

from playwright.sync_api import CDPSession, Page

Place = tuple[float, float]
# As WebDriver writes them (W3C WebDriver 2, 17.4.2).
KEYS = {
    "Backspace": "\ue003",
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Shift": "\ue008",
    "Control": "\ue009",
    "Escape": "\ue00c",
    "Space": " ",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Delete": "\ue017",
}
STEPS = 4
# GTK's is 0.4 s.
DOUBLE_CLICK_SECONDS = 0.8
# Milliseconds of each step, so that no two moves fall into the same frame.
STEP_MS = 20


class Hands(Protocol):
    """Of one window."""

    # Why this browser's driver has no touch screen; empty where it has.
    lacks_touch: str

    def move(self, *places: Place) -> None:
        """The mouse, from place to place."""

    def down(self) -> None:
        """Press the mouse's first button, and keep it so."""

    def up(self) -> None: ...
    def press(self, *keys: str) -> None: ...
    def hold(self, key: str) -> None: ...
    def let_go(self, key: str) -> None: ...
    def wheel(self, place: Place, pixels: int) -> None:
        """Turn the wheel over a place; towards the end of the page if positive."""

    def touch(self, place: Place) -> None:
        """Put a finger down, and leave it there."""

    def lift(self) -> None: ...


def click(hands: Hands, place: Place) -> None:
    hands.move(place)
    hands.down()
    hands.up()


def drag(hands: Hands, *places: Place) -> None:
    """Press at the first place, and go to all others; the button stays down."""
    hands.move(places[0])
    hands.down()
    hands.move(*places[1:])


def type_text(hands: Hands, text: str) -> None:
    hands.press(*("Space" if character == " " else character for character in text))


class PlaywrightHands:
    lacks_touch = ""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.screen: CDPSession | None = None

    def move(self, *places: Place) -> None:
        for x, y in places:
            self.page.mouse.move(x, y, steps=STEPS)

    def down(self) -> None:
        self.page.mouse.down()

    def up(self) -> None:
        self.page.mouse.up()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def hold(self, key: str) -> None:
        self.page.keyboard.down(key)

    def let_go(self, key: str) -> None:
        self.page.keyboard.up(key)

    def wheel(self, place: Place, pixels: int) -> None:
        self.move(place)
        self.page.mouse.wheel(0, pixels)

    def touch(self, place: Place) -> None:
        self._touch("touchStart", [{"x": place[0], "y": place[1], "id": 0}])

    def lift(self) -> None:
        self._touch("touchEnd", [])

    def _touch(self, event: str, points: list[dict[str, float]]) -> None:
        self.screen = self.screen or self.page.context.new_cdp_session(self.page)
        self.screen.send("Input.dispatchTouchEvent", {"type": event, "touchPoints": points})


class WireHands:
    """WebDriver's actions; `perform` sends a list of them to the browser, which remembers what is
    pressed from one list to the next."""

    def __init__(self, perform: Callable[[list[dict[str, Any]]], object], lacks_touch: str) -> None:
        self.perform = perform
        self.lacks_touch = lacks_touch
        self.at: Place = (0, 0)
        self.n_turns = 0
        self.last_press: tuple[Place, float] = (self.at, -DOUBLE_CLICK_SECONDS)

    def move(self, *places: Place) -> None:
        ways = pairwise([self.at, *places])
        steps = [_on_the_way(*way, k) for way in ways for k in range(1, STEPS + 1)]
        self._point(
            *({"type": "pointerMove", "x": x, "y": y, "duration": STEP_MS} for x, y in steps)
        )
        self.at = places[-1]

    def down(self) -> None:
        """Later than what WebKit takes for a double click, whatever was typed in between."""
        place, before = self.last_press
        if place == self.at:
            time.sleep(max(0.0, before + DOUBLE_CLICK_SECONDS - time.monotonic()))
        self._point({"type": "pointerDown", "button": 0})
        self.last_press = self.at, time.monotonic()

    def up(self) -> None:
        self._point({"type": "pointerUp", "button": 0})

    def press(self, *keys: str) -> None:
        for combination in keys:
            names = [combination] if len(combination) == 1 else combination.split("+")
            *held, key = [KEYS.get(name, name) for name in names]
            downs = [{"type": "keyDown", "value": value} for value in (*held, key)]
            ups = [{"type": "keyUp", "value": value} for value in (key, *reversed(held))]
            self._type(*downs, *ups)

    def hold(self, key: str) -> None:
        self._type({"type": "keyDown", "value": KEYS.get(key, key)})

    def let_go(self, key: str) -> None:
        self._type({"type": "keyUp", "value": KEYS.get(key, key)})

    def wheel(self, place: Place, pixels: int) -> None:
        self.move(place)
        x, y = (round(value) for value in place)
        scroll = {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": pixels}
        # WebKitWebDriver would turn the same wheel by the difference to its last turn.
        self.n_turns += 1
        self._act("wheel", f"wheel {self.n_turns}", scroll)

    def touch(self, place: Place) -> None:
        x, y = (round(value) for value in place)
        self._finger({"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0})

    def lift(self) -> None:
        self._finger({"type": "pointerUp", "button": 0})

    def _point(self, *actions: dict[str, Any]) -> None:
        self._act("pointer", "mouse", *actions, parameters={"pointerType": "mouse"})

    def _finger(self, *actions: dict[str, Any]) -> None:
        self._act("pointer", "finger", *actions, parameters={"pointerType": "touch"})

    def _type(self, *actions: dict[str, Any]) -> None:
        self._act("key", "keyboard", *actions)

    def _act(self, kind: str, source: str, *actions: dict[str, Any], **more: object) -> None:
        self.perform([{"type": kind, "id": source, "actions": list(actions), **more}])


def _on_the_way(start: Place, end: Place, step: int) -> tuple[int, int]:
    """Whole pixels, as not all drivers take parts of them."""
    x, y = (a + (b - a) * step / STEPS for a, b in zip(start, end, strict=True))
    return round(x), round(y)
