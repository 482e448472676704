"""The editor of questions in Chromium: on the page of settings and in the wizard."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, reloaded
from testbed.system import System, wait_until
from tests.support.axe import violations
from tests.support.person import SLOW
from tests.support.poisoned import a_draft
from tests.support.questions import AGE

pytestmark = pytest.mark.browser


def requester(browser: Browser, web: System, width: int = 1280) -> tuple[Page, Campaign]:
    owner = an_account()
    campaign = a_campaign(owner, annotation={"questions_before": [AGE]})
    page = browser.new_page(viewport={"width": width, "height": 900})
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    expect(page.get_by_text("Questions before the grids").first).to_be_visible(timeout=SLOW)
    return page, campaign


def questions(campaign: Campaign, place: str = "before") -> list[dict[str, Any]]:
    stored: list[dict[str, Any]] = reloaded(campaign.id).annotation[f"questions_{place}"]
    return stored


def look(page: Page, name: str, folder: Path) -> None:
    where = Path(os.environ.get("LIKEWISE_LOOK", folder))
    page.screenshot(path=where / f"{name}.png", full_page=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_questions_are_added_ordered_and_deleted_by_keyboard(
    browser: Browser, web: System, width: int, tmp_path: Path
) -> None:
    page, campaign = requester(browser, web, width)
    before = page.get_by_role("region", name="Questions before the grids")
    before.get_by_label("Type of the new question").select_option("choice")
    before.get_by_role("button", name="Add a question").press("Enter")
    # The new question has the focus, says what it lacks, and gets its key from its title.
    expect(before.get_by_text("Write the question.")).to_be_visible()
    page.keyboard.type("Do you see colours?")
    page.keyboard.press("Tab")
    second = before.get_by_role("listitem", name="Question 2")
    expect(second.get_by_label("Key")).to_have_value("do_you_see_colours")
    second.get_by_role("textbox", name="Choices").fill("yes\nno\nnot sure")
    second.get_by_role("textbox", name="Choices").press("Tab")
    second.get_by_role("group", name="Screen out who chooses").get_by_label("no", exact=True).press(
        "Space"
    )
    second.get_by_role("button", name="Move question 2 up").press("Enter")
    expect(before.get_by_text("Question 2 is now question 1 of 2.")).to_be_attached()
    expect(before.get_by_role("button", name="Move question 1 up")).to_be_focused()
    after = page.get_by_role("region", name="Questions after the grids")
    after.get_by_label("Type of the new question").select_option("likert")
    after.get_by_role("button", name="Add a question").press("Enter")
    page.keyboard.type("How easy was it?")
    page.keyboard.press("Tab")
    assert violations(page) == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    look(page, f"editor-{width}", tmp_path)
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url(f"{web.base_url}/campaigns/{campaign.id}")
    asked = questions(campaign)
    assert [question["key"] for question in asked] == ["do_you_see_colours", "age"]
    assert asked[0]["screen_out"] == ["no"]
    assert asked[1]["screen_out_below"] == 18
    assert [question["key"] for question in questions(campaign, "after")] == ["how_easy_was_it"]
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    before.get_by_role("button", name="Delete question 1").press("Enter")
    expect(before.get_by_role("button", name="Delete question 1")).to_be_focused()
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url(f"{web.base_url}/campaigns/{campaign.id}")
    assert [question["key"] for question in questions(campaign)] == ["age"]


def test_what_the_server_refuses_is_shown_again_as_it_was_entered(
    browser: Browser, web: System
) -> None:
    page, campaign = requester(browser, web)
    before = page.get_by_role("region", name="Questions before the grids")
    before.get_by_label("Minimum").fill("130")
    expect(before.get_by_text("The minimum is above the maximum.")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the minimum 130 is above the maximum 120")
    expect(before.get_by_label("Minimum")).to_have_value("130", timeout=SLOW)
    assert questions(campaign)[0]["min"] == 0


def test_the_wizard_saves_questions_once_they_are_whole(browser: Browser, web: System) -> None:
    page, campaign = requester(browser, web)
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
    draft = a_draft(owner, campaign)
    page.goto(f"{web.base_url}/campaigns/{draft.id}/edit#quality")
    page.get_by_text("Questions before and after the grids").click(timeout=SLOW)
    before = page.get_by_role("region", name="Questions before the grids")
    before.get_by_label("Type of the new question").select_option("number")
    before.get_by_role("button", name="Add a question").click()
    expect(page.get_by_text("These questions are saved once nothing is missing.")).to_be_visible()
    page.keyboard.type("Your age?")
    page.keyboard.press("Tab")
    before.get_by_label("Screen out below").last.fill("18")
    wait_until(
        "the new question",
        lambda: [question.get("screen_out_below") for question in questions(draft)] == [None, 18],
    )
    assert [question["key"] for question in questions(draft)] == ["words", "your_age"]
    # What cannot be saved stops the way on, and has the focus.
    step = page.get_by_role("heading", name="Step 4 of 6: Quality")
    before.get_by_label("Minimum").last.fill("9")
    before.get_by_label("Maximum").last.fill("3")
    page.get_by_role("button", name="Next: Budget").click()
    expect(before.get_by_test_id("question-title").last).to_be_focused()
    expect(step).to_be_attached()
    before.get_by_label("Maximum").last.fill("120")
    page.get_by_role("button", name="Next: Budget").click()
    expect(page.get_by_role("heading", name="Step 5 of 6: Budget")).to_be_attached()
