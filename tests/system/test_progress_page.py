"""The progress of a campaign: what ends it asks first, and simulated answers are marked."""

import httpx
import pytest
from playwright.sync_api import Browser, Dialog, expect

from app.annotation.simulated import simulated_address
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.app.test_simulated import answer_all
from tests.support.axe import violations
from tests.system.test_dashboard import signed_in

pytestmark = pytest.mark.browser


def test_a_campaign_ends_only_when_its_requester_means_it(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=8, grids_per_assignment=2)
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        answer_all(client, simulated_address(campaign), "simulated-0-00001", 2)
    page = signed_in(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}")
    expect(page.get_by_test_id("simulated")).to_contain_text(
        "1 simulated annotator answered 2 grids."
    )
    expect(page.get_by_text("all simulated · 0 at work now")).to_be_visible()
    asked: list[str] = []

    def decline(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", decline)
    page.get_by_test_id("action-finish").click()
    assert asked[0].startswith("Finish this campaign? 6 of 8 answers will not be collected.")
    page.reload()
    expect(page.get_by_test_id("state")).to_have_text("running")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_test_id("action-finish").click()
    expect(page.get_by_test_id("state")).to_have_text("finished")
    expect(page.get_by_text("all simulated · the campaign has ended")).to_be_visible()
    assert violations(page) == []
    # One click takes it back.
    page.get_by_test_id("action-reopen").click()
    expect(page.get_by_test_id("state")).to_have_text("running")
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    expect(page.locator("td.state .badge")).to_have_text("simulated")
    page.context.close()
