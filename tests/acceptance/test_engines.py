"""Whole tasks in three browsers, inside a sandboxed frame of another site that has no cookies.

What is lost by a reload, or by half a minute without a server, is work of less than two seconds.
`make acceptance` runs these; more of Chromium is in tests/system/test_platform_page.py.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import select

from app.annotation.models import Answer
from app.campaigns.models import Grid
from app.core.database import transaction
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.server import Emulator
from testbed.system import System, wait_until
from tests.support.engine_fixtures import engine
from tests.support.engines import HOME, RIGHT, Engine
from tests.support.foreign_frame import (
    SANDBOXES,
    WORKER,
    emulator_of_mturk,
    likewise_for,
    recruited,
    rows,
    set_sandbox,
    states,
)
from tests.support.scale import FULL

__all__ = ["engine"]
pytestmark = pytest.mark.skipif(not FULL, reason="run by make acceptance (LIKEWISE_FULL_TESTS=1)")
TASK = "#task"
OFFLINE_SECONDS = 30.0
LOST_SECONDS = 2.0
N_KINDS = 3
# Would be seen in any frame, were third-party cookies not blocked; the second takes the first one's
# place, except in WebKit, which refuses it without TLS.
BAKE = """
document.cookie = "probe=1";
document.cookie = "probe=1; SameSite=None; Secure";
"""
COOKIES = "try { return document.cookie } catch { return 'refused' }"
GROUPS = """
const tiles = [...document.querySelectorAll("button[data-image]")];
const groupOf = (tile) => Number(tile.querySelector(".number")?.textContent ?? 0);
return tiles.map((tile) => [Number(tile.dataset.image), groupOf(tile)]);
"""
PICTURES = """
const pictures = [...document.querySelectorAll("button[data-image] img")];
return pictures.filter((one) => one.naturalWidth > 0).length;
"""


@pytest.fixture
def mturk() -> Iterator[Emulator]:
    with emulator_of_mturk() as emulator:
        yield emulator


@pytest.fixture
def web(environment: dict[str, str], tmp_path: Path, mturk: Emulator) -> Iterator[System]:
    with likewise_for(mturk, environment, tmp_path) as system:
        yield system


@dataclass
class Worker:
    """Somebody at the task's page who puts images of kind k, by their numbers, into group k + 1."""

    engine: Engine

    def see(self, test_id: str) -> str:
        """A part's words; empty while there is none."""
        part = f"document.querySelector('[data-testid={test_id}]')"
        return str(self.engine.run(f"return {part}?.textContent.trim() ?? ''"))

    def press(self, test_id: str) -> None:
        wait_until(test_id, lambda: self.see(test_id))
        self.engine.click(f"[data-testid='{test_id}']")

    def groups(self) -> dict[int, int]:
        """Of all images, the group's number; 0 for none."""
        return dict(self.engine.run(GROUPS))

    def sorted(self) -> set[int]:
        groups = self.groups()
        assert all(group in (0, self.kind(image) + 1) for image, group in groups.items())
        return {image for image, group in groups.items() if group}

    def left(self) -> list[int]:
        return sorted(set(self.groups()) - self.sorted())

    def kind(self, image: int) -> int:
        return image % N_KINDS

    def click(self, image: int) -> None:
        self.engine.click(f"button[data-group='{self.kind(image)}']")
        self.engine.click(f"button[data-image='{image}']")
        wait_until("it to be sorted", lambda: image in self.sorted())

    def type(self, image: int) -> None:
        """From the first image by arrows, as without a pointer, and then the group's digit."""
        images = list(self.groups())
        keys = HOME + RIGHT * images.index(image) + str(self.kind(image) + 1)
        self.engine.type(f"button[data-image='{images[0]}']", keys)
        wait_until("it to be sorted", lambda: image in self.sorted())

    def wait_for(self, state: str) -> None:
        part = "document.querySelector('[data-testid=save-state]')"
        wait_until(state, lambda: self.engine.run(f"return {part}?.dataset.state") == state)

    def reload(self) -> None:
        self.engine.reload()
        self.engine.enter(TASK)
        self.see_images()

    def see_images(self) -> None:
        wait_until("the images", lambda: self.engine.run(PICTURES) == len(self.groups()) > 0)

    def begin_grid(self, n_done: int) -> None:
        wait_until("the grid", lambda: self.see("progress").startswith(f"{n_done} of ") or None)
        self.see_images()
        assert self.sorted() == set()


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_task_is_finished_over_a_reload_and_half_a_minute_without_a_server(
    engine: Engine,
    web: System,
    mturk: Emulator,
    monkeypatch: pytest.MonkeyPatch,
    sandbox: str,
) -> None:
    hit = recruited(2)
    add_workers(mturk.state, NewWorkers(worker_id=WORKER))
    set_sandbox(monkeypatch, SANDBOXES[sandbox])
    bake_a_probe(engine, web)
    worker = Worker(engine)

    engine.open(f"{mturk.state.options.worker_site}/hits/{hit}?worker={WORKER}")
    look_at_the_preview(worker)
    engine.click("form[action$='/accept'] button")
    wait_until("the task", lambda: engine.run("return !!document.querySelector('#timer')"))
    engine.enter(TASK)
    worker.press("start")
    assert engine.run(COOKIES) in ("", "refused")

    sort_over_a_reload(worker)
    worker.press("submit")
    sort_over_an_outage(worker, web)
    worker.press("submit")
    worker.press("hand-in")

    # What the frame shows from now on is the emulator's.
    engine.leave()
    wait_until("the hand-in", lambda: submitted(mturk))
    assert states() == [("completed", True)]
    assert rows() == {"annotator": 1, "assignment": 1, "answer": 2}
    assert_answers_as_sorted()


