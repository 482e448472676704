"""The emulator's worker site in Chromium: look, accept, work in the sandboxed frame, submit."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from emulators.mturk.server import Emulator, running
from likewise.commands.emulate import cli
from testbed.browser import ARGUMENTS, chromium
from tests.emulators.support import Crowd, a_hit, client, question
from tests.support.axe import violations

# A stranger's task: shows what it was given, and posts to where it was told to.
PAGE = b"""<!doctype html><html lang="en"><title>Task</title><main><h1>Task</h1>
<p id="given"></p><form method="post"><input name="assignmentId" type="hidden">
<input name="groups" value="3" type="hidden"><button>Submit</button></form></main><script>
const given = new URLSearchParams(location.search);
document.querySelector("#given").textContent = location.search;
const form = document.forms[0];
form.elements.assignmentId.value = given.get("assignmentId");
form.action = given.get("turkSubmitTo") + "/mturk/externalSubmit";
form.hidden = given.get("assignmentId") === "ASSIGNMENT_ID_NOT_AVAILABLE";
</script></html>"""
HOSTS = [*ARGUMENTS, "--host-resolver-rules=MAP *.test 127.0.0.1"]


class TaskPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@contextmanager
def a_task() -> Iterator[str]:
    """The address of a served task, on a site of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), TaskPage)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://task.test:{server.server_port}/page?kind=grids"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.browser
def test_a_worker_previews_accepts_and_submits() -> None:
    with a_task() as task, running(allow_http=True) as emulator, chromium(HOSTS) as browser:
        mturk, crowd = client(emulator), Crowd(emulator)
        worker = crowd.worker()
        hit = a_hit(mturk, Question=question(task))
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(f"http://workers.test:{emulator.port}/")
        page.get_by_label("Worker").select_option(worker)
        expect(page.get_by_role("heading", name="Sort images")).to_be_visible()
        assert violations(page) == []
        page.get_by_role("link", name="Preview").click()
        frame = page.frame_locator("#task")
        expect(frame.locator("#given")).to_contain_text("ASSIGNMENT_ID_NOT_AVAILABLE")
        expect(frame.get_by_role("button", name="Submit")).to_be_hidden()
        page.get_by_role("button", name="Accept").click()
        expect(frame.locator("#given")).to_contain_text(f"workerId={worker}")
        expect(page.get_by_role("timer")).to_have_text(re.compile(r"^0:09:5\d left$"))
        frame.get_by_role("button", name="Submit").click()
        expect(frame.get_by_role("status")).to_contain_text("Your work was submitted")
        expect(page.get_by_text("Submitted", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Return")).to_have_count(0)
        page.get_by_role("link", name="Earnings").click()
        expect(page.get_by_role("cell", name="Submitted")).to_be_visible()
        assert violations(page) == []
        [assignment] = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
        assert assignment["WorkerId"] == worker
        assert "<QuestionIdentifier>groups</QuestionIdentifier><FreeText>3<" in assignment["Answer"]


def test_the_command_serves_what_its_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    served = []

    def serve_for_a_moment(emulator: Emulator) -> None:
        emulator.start()
        mturk = client(emulator, key="mine", secret="my-secret")
        served.append(mturk.get_account_balance()["AvailableBalance"])
        served.append(
            len(httpx.get(f"{emulator.endpoint_url}/emulator/workers", timeout=60).json())
        )
        emulator.stop()

    monkeypatch.setattr(Emulator, "serve", serve_for_a_moment)
    options = ["--port", "0", "--account", "mine:my-secret", "--balance", "12.34", "--workers", "3"]
    result = CliRunner().invoke(cli, ["mturk", *options])
    assert (result.exit_code, served) == (0, ["12.34", 3])
    assert "my-secret" not in result.output
    assert CliRunner().invoke(cli, ["mturk", "--account", "mine"]).exit_code == 2
