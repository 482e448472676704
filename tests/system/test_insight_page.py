"""What a requester sees of attributes and annotators, and asking more about one attribute."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from tests.app.test_insight import INSIGHT, a_told_campaign
from tests.support.browser import chromium
from tests.support.builders import an_account, reloaded
from tests.support.system import System, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_the_requester_sees_what_people_see_and_asks_more_about_it(
    browser: Browser, system: System
) -> None:
    owner = an_account()
    campaign = a_told_campaign(owner)
    context = browser.new_context(viewport={"width": 400, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{system.base_url}/campaigns/{campaign.id}")

    attributes = page.get_by_role("region", name="What people see")
    expect(attributes.get_by_role("heading", level=4)).to_have_text(["=cmd() – blue", "huge"])
    expect(attributes).to_contain_text("60 % of the answers")
    expect(attributes.get_by_role("img")).to_have_count(20)
    loaded = "all => all.every(one => one.complete && one.naturalWidth > 0)"
    attributes.scroll_into_view_if_needed()
    wait_until("images", lambda: attributes.get_by_role("img").evaluate_all(loaded))

    annotators = page.get_by_role("region", name="Annotators")
    expect(annotators.locator("tbody tr")).to_have_count(len(INSIGHT["annotators"]))
    bar = annotators.get_by_role("img", name="70 % =cmd() – blue, 30 % huge").first
    widths = bar.locator("span").evaluate_all("all => all.map(one => one.offsetWidth)")
    assert widths[0] / sum(widths) == pytest.approx(0.7, abs=0.02), "the CSP forbids the bars"
    annotators.get_by_text("What the columns mean").click()
    expect(annotators.get_by_text("Cohen's kappa")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 400

    focus_on(page, "Ask more about this")
    expect(attributes.get_by_text("asked about next")).to_be_visible()
    assert reloaded(campaign.id).settings["focus"] == 0
    page.reload()
    expect(attributes.get_by_text("asked about next")).to_be_visible()
    focus_on(page, "Ask about all")
    expect(attributes.get_by_text("asked about next")).to_have_count(0)
    assert reloaded(campaign.id).settings["focus"] is None
    assert complaints == []
    context.close()


def focus_on(page: Page, button: str) -> None:
    with page.expect_response(re.compile("/focus$")) as reply:
        page.get_by_role("button", name=button).first.click()
    assert reply.value.status == 204
