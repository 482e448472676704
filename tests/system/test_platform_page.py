"""The annotators' page inside MTurk's frame: another site, sandboxed, third-party cookies blocked.

The emulator stands for MTurk. `*.localhost` are names of this machine that are sites of their own.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from playwright._impl._api_structures import SetCookieParam
from playwright.sync_api import Browser, Frame, Page, expect
from sqlalchemy import select, update

from app.annotation.models import Assignment
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Payment
from emulators.mturk.control import NewWorkers, add_workers
from emulators.mturk.server import Emulator
from testbed.browser import chromium
from testbed.builders import COLOURS
from testbed.system import System, wait_until
from tests.support.axe import violations
from tests.support.books import Paid, paid_by_ledger, paid_by_mturk
from tests.support.foreign_frame import (
    REWARD,
    SANDBOXES,
    WORKER,
    emulator_of_mturk,
    likewise_for,
    recruited,
    rows,
    set_sandbox,
    states,
)
from tests.support.person import SLOW, TILES, Person

pytestmark = pytest.mark.browser
# One that would be sent from any frame, were third-party cookies not blocked.
PROBE: SetCookieParam = {
    "name": "probe",
    "value": "1",
    "domain": "likewise.localhost",
    "path": "/",
    "sameSite": "None",
    "secure": True,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Contexts of their own keep no third-party cookies; the test sees to it that it is so.
    with chromium() as running_browser:
        yield running_browser


@pytest.fixture
def mturk() -> Iterator[Emulator]:
    with emulator_of_mturk() as emulator:
        yield emulator


@pytest.fixture
def web(environment: dict[str, str], tmp_path: Path, mturk: Emulator) -> Iterator[System]:
    with likewise_for(mturk, environment, tmp_path) as system:
        yield system


def campaign_id() -> UUID:
    with transaction() as session:
        return session.scalars(select(Campaign.id)).one()


def payment_states() -> list[str]:
    with transaction() as session:
        return list(session.scalars(select(Payment.state)))


def frame_of(page: Page) -> Frame:
    """The task's own page; a reload makes another frame of it."""
    handle = page.wait_for_selector("#task")
    frame = handle.content_frame() if handle else None
    assert frame is not None
    return frame


def person_in(page: Page) -> Person:
    # Frames have what a person with a mouse needs of a page.
    return Person(cast(Page, frame_of(page)), "mouse", lambda image: image % len(COLOURS))


errors: list[str] = []


@pytest.fixture(autouse=True)
def no_errors_on_the_page() -> Iterator[None]:
    errors.clear()
    yield
    assert errors == []


