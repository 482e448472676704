"""Browsers for tests, driven alike: each by the tool that drives it in a frame of another site."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Frame, Page

from likewise.embedded import free_port
from testbed.browser import chromium
from testbed.system import wait_until
from tests.support.engine_tools import (
    lacks_of_firefox,
    lacks_of_webkit,
    locales,
    mini_browser,
    screen,
)
from tests.support.hands import Hands, PlaywrightHands, WireHands

# Of Firefox' network.cookie.cookieBehavior: none of a third party, whatever it asks for.
NO_THIRD_PARTY = 1
# As WebDriver writes them, by Playwright's names.
HOME, RIGHT = "\ue011", "\ue014"
KEYS = {HOME: "Home", RIGHT: "ArrowRight"}
RESIZE_SECONDS = 20.0
NO_TOUCH = "WebKitWebDriver has no touch screen for WebKitGTK"


class Engine(Protocol):
    """A window of a browser, in which we are at its page or in a frame of it."""

    hands: Hands

    def open(self, address: str) -> None: ...
    def reload(self) -> None: ...
    def enter(self, css: str) -> None:
        """Into a frame of the page."""

    def leave(self) -> None:
        """Out of all frames."""

    def click(self, css: str) -> None: ...
    def type(self, css: str, keys: str) -> None: ...
    def run(self, script: str) -> Any:
        """What a function of this body returns where we are."""

    def resize(self, width: int, height: int) -> None:
        """Make the room for pages this large, in CSS pixels."""

    def window_next_to_it(self, address: str, script: str) -> None:
        """Open an address in a window that stays, run a script there, and come back."""

    def look(self, path: Path) -> None:
        """A picture of the page."""


class Chromium:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.where: Page | Frame = page
        self.hands: Hands = PlaywrightHands(page)

    def open(self, address: str) -> None:
        self.page.goto(address)

    def reload(self) -> None:
        self.leave()
        self.page.reload()

    def enter(self, css: str) -> None:
        frame = self.page.locator(css).element_handle().content_frame()
        assert frame is not None
        self.where = frame

    def leave(self) -> None:
        self.where = self.page

    def click(self, css: str) -> None:
        self.where.locator(css).click()

    def type(self, css: str, keys: str) -> None:
        self.where.locator(css).focus()
        for key in keys:
            self.page.keyboard.press(KEYS.get(key, key))

    def run(self, script: str) -> Any:
        try:
            return self.where.evaluate(f"() => {{ {script} }}")
        except PlaywrightError as error:
            if "navigation" not in str(error):
                raise
        # The other drivers wait for a page that comes just now by themselves.
        self.where.wait_for_load_state()
        return self.where.evaluate(f"() => {{ {script} }}")

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def window_next_to_it(self, address: str, script: str) -> None:
        page = self.page.context.new_page()
        page.goto(address)
        page.evaluate(f"() => {{ {script} }}")
        self.page.bring_to_front()

    def look(self, path: Path) -> None:
        self.page.screenshot(path=path)


class Firefox:
    def __init__(self, client: Any) -> None:
        self.client = client
        self.hands: Hands = WireHands(client.actions.perform, lacks_touch="")

    def open(self, address: str) -> None:
        self.client.navigate(address)

    def reload(self) -> None:
        self.client.switch_to_frame()
        self.client.refresh()

    def enter(self, css: str) -> None:
        self.client.switch_to_frame(self.client.find_element("css selector", css))

    def leave(self) -> None:
        self.client.switch_to_frame()

    def click(self, css: str) -> None:
        self.client.find_element("css selector", css).click()

    def type(self, css: str, keys: str) -> None:
        self.client.find_element("css selector", css).send_keys(keys)

    def run(self, script: str) -> Any:
        return self.client.execute_script(script)

    def resize(self, width: int, height: int) -> None:
        _resize(self, width, height, lambda **size: self.client.set_window_rect(**size))

    def window_next_to_it(self, address: str, script: str) -> None:
        here = self.client.current_window_handle
        self.client.switch_to_window(self.client.open(type="tab", focus=True)["handle"])
        self.client.navigate(address)
        self.run(script)
        self.client.switch_to_window(here)

    def look(self, path: Path) -> None:
        path.write_bytes(self.client.screenshot(format="binary", full=False))


class WebKit:
    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.hands: Hands = WireHands(
            lambda actions: driver.execute("actions", {"actions": actions}), NO_TOUCH
        )

    def open(self, address: str) -> None:
        self.driver.get(address)

    def reload(self) -> None:
        self.driver.switch_to.default_content()
        self.driver.refresh()

    def enter(self, css: str) -> None:
        self.driver.switch_to.frame(self.driver.find_element("css selector", css))

    def leave(self) -> None:
        self.driver.switch_to.default_content()

    def click(self, css: str) -> None:
        self.driver.find_element("css selector", css).click()

    def type(self, css: str, keys: str) -> None:
        self.driver.find_element("css selector", css).send_keys(keys)

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def resize(self, width: int, height: int) -> None:
        _resize(self, width, height, self.driver.set_window_rect)

    def window_next_to_it(self, address: str, script: str) -> None:
        here = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.driver.get(address)
        self.run(script)
        self.driver.switch_to.window(here)

    def look(self, path: Path) -> None:
        self.driver.save_screenshot(str(path))


def _resize(engine: Engine, width: int, height: int, set_size: Callable[..., object]) -> None:
    """Windows have frames of their own size around the page."""
    across, down = engine.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
    set_size(width=width + across, height=height + down)
    size = "return [innerWidth, innerHeight]"
    wait_until("the size", lambda: engine.run(size) == [width, height], RESIZE_SECONDS)


@contextmanager
def chromium_alone(folder: Path, language: str = "en") -> Iterator[Engine]:
    """A context of its own, as those that keep no cookies of third parties."""
    with chromium() as running:
        yield Chromium(running.new_context(locale=language).new_page())


@contextmanager
def firefox(folder: Path, language: str = "en") -> Iterator[Engine]:
    """Firefox ESR by Marionette, without a screen; its log lies in `folder`."""
    from marionette_driver.marionette import Marionette

    client = Marionette(
        bin=shutil.which("firefox-esr"),
        port=free_port(),
        headless=True,
        gecko_log=str(folder / "firefox.log"),
        prefs={
            "network.cookie.cookieBehavior": NO_THIRD_PARTY,
            "intl.accept_languages": language,
        },
    )
    try:
        client.start_session()
        yield Firefox(client)
    finally:
        client.cleanup()


@contextmanager
def webkit(folder: Path, language: str = "en") -> Iterator[Engine]:
    """WebKitGTK's MiniBrowser on a screen of its own; its driver's log lies in `folder`."""
    from selenium.webdriver import WebKitGTK, WebKitGTKOptions
    from selenium.webdriver.webkitgtk.service import Service

    options = WebKitGTKOptions()
    options.binary_location = str(mini_browser())
    # Without the second, frames of another site are sent what is there already.
    for argument in ("--automation", "--enable-itp"):
        options.add_argument(argument)
    with screen() as display, locales(language) as spoken:
        # As root, as in containers, it has no sandbox of its own.
        environment = {
            "DISPLAY": display,
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
            **spoken,
        }
        log = str(folder / "webkit.log")
        service = Service(env={**os.environ, **environment}, log_output=log)
        driver = WebKitGTK(options=options, service=service)
        try:
            yield WebKit(driver)
        finally:
            driver.quit()


ENGINES: dict[str, tuple[Callable[..., Any], Callable[[], str]]] = {
    # What it lacks, all browser tests lack.
    "chromium": (chromium_alone, str),
    "firefox": (firefox, lacks_of_firefox),
    "webkit": (webkit, lacks_of_webkit),
}
