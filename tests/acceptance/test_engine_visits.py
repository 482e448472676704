"""What happens around the images of a task, in three browsers: questions before an answer, words,
languages, pictures that do not come, sending, codes, and storage that hangs.

More of Chromium is in tests/system: test_pace_page.py, test_grid_room.py, test_languages_page.py,
test_pictures_page.py, test_sending.py, test_annotators_end.py and test_hanging_storage.py.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.campaigns.models import Grid
from app.core.database import transaction
from testbed.system import System, wait_until
from tests.app.test_translations import ARABIC, GERMAN, a_translated_campaign
from tests.support.annotators_page import link_of, stored
from tests.support.engine_fixtures import engine, page
from tests.support.engine_tools import lacks_of_locales
from tests.support.engines import ENGINES
from tests.support.fault_proxy import proxied
from tests.support.hands import type_text
from tests.support.scale import FULL
from tests.support.work_page import AT_ONCE, TILES, WorkPage, answered, link

__all__ = ["engine", "page"]
pytestmark = pytest.mark.skipif(not FULL, reason="run by make acceptance (LIKEWISE_FULL_TESTS=1)")
SMALL = {"grid_size": 6, "budget": 8}
CODE = re.compile(r"[A-Z2-9]{4}-[A-Z2-9]{4}")
NARROW = (600, 900)
# A request to delete what is open waits, and a tab that opens it after that waits, too.
HANG = """
const opening = indexedDB.open("likewise");
opening.onsuccess = () => indexedDB.deleteDatabase("likewise");
"""
FIELD = "data:text/html,<input autofocus aria-label=Paste>"


def sort_all(page: WorkPage) -> None:
    """Two images after the other into a group of their own, by strokes."""
    for group in range(len(page.groups()) // 2):
        page.click(f"button[data-group='{group}']")
        page.stroke(2 * group, 2 * group + 1)
        page.hands.up()
    page.until("all", [1, 1, 2, 2, 3, 3], page.groups)


# --- before an answer is sent -------------------------------------------------------------------


def test_a_quick_answer_is_asked_about_once(page: WorkPage, web: System) -> None:
    page.open(link(web, **SMALL, annotation={"quick_pause": 10}))
    sort_all(page)
    page.click_test_id("submit")
    page.until("the question", True, lambda: "quick" in page.said("quick"))
    assert page.has_focus("[data-testid='quick-back']")
    assert stored() == []
    page.hands.press("Enter")
    page.until("no question", 0, lambda: page.count("[data-testid='quick']"))
    page.until("an image", True, lambda: page.focused_tile() >= 0)
    page.click_test_id("submit")
    (answer,) = answered()
    assert [event[2] for event in answer.trace if event[1] == "q"] == [0, 1]
    assert answer.groups == [0, 0, 1, 1, 2, 2]


def test_missing_words_are_asked_for_one_group_at_a_time(page: WorkPage, web: System) -> None:
    page.open(link(web, **SMALL, annotation={"descriptions": "required"}), NARROW)
    sort_all(page)
    page.click_test_id("submit")
    for group, word in enumerate(("red ones", "green", "blue")):
        await_field(page, group)
        assert page.count("[data-description]") == 1
        lit = [k for k in range(6) if page.one(TILES, "!one.classList.contains('faded')", k)]
        assert lit == [2 * group, 2 * group + 1]
        type_text(page.hands, word)
        page.click_test_id("submit") if group == 1 else page.hands.press("Enter")
    (answer,) = answered()
    assert answer.descriptions[:3] == ["red ones", "green", "blue"]


def await_field(page: WorkPage, group: int) -> None:
    question = f"{group + 1} Group {group + 1} of 3: what do they share?"
    page.until("the question", question, lambda: page.text(".ask label"))
    page.until("the field", True, lambda: page.has_focus(f"[data-description='{group}']"))


# --- languages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("language", "submit"), [("de", "Abschicken"), ("ar", "إرسال")])
def test_the_page_speaks_the_browsers_language(
    web: System, name: str, language: str, submit: str, tmp_path: Path
) -> None:
    opened, lacks = ENGINES[name]
    problem = lacks() or (lacks_of_locales() if name == "webkit" else "")
    if problem:
        pytest.skip(f"{name} cannot be driven in another language: {problem}")
    texts = {"de": GERMAN, "ar": ARABIC}
    campaign = a_translated_campaign(
        annotation={**AT_ONCE, "text_language": "en", "translations": texts}
    )
    with opened(tmp_path, language) as engine:
        page = WorkPage(engine)
        page.open(link_of(campaign, web))
        assert page.said("submit") == submit
        assert_written(page, "html", language)
        assert page.text("header h1") == texts[language]["question"]
        assert_written(page, "header h1", language)
        is_mirrored = page.tile(0)[0] > page.tile(1)[0]
        assert is_mirrored == (language == "ar")
        page.look(f"language-{language}", tmp_path)
        # Arrows lead where they point to.
        page.tab_to(f"{TILES}[tabindex='0']")
        page.hands.press("ArrowLeft" if is_mirrored else "ArrowRight")
        assert page.focused_tile() == 1
        page.hands.press("2", "r")
        page.click_test_id("submit")
        (answer,) = answered()
    device = answer.device or {}
    assert (device["language"], device["question_language"]) == (language, language)


def test_another_language_is_chosen_in_the_menu(page: WorkPage, web: System) -> None:
    campaign = a_translated_campaign(
        annotation={**AT_ONCE, "text_language": "en", "translations": {"ar": ARABIC}}
    )
    page.open(link_of(campaign, web))
    assert_written(page, "header h1", "en")
    page.click("[aria-label='More']")
    page.until("the menu", 1, lambda: page.count("dialog select"))
    page.tab_to("dialog select")
    # The first one; Arabic is before English.
    page.hands.press("Home", "Enter")
    page.until("Arabic", ARABIC["question"], lambda: page.text("header h1"))
    page.await_pictures()
    assert_written(page, "html", "ar")
    assert_written(page, "header h1", "ar")
    assert page.tile(0)[0] > page.tile(1)[0]


def assert_written(page: WorkPage, css: str, language: str) -> None:
    direction = "rtl" if language == "ar" else "ltr"
    assert page.one(css, "[one.lang, one.dir, getComputedStyle(one).direction]") == [
        language, direction, direction,
    ]  # fmt: skip


# --- pictures that do not come, and answers on their way ----------------------------------------


def test_pictures_that_never_come_are_waited_for_and_end_up_unseen(
    page: WorkPage, web: System
) -> None:
    address = link(web, **SMALL)
    with proxied(web.port) as network:
        network.refuse(b"/images/", b"/media/")
        page.engine.resize(1366, 768)
        page.engine.open(address.replace(web.base_url, f"http://127.0.0.1:{network.port}"))
        page.click_test_id("submit")
        page.until("to wait", "Pictures are still loading…", lambda: page.text(".pictures"))
        assert stored() == []
        page.until(
            "three failures", True, lambda: "6 pictures can't be loaded" in page.text(".pictures")
        )
        page.click_test_id("submit")
        wait_until("an alert", lambda: "can't be loaded" in page.text("[role='alert']"))
        page.click_test_id("submit-leftovers")
        (answer,) = answered()
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    assert sorted(answer.unseen) == sorted(images)
    assert answer.groups == [-1] * 6


def test_sending_is_announced_and_the_focus_stays(page: WorkPage, web: System) -> None:
    page.open(link(web, grid_size=6, name="Shapes", budget=9, grids_per_assignment=3))
    title = "return document.title"
    assert page.engine.run(title) == "Set 1 of 3 – Shapes"
    sort_all(page)
    with held(web):
        page.tab_to("[data-testid='submit']")
        page.hands.press("Enter")
        page.until("to be sent", "Sending…", lambda: page.said("submit"))
        assert page.has_focus("[data-testid='submit']")
        assert page.one("[data-testid='submit']", "one.closest('[inert]') === null")
        assert stored() == []
    page.until("the next set", "Set 1 sent. Set 2 of 3.", lambda: page.said("position"))
    assert page.engine.run(title) == "Set 2 of 3 – Shapes"
    page.await_pictures()
    assert page.has_focus(".content")
    page.hands.press("Tab")
    page.until("the first image", 0, page.focused_tile)
    answered()


@contextmanager
def held(web: System) -> Iterator[None]:
    """The web server neither answers nor hangs up."""
    group = web.processes["web"].pid
    os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


# --- the end, and storage -----------------------------------------------------------------------


def test_codes_are_copied_and_all_of_them_listed(page: WorkPage, web: System) -> None:
    page.open(link(web, **SMALL, grids_per_assignment=1))
    codes = []
    for n_done in (1, 2):
        sort_all(page)
        page.click_test_id("submit")
        page.until("a code", True, lambda: bool(CODE.fullmatch(page.said("completion-code"))))
        codes.append(page.said("completion-code"))
        answered(n_done)
        if n_done == 1:
            page.click_test_id("do-more")
            page.await_pictures()
    assert codes[0] != codes[1]
    page.until("the earlier one", True, lambda: codes[0] in page.said("earlier-codes"))
    copy = "[data-testid='completion-code'] + button"
    page.click(copy)
    page.until("copied", f"Copied: {codes[1]}", lambda: page.one(copy, "one.ariaLabel"))
    page.engine.reload()
    page.until("the same one", codes[1], lambda: page.said("completion-code"))
    page.until("the earlier one", True, lambda: codes[0] in page.said("earlier-codes"))
    page.engine.open(FIELD)
    page.click("input")
    page.hands.press("Control+v")
    page.until("what was copied", codes[1], lambda: page.one("input", "one.value"))


def test_storage_that_hangs_stops_nobody(page: WorkPage, web: System) -> None:
    address = link(web, **SMALL)
    page.engine.window_next_to_it(f"{web.base_url}/a/nothing", HANG)
    page.open(address)
    opens = """
        if (!window.opened) {
            window.opened = "no";
            indexedDB.open("likewise").onsuccess = () => { window.opened = "yes"; };
        }
        return window.opened;
    """
    assert page.engine.run(opens) == "no"
    page.stroke(0, 1)
    page.hands.up()
    page.until("two", [1, 1, 0, 0, 0, 0], page.groups)
    page.engine.reload()
    page.await_pictures()
    page.until("the same two", [1, 1, 0, 0, 0, 0], page.groups)
    assert page.engine.run(opens) == "no"
    sort_all(page)
    page.click_test_id("submit")
    (answer,) = answered()
    assert answer.groups == [0, 0, 1, 1, 2, 2]
