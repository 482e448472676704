"""Fingers on a touch screen."""

from typing import Any

from playwright.sync_api import CDPSession, Page

Place = tuple[float, float]


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

    def _send(self, event: str, places: list[Place]) -> None:
        points: list[dict[str, Any]] = [
            {"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)
        ]
        self.session.send("Input.dispatchTouchEvent", {"type": event, "touchPoints": points})
