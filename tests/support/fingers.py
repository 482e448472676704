"""Fingers on a touch screen, and what is quick by the clock of its events.

A slow machine would take longer between two of them than a person does.
"""

import time
from typing import Any

from playwright.sync_api import CDPSession, Page

Place = tuple[float, float]
# Seconds from one press or release to the next.
QUICK = 0.03


def double_click(page: Page, place: Place) -> None:
    session = page.context.new_cdp_session(page)
    now = time.time()
    (x, y), button = place, {"button": "left"}
    moved = {"type": "mouseMoved", "x": x, "y": y, "timestamp": now}
    session.send("Input.dispatchMouseEvent", moved)
    for k, kind in enumerate(("mousePressed", "mouseReleased") * 2):
        event = {"type": kind, "x": x, "y": y, "clickCount": 1 + k // 2, **button}
        session.send("Input.dispatchMouseEvent", {**event, "timestamp": now + QUICK * k})
    session.detach()


class Fingers:
    """Touches as the browser gets them from a screen, so that it scrolls where it would."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session: CDPSession = page.context.new_cdp_session(page)

    def swipe(self, start: Place, end: Place) -> None:
        self.move([start], [end])

    def move(self, start: list[Place], end: list[Place]) -> None:
        """All fingers at once, each from its start to its end."""
        self.down(*start)
        for k in range(1, 11):
            self._send(
                "touchMove",
                [
                    (a[0] + (b[0] - a[0]) * k / 10, a[1] + (b[1] - a[1]) * k / 10)
                    for a, b in zip(start, end, strict=True)
                ],
            )
            self.page.wait_for_timeout(16)
        self.up()

    def down(self, *places: Place) -> None:
        self._send("touchStart", list(places))

    def up(self) -> None:
        self._send("touchEnd", [])

    def tap(self, place: Place) -> None:
        self._tap(place, 1)

    def tap_twice(self, place: Place) -> None:
        self._tap(place, 2)

    def _tap(self, place: Place, times: int) -> None:
        now = time.time()
        for k, event in enumerate(("touchStart", "touchEnd") * times):
            self._send(event, [] if k % 2 else [place], timestamp=now + QUICK * k)

    def _send(self, event: str, places: list[Place], **more: float) -> None:
        points: list[dict[str, Any]] = [
            {"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)
        ]
        touches = {"type": event, "touchPoints": points, **more}
        self.session.send("Input.dispatchTouchEvent", touches)
