"""A person at the annotators' page: sorts by a rule, by mouse, by touch or by keyboard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import Locator, Page, expect

Way = Literal["mouse", "touch", "keyboard"]
SLOW = 30_000
TILES = "button[data-image]"
# The images of a kind in which a click is the answer, as soon as they take one.
OPEN = ".stage:not([inert]) > .images:not([aria-disabled='true'])"


@dataclass
class Person:
    """`kind_of` says how this person sees an image; images of kind k go into group k."""

    page: Page
    way: Way
    kind_of: Callable[[int], int]

    def press(self, target: Locator) -> None:
        """Use a button in this person's way."""
        expect(target).to_be_visible(timeout=SLOW)
        if self.way == "touch":
            target.tap()
        elif self.way == "mouse":
            target.click()
        else:
            self.walk_to(target)
            self.page.keyboard.press("Enter")

    def walk_to(self, target: Locator) -> None:
        """Tab until the target has the focus, as without a pointer."""
        for _ in range(80):
            if target.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not reach {target}")

    def images(self) -> list[int]:
        expect(self.page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
        values = self.page.locator(TILES).evaluate_all("all => all.map(one => one.dataset.image)")
        return [int(value) for value in values]

    def sort_grid(self) -> None:
        """Put all images into groups, without describing or submitting."""
        images = self.images()
        if self.way == "keyboard":
            self.sort_by_keyboard(images)
            return
        for group in sorted({self.kind_of(image) for image in images}):
            self.press(self.page.locator(f"button[data-group='{group}']"))
            for image in images:
                if self.kind_of(image) == group:
                    self.press(self.tile(image))

    def sort_by_keyboard(self, images: list[int]) -> None:
        """A digit for each image, which leads on to the next one without a group."""
        for image in images:
            if self.page.evaluate("document.activeElement?.dataset?.image") != str(image):
                self.focus(image)
            self.page.keyboard.press(str(self.kind_of(image) + 1))

    def vote(self, votes: Mapping[int, int]) -> None:
        """Votes on images: 0 yes, 1 no, 2 unsure."""
        for image, vote in votes.items():
            if self.way == "keyboard":
                self.focus(image)
                self.page.keyboard.press("Enter" if vote == 0 else str(vote + 1))
                continue
            chosen = self.page.locator(f"button[data-group='{vote}']")
            if chosen.get_attribute("aria-pressed") == "false":
                self.press(chosen)
            self.press(self.tile(image))

    def sort_bins(self, leave: int = 0) -> None:
        """Put images into bins, all but `leave` of them."""
        images = self.images()[: None if leave == 0 else -leave]
        for image in images:
            kind = self.kind_of(image)
            if self.way == "keyboard":
                self.focus(image)
                self.page.keyboard.press(str(kind + 1))
            elif self.way == "touch":
                self.press(self.tile(image))
                self.press(self.bin(kind).locator(".name"))
            else:
                self.drag(self.tile(image), self.bin(kind))
            expect(self.bin(kind).locator(self.tile(image))).to_be_visible(timeout=SLOW)

    def focus(self, image: int) -> None:
        """Walk to an image with Tab and arrows."""
        if self.page.evaluate("document.activeElement?.dataset?.image === undefined"):
            self.walk_to(self.page.locator(f"{TILES}[tabindex='0']").first)
        self.page.keyboard.press("Home")
        is_rtl = self.page.evaluate("document.documentElement.dir === 'rtl'")
        for _ in range(60):
            if self.page.evaluate("document.activeElement.dataset.image") == str(image):
                return
            self.page.keyboard.press("ArrowLeft" if is_rtl else "ArrowRight")
        raise AssertionError(f"the arrow keys do not reach image {image}")

    def drag(self, source: Locator, target: Locator) -> None:
        # Waits until nothing moves: the bins get their sizes a moment after each drop.
        source.hover(timeout=SLOW)
        mouse = self.page.mouse
        mouse.down()
        end = target.bounding_box()
        assert end is not None
        mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=4)
        mouse.up()

    def describe(self) -> None:
        """Say what every used group shares."""
        for group in sorted({self.kind_of(image) for image in self.images()}):
            field = self.page.locator(f"[data-description='{group}']")
            if self.way == "keyboard":
                self.walk_to(field)
                self.page.keyboard.type(f"kind {group}")
            else:
                self.press(self.page.locator(f"button[data-group='{group}']"))
                field.fill(f"kind {group}")

    def submit(self) -> None:
        self.press(self.page.get_by_test_id("submit"))

    def tile(self, image: int) -> Locator:
        return self.page.locator(f"{TILES}[data-image='{image}']")

    def bin(self, group: int) -> Locator:
        return self.page.locator(f"section[data-group='{group}']")

    def done(self) -> int:
        text = self.page.get_by_test_id("progress").inner_text()
        return int(text.split()[0])
