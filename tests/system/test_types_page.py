"""Types of annotators, on the page of annotators in Chromium."""

import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.system import System
from tests.app.test_annotator_types import a_campaign_of_two_types
from tests.support.axe import violations
from tests.support.person import SLOW

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_types_are_shown_and_compared(
    browser: Browser, web: System, width: int, tmp_path: Path
) -> None:
    from app.main import app

    with TestClient(app) as client:
        campaign = a_campaign_of_two_types(client)
    page = browser.new_page(viewport={"width": width, "height": 900})
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible(timeout=SLOW)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    part = page.get_by_test_id("types")
    summary = part.get_by_test_id("types-summary")
    expect(summary).to_contain_text("Types found: 2 (p = 0.001)", timeout=SLOW)
    part.get_by_role("button", name="Show maps").click()
    expect(part.get_by_role("img", name="Map of Type 1")).to_be_visible(timeout=SLOW)
    expect(part.get_by_role("img", name="Map of Type 2")).to_be_visible()
    expect(part.get_by_test_id("group-test")).to_contain_text("Types were derived")
    expect(part.get_by_test_id("group-differences")).to_contain_text("compared")
    assert violations(page) == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    where = Path(os.environ.get("LIKEWISE_LOOK", tmp_path))
    page.screenshot(path=where / f"types-{width}.png", full_page=True)
