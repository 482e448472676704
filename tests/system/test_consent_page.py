"""Consent in a real browser: who agrees has read the text that counts."""

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import select

from app.accounts.models import Account
from app.annotation.models import ConsentText
from app.campaigns.models import Campaign
from app.campaigns.service import set_annotation
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import link_of, no_errors_on_the_page, opened
from tests.support.person import OPEN, SLOW, TILES

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser


def change(campaign: Campaign, text: str) -> None:
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        set_annotation(session, owner, campaign.id, {"consent": text})


def texts() -> list[str]:
    with transaction() as session:
        return list(session.scalars(select(ConsentText.text).order_by(ConsentText.version)))


def test_a_text_that_changed_while_it_was_read_is_shown_again(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign(grid_size=6, annotation={"consent": "First words."})
    page = opened(browser, link_of(campaign, web))
    expect(page.get_by_test_id("consent")).to_have_text("First words.", timeout=SLOW)
    change(campaign, "Second words.")
    page.get_by_test_id("consent-agree").click()
    expect(page.get_by_test_id("consent")).to_have_text("Second words.", timeout=SLOW)
    expect(page.get_by_text("The text has changed. Please read it again.")).to_be_visible()
    assert texts() == []
    page.get_by_test_id("consent-agree").click()
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    assert texts() == ["Second words."]


def test_a_text_that_changes_during_the_work_is_asked_before_the_next_grid(
    browser: Browser, web: System
) -> None:
    campaign = a_campaign(
        kind="odd_one_out", grid_size=3, budget=20, annotation={"consent": "First words."}
    )
    page = opened(browser, link_of(campaign, web))
    page.get_by_test_id("consent-agree").click()
    page.get_by_test_id("start").click()
    tile = page.locator(f"{OPEN} {TILES}:not([aria-disabled])").first
    expect(tile).to_be_visible(timeout=SLOW)
    change(campaign, "Second words.")
    page.locator(TILES).first.click()
    expect(page.get_by_test_id("consent")).to_have_text("Second words.", timeout=SLOW)
    page.get_by_test_id("consent-agree").click()
    expect(page.get_by_test_id("progress")).to_contain_text("1 of", timeout=SLOW)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    assert texts() == ["First words.", "Second words."]