@pytest.mark.parametrize(("sandbox", "n_grids"), zip(SANDBOXES, (10, 2), strict=True))
def test_a_task_in_a_foreign_frame_from_preview_to_submitted(
    browser: Browser,
    web: System,
    mturk: Emulator,
    monkeypatch: pytest.MonkeyPatch,
    sandbox: str,
    n_grids: int,
) -> None:
    hit = recruited(n_grids, extra_grids=1, extra_cents=5)
    add_workers(mturk.state, NewWorkers(worker_id=WORKER))
    set_sandbox(monkeypatch, SANDBOXES[sandbox])
    context = browser.new_context(viewport={"width": 1100, "height": 760})
    base = web.environment["LIKEWISE_BASE_URL"]
    context.add_cookies([PROBE])
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{mturk.state.options.worker_site}/hits/{hit}?worker={WORKER}")
    look = frame_of(page)
    expect(look.get_by_test_id("preview-banner")).to_contain_text("Accept the task to begin")
    assert_locked(look)
    assert violations(cast(Page, look)) == []
    assert not [url for url in asked if "/api/" in url]
    assert rows() == {"annotator": 0, "assignment": 0, "answer": 0}

    page.get_by_role("button", name="Accept").click()
    frame_of(page).get_by_test_id("start").click()
    person = person_in(page)
    assert_without_cookies(page, base)
    first, *_ = person.images()
    person.press(person.tile(first))
    expect(person.page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved")
    page.reload()
    person = person_in(page)
    expect(person.tile(first)).to_have_attribute("aria-label", "Image 1, in Group 1", timeout=SLOW)
    person.press(person.tile(first))
    for n_done in range(n_grids):
        expect(person.page.get_by_test_id("progress")).to_have_text(
            f"{n_done} of {n_grids} done", timeout=SLOW
        )
        person.sort_grid()
        person.submit()
    do_one_more(person, n_grids)
    assert states() == [("completed", False)]

    hand_in = person.page.get_by_test_id("hand-in")
    assert violations(person.page) == []
    context.set_offline(True)
    hand_in.click()
    expect(person.page.get_by_text("No connection.")).to_be_visible()
    context.set_offline(False)
    expect(frame_of(page).get_by_text("Your work was submitted")).to_be_visible(timeout=SLOW)
    (assignment,) = mturk.state.assignments.values()
    assert (assignment.worker_id, assignment.state in ("Submitted", "Approved")) == (WORKER, True)
    assert states() == [("completed", True)]
    assert rows() == {"annotator": 1, "assignment": 1, "answer": n_grids + 1}
    context.close()

    owed: Paid = Counter(
        {
            (assignment.assignment_id, WORKER, "reward", REWARD): 1,
            (assignment.assignment_id, WORKER, "bonus", 5): 1,
        }
    )
    wait_until("the payments", lambda: paid_by_mturk(mturk.state) == owed)
    assert [assignment.state for assignment in mturk.state.assignments.values()] == ["Approved"]
    wait_until("the ledger to hear of it", lambda: payment_states() == ["paid", "paid"])
    assert paid_by_ledger(campaign_id()) == owed


def assert_locked(look: Frame) -> None:
    """Neither pointer nor keyboard does anything."""
    tile = look.locator(TILES).first
    expect(tile.locator("img")).to_be_visible(timeout=SLOW)
    before = look.locator(TILES).evaluate_all("all => all.map(one => one.ariaLabel)")
    tile.click(force=True)
    tile.press("1")
    look.locator("body").press("a")
    assert look.evaluate("document.activeElement === document.body")
    after = look.locator(TILES).evaluate_all("all => all.map(one => one.ariaLabel)")
    assert before == after
    assert all("not sorted" in label for label in after)


def assert_without_cookies(page: Page, base: str) -> None:
    """The probe is there on our own site, and nowhere in the frame."""
    seen = frame_of(page).evaluate(
        "() => { try { return document.cookie } catch { return 'refused' } }"
    )
    assert seen in ("", "refused")
    own = page.context.new_page()
    own.goto(f"{base}/sign-in")
    assert own.evaluate("document.cookie") == "probe=1"
    own.close()


def do_one_more(person: Person, n_grids: int) -> None:
    offer = person.page.get_by_test_id("more")
    expect(offer).to_contain_text(
        "There is one more set for you, for a bonus of $0.05.", timeout=SLOW
    )
    person.press(person.page.get_by_test_id("take-more"))
    expect(person.page.get_by_test_id("extra")).to_be_visible(timeout=SLOW)
    person.sort_grid()
    person.submit()
    expect(person.page.get_by_test_id("work-done")).to_contain_text(
        f"You completed {n_grids + 1} sets of images. One of your sets was extra: $0.05 bonus.",
        timeout=SLOW,
    )
    expect(offer).not_to_be_visible()


def test_who_may_not_go_on_is_told_why_and_work_waits_until_it_is_handed_in(
    browser: Browser, web: System, mturk: Emulator
) -> None:
    hit = recruited(approve="review")
    add_workers(mturk.state, NewWorkers(worker_id=WORKER))
    page, other = browser.new_page(), browser.new_page()
    page.goto(f"{mturk.state.options.worker_site}/hits/{hit}?worker={WORKER}")
    page.get_by_role("button", name="Accept").click()
    frame_of(page).get_by_test_id("start").click()
    person_in(page).images()
    address = frame_of(page).url

    other.goto(address.replace(hit, f"{hit}X"))
    expect(other.get_by_role("heading", name="This address doesn't match the task")).to_be_visible()
    # The same assignment for somebody else: not while the first is at work.
    other.goto(address.replace(WORKER, "A2OTHER"))
    expect(other.get_by_test_id("countdown")).to_contain_text("Trying again in")
    assert violations(other) == []
    work = page.url
    page.goto("about:blank")
    wait_until("the first is gone", lambda: seen() == [False])
    other.get_by_test_id("try-now").click()
    expect(other.get_by_test_id("start")).to_be_visible(timeout=SLOW)
    page.goto(work)
    expect(frame_of(page).get_by_test_id("countdown")).to_be_visible(timeout=SLOW)
    other.close()
    wait_until("the second is gone", lambda: not any(seen()))
    frame_of(page).get_by_test_id("try-now").click()
    # Resting on an image would show it large.
    page.mouse.move(0, 0)

    # Given back on MTurk, as far as is known here: what is sent is kept, and there is no more.
    person = person_in(page)
    person.images()
    set_state("returned")
    person.sort_grid()
    person.submit()
    expect(person.page.get_by_role("heading", name="This task was returned")).to_be_visible(
        timeout=SLOW
    )
    set_state("open")
    page.reload()
    person = person_in(page)
    expect(person.page.get_by_test_id("progress")).to_have_text("1 of 2 done", timeout=SLOW)
    person.sort_grid()
    person.submit()

    # MTurk does not take it: after a reload it can be handed in at once, and no grid is shown.
    mturk.state.faults.settings.refused_submissions = 1
    person.press(person.page.get_by_test_id("hand-in"))
    expect(frame_of(page).get_by_text("Your work was not submitted")).to_be_visible(timeout=SLOW)
    mturk.state.faults.settings.refused_submissions = 0
    page.reload()
    frame_of(page).get_by_test_id("hand-in").click()
    expect(frame_of(page).get_by_text("Your work was submitted")).to_be_visible(timeout=SLOW)
    assert [assignment.state for assignment in mturk.state.assignments.values()] == ["Submitted"]
    page.close()


def seen() -> list[bool]:
    with transaction() as session:
        return [at is not None for at in session.scalars(select(Assignment.seen_at))]


def set_state(state: str) -> None:
    """Of the first person's assignment."""
    with transaction() as session:
        first = select(Assignment.id).order_by(Assignment.id).limit(1).scalar_subquery()
        session.execute(update(Assignment).where(Assignment.id == first).values(state=state))
