"""The participants' pages of the Prolific emulator in Chromium, with the task on another origin."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from testbed.browser import chromium
from tests.emulators.researcher import PLACEHOLDERS, a_desk, code
from tests.support import axe


@contextmanager
def a_task(finish: str) -> Iterator[str]:
    """The address of a page that does nothing but send people on to `finish`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<!doctype html><title>A task</title><a href="{finish}">Finish</a>'.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}/task"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.browser
def test_taking_part_in_a_browser() -> None:
    with a_desk() as desk, chromium() as browser:
        site = desk.emulator.url
        with a_task(f"{site}/submissions/complete?cc=DONE") as task:
            study = desk.study(
                external_study_url=f"{task}?{PLACEHOLDERS}",
                description="Look at <b>pictures</b><script>alert(1)</script>",
                completion_codes=[code("DONE", "AUTOMATICALLY_APPROVE")],
            )
            page = browser.new_page(viewport={"width": 390, "height": 800})
            problems: list[str] = []

            def look() -> None:
                page.emulate_media(color_scheme="dark")
                problems.extend(axe.violations(page))
                page.emulate_media(color_scheme="light")
                problems.extend(axe.violations(page))
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    problems.append(f"{page.url} is wider than the screen")

            page.goto(site)
            page.get_by_label("You are").select_option(desk.person())
            page.get_by_role("button", name="Switch").click()
            look()
            page.get_by_role("link", name="Group pictures").click()
            assert page.locator(".description").inner_html().strip() == "Look at <b>pictures</b>"
            look()
            page.get_by_role("button", name="Take part").click()
            page.get_by_role("link", name="Finish").click()
            page.get_by_role("heading", name="Thank you!").wait_for()
            look()
            desk.wait(5)
            page.get_by_role("link", name="See your submissions").click()
            page.get_by_text("Approved", exact=True).wait_for()
            assert page.get_by_role("row").nth(1).inner_text().split("\t")[-2] == "£1.00"
            look()
            assert problems == []
        assert desk.get(f"studies/{study}/submissions/counts/")["APPROVED"] == 1
