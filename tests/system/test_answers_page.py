"""What people answered, on the page of annotators in Chromium."""

import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.system import System
from tests.app.test_answer_groups import a_divided_campaign
from tests.support.axe import violations
from tests.support.person import SLOW

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_answers_are_counted_and_two_groups_are_compared(
    browser: Browser, web: System, width: int, tmp_path: Path
) -> None:
    from app.main import app

    with TestClient(app) as client:
        campaign = a_divided_campaign(client)
    page = browser.new_page(viewport={"width": width, "height": 900})
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible(timeout=SLOW)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    part = page.get_by_test_id("answers")
    taste = part.get_by_role("region", name="Answers to What counts?")
    expect(taste.get_by_role("row", name="odd 4 50 % 4")).to_be_visible(timeout=SLOW)
    part.get_by_label("Compare by").select_option(label="What counts?")
    part.get_by_label("With people who answered").select_option("half")
    part.get_by_role("button", name="Compare").press("Enter")
    expect(part.get_by_test_id("differences-summary")).to_contain_text("15 compared")
    first = part.get_by_test_id("differences").get_by_role("row").nth(1)
    expect(first).to_contain_text("4 of 4 (100 %)")
    expect(first).to_contain_text("0 of 4 (0 %)")
    expect(first.locator("img")).to_have_count(2)
    assert violations(page) == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    where = Path(os.environ.get("LIKEWISE_LOOK", tmp_path))
    page.screenshot(path=where / f"answers-{width}.png", full_page=True)
