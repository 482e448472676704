"""Links in Chromium: made by a requester, opened by annotators."""

import csv

import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.support.axe import violations
from tests.support.person import SLOW, Person

pytestmark = pytest.mark.browser


def requester(browser: Browser, web: System) -> tuple[Page, Campaign]:
    """At the page of recruiting of a campaign with two grids an assignment."""
    owner = an_account()
    campaign = a_campaign(
        owner, grids_per_assignment=2, reward_cents=150, annotation={"descriptions": "none"}
    )
    page = browser.new_page()
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/recruit")
    return page, campaign


def annotator(browser: Browser, address: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(address)
    return page


def do_grids(page: Page, n: int) -> None:
    person = Person(page, "mouse", lambda image: image % 2)
    for _ in range(n):
        person.sort_grid()
        before = page.locator("[data-image]").first.get_attribute("data-image")
        person.submit()
        expect(page.locator(f"[data-image='{before}']")).to_have_count(0, timeout=SLOW)


def test_a_password_and_a_list_let_in_whom_they_should(browser: Browser, web: System) -> None:
    page, _ = requester(browser, web)
    part = page.get_by_test_id("links")
    expect(part.get_by_test_id("link")).to_have_count(1)
    page.get_by_role("button", name="New link").click()
    page.get_by_label("Name").fill("Class of Tuesday")
    page.get_by_label("Anyone with the link and a password").check()
    page.get_by_label("Password", exact=False).last.fill("open sesame")
    page.get_by_role("button", name="Create link").click()
    card = part.get_by_test_id("link").nth(1)
    address = card.get_by_label("Address of Class of Tuesday").input_value()

    guest = annotator(browser, address)
    guest.get_by_test_id("link-password").fill("open barley")
    guest.get_by_role("button", name="Continue").click()
    expect(guest.get_by_role("alert")).to_contain_text("password is not correct")
    assert violations(guest) == []
    guest.get_by_test_id("link-password").fill("open sesame")
    guest.keyboard.press("Enter")
    guest.get_by_test_id("start").click()
    do_grids(guest, 2)
    expect(guest.get_by_test_id("completion-code")).to_be_visible()
    expect(guest.get_by_text("$1.50")).to_be_visible()
    code = guest.get_by_test_id("completion-code").inner_text()
    expect(card.get_by_test_id("link-work")).to_contain_text("1 assignment finished", timeout=SLOW)

    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_test_id("link-state")).to_have_text("stopped")
    late = annotator(browser, address)
    late.get_by_test_id("link-password").fill("open sesame")
    late.keyboard.press("Enter")
    expect(late.get_by_role("heading", name="The study is not taking new people")).to_be_visible()

    owed = page.get_by_test_id("owed")
    expect(owed).to_contain_text(code)
    owed.get_by_label("Select all").check()
    owed.get_by_role("button", name="Mark $1.50 as paid").click()
    expect(owed).to_contain_text("Nothing to pay")

    page.get_by_role("button", name="New link").click()
    page.get_by_label("Name").fill("Panel")
    page.get_by_label("People on a list").check()
    page.get_by_role("button", name="Create link").click()
    panel = part.get_by_test_id("link").nth(2)
    panel.get_by_role("button", name="Addresses").click()
    panel.get_by_test_id("people").fill("person\nAda\nBob\nada")
    panel.get_by_role("button", name="Create addresses").click()
    expect(panel.get_by_test_id("bad-lines")).to_contain_text("“ada”: is in the list twice")
    with page.expect_download() as download:
        panel.get_by_role("link", name="Download as CSV").click()
    with download.value.path().open(newline="") as file:
        addresses = {row["person"]: row["address"] for row in csv.DictReader(file)}
    assert list(addresses) == ["Ada", "Bob"]
    panel.get_by_role("button", name="Close").click()

    office, home = (annotator(browser, addresses["Ada"]) for _ in range(2))
    office.get_by_test_id("start").click()
    do_grids(office, 1)
    home.reload()
    expect(home.get_by_test_id("progress")).to_contain_text("1 of 2", timeout=SLOW)
    page.once("dialog", lambda dialog: dialog.accept())
    panel.get_by_role("button", name="Revoke the address of Ada").click()
    expect(panel.get_by_text("revoked")).to_be_visible()
    home.reload()
    expect(home.get_by_role("heading", name="This link was withdrawn")).to_be_visible()
    assert violations(home) == []
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
