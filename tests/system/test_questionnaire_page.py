"""Questionnaires in a browser: by keyboard alone, at phone size, and for who is screened out."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select, update

from app.annotation.models import Assignment, QuestionnaireReply
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Recruitment
from testbed.builders import a_campaign
from testbed.system import System
from tests.app.test_questionnaire import EASE, EYES, PETS, WHY
from tests.support.annotators_page import (
    link_of,
    no_errors_on_the_page,
    opened,
    visit,
)
from tests.support.person import OPEN, SLOW, TILES
from tests.support.questions import AGE

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PRESENT = f"{OPEN} {TILES}:not([aria-disabled])"
LABELLED = {**EASE, "low_label": "very hard", "high_label": "very easy"}


def a_questioned(**settings: Any) -> Campaign:
    return a_campaign(
        kind="odd_one_out", grid_size=3, budget=20, grids_per_assignment=2,
        annotation={
            "questions_before": [AGE, EYES, PETS], "questions_after": [LABELLED, WHY],
            "show_instructions": False, **settings,
        },
    )  # fmt: skip


def replies() -> list[dict[str, Any]]:
    query = select(QuestionnaireReply.answers).order_by(QuestionnaireReply.answered_at)
    with transaction() as session:
        return list(session.scalars(query))


def focused(page: Page) -> str:
    """The name of the field that has the focus."""
    return str(page.evaluate("document.activeElement.id || document.activeElement.name"))


def tab_to(page: Page, name: str) -> None:
    for _ in range(40):
        if focused(page) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {name}")


def press_send(page: Page) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.testid") == "questions-send":
            page.keyboard.press("Enter")
            return
    raise AssertionError("Tab does not reach the button")


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desk", "phone"])
def test_the_whole_way_to_the_code_by_keyboard(
    browser: Browser, web: System, size: dict[str, Any]
) -> None:
    page = opened(browser, link_of(a_questioned(consent="Words."), web), **size)
    page.get_by_test_id("consent-agree").press("Enter")
    expect(page.get_by_test_id("questions")).to_be_visible(timeout=SLOW)
    # Nothing is answered: the errors are listed, and the first field has the focus.
    press_send(page)
    expect(page.get_by_role("alert")).to_contain_text("3 answers need your attention")
    expect(page.locator("#q-age")).to_be_focused()
    expect(page.locator("#q-age")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#problem-age")).to_have_text("This question needs an answer.")
    page.keyboard.type("130")
    tab_to(page, "eyes")
    page.keyboard.press("Space")
    tab_to(page, "pets")
    page.keyboard.press("Space")
    press_send(page)
    expect(page.locator("#problem-age")).to_have_text("Enter at most 120.")
    expect(page.locator("#q-age")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("30")
    # What was answered is there after a reload.
    page.reload()
    expect(page.locator("#q-age")).to_have_value("30", timeout=SLOW)
    expect(page.get_by_label("cat")).to_be_checked()
    width = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(width)
    tab_to(page, "q-age")
    page.keyboard.press("Enter")
    for done in range(2):
        expect(page.get_by_test_id("progress")).to_contain_text(f"{done} of 2", timeout=SLOW)
        expect(page.locator(f"{PRESENT} img").first).to_be_visible(timeout=SLOW)
        page.keyboard.press("1")
    expect(page.get_by_role("heading", name="A few last questions")).to_be_visible(timeout=SLOW)
    assert page.get_by_test_id("completion-code").count() == 0
    # The code is not there after a reload either.
    page.reload()
    expect(page.get_by_role("heading", name="A few last questions")).to_be_visible(timeout=SLOW)
    assert page.evaluate(width)
    tab_to(page, "ease")
    page.keyboard.press("Space")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_label("7 (very easy)")).to_be_checked()
    press_send(page)
    expect(page.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    assert replies() == [{"age": 30, "eyes": "yes", "pets": ["cat"]}, {"ease": 7}]


def test_who_is_screened_out_sees_the_thanks_and_frees_the_place(
    browser: Browser, web: System
) -> None:
    campaign = a_questioned(questions_before=[AGE], screen_out_text="Thanks for **coming**.")
    with transaction() as session:
        session.execute(update(Recruitment).values(places=1))
    page = opened(browser, link_of(campaign, web), **PHONE)
    page.locator("#q-age").fill("17")
    page.get_by_test_id("questions-send").click()
    expect(page.get_by_test_id("screened-out")).to_have_text("Thanks for coming.", timeout=SLOW)
    assert "age" not in page.locator("main, body").first.inner_text().lower().split()
    # Neither by a reload, nor in another tab.
    page.reload()
    expect(page.get_by_test_id("screened-out")).to_be_visible(timeout=SLOW)
    again = visit(page.context, link_of(campaign, web))
    expect(again.get_by_test_id("screened-out")).to_be_visible(timeout=SLOW)
    assert again.get_by_test_id("questions").count() == 0
    # While that page is still open, the next person has the place.
    other = opened(browser, link_of(campaign, web), **PHONE)
    other.locator("#q-age").fill("18")
    other.get_by_test_id("questions-send").click()
    expect(other.locator(f"{PRESENT} img").first).to_be_visible(timeout=SLOW)
    with transaction() as session:
        states = session.scalars(select(Assignment.state).order_by(Assignment.created_at)).all()
    assert states == ["screened_out", "open"]


@pytest.mark.parametrize(("language", "digits"), [("ar", "٣٠"), ("de", "30")])
def test_other_languages_and_their_digits(
    browser: Browser, web: System, language: str, digits: str, tmp_path: Path
) -> None:
    campaign = a_questioned(language=language)
    page = opened(browser, link_of(campaign, web), **PHONE)
    expect(page.locator("html")).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    page.locator("#q-age").fill(digits)
    page.get_by_label("not sure").check()
    page.get_by_label("eel").check()
    page.screenshot(path=tmp_path / "questions.png", full_page=True)
    page.get_by_test_id("questions-send").click()
    expect(page.locator(f"{PRESENT} img").first).to_be_visible(timeout=SLOW)
    assert replies() == [{"age": 30, "eyes": "not sure", "pets": ["eel"]}]


def test_questions_that_changed_while_they_were_answered_are_shown_again(
    browser: Browser, web: System
) -> None:
    campaign = a_questioned(questions_before=[AGE])
    page = opened(browser, link_of(campaign, web))
    page.locator("#q-age").fill("30")
    with transaction() as session:
        row = session.get_one(Campaign, campaign.id)
        row.annotation = {**row.annotation, "questions_before": [{**AGE, "title": "Your age?"}]}
    page.get_by_test_id("questions-send").click()
    expect(page.get_by_text("The questions have changed.")).to_be_visible(timeout=SLOW)
    expect(page.get_by_label("Your age?")).to_have_value("30")
    assert replies() == []