def bake_a_probe(engine: Engine, web: System) -> None:
    engine.open(web.environment["LIKEWISE_BASE_URL"])
    engine.run(BAKE)
    assert "probe=1" in engine.run(COOKIES)


def look_at_the_preview(worker: Worker) -> None:
    worker.engine.enter(TASK)
    wait_until("the preview", lambda: "Accept the task to begin" in worker.see("preview-banner"))
    worker.see_images()
    assert rows() == {"annotator": 0, "assignment": 0, "answer": 0}
    worker.engine.leave()


def sort_over_a_reload(worker: Worker) -> None:
    """With a mouse; the page is loaded again once it says that all is saved."""
    worker.begin_grid(0)
    half = set(worker.left()[::2])
    for image in half:
        worker.click(image)
    assert worker.sorted() == half
    worker.wait_for("saved")
    worker.reload()
    wait_until("what was sorted", lambda: worker.sorted() == half)
    for image in worker.left():
        worker.click(image)


def sort_over_an_outage(worker: Worker, web: System) -> None:
    """With keys; the page is loaded again when the server is back, and just after one image."""
    worker.begin_grid(1)
    before, *meanwhile, later, last = worker.left()
    worker.type(before)
    worker.wait_for("saved")
    web.kill("web")
    began = time.monotonic()
    for image in meanwhile:
        worker.type(image)
        worker.wait_for("local")
    time.sleep(max(0.0, began + OFFLINE_SECONDS - time.monotonic()))
    worker.type(later)
    web.start("web")
    time.sleep(LOST_SECONDS)
    worker.type(last)
    worker.reload()
    kept = {before, *meanwhile, later}
    wait_until("what was sorted", lambda: worker.sorted() >= kept)
    for image in worker.left():
        worker.type(image)


def submitted(mturk: Emulator) -> bool:
    return [
        (assignment.worker_id, assignment.state) for assignment in mturk.state.assignments.values()
    ] in (
        [(WORKER, "Submitted")],
        [(WORKER, "Approved")],
    )


def assert_answers_as_sorted() -> None:
    with transaction() as session:
        answers = session.execute(
            select(Answer.state, Answer.groups, Grid.images).join(Grid, Answer.grid_id == Grid.id)
        ).all()
    assert [state for state, _, _ in answers] == ["submitted", "submitted"]
    for _, groups, images in answers:
        assert groups == [image % N_KINDS for image in images]
