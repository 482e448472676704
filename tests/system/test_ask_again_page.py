"""Leaving an annotator out in a browser: what it costs, with and without asking again, and what was
asked again."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, reloaded
from testbed.system import System
from tests.app.test_rounds import learned
from tests.support.axe import violations, violations_of_colours
from tests.support.people import a_person

pytestmark = pytest.mark.browser
N = 12


@pytest.fixture
def owner(web: System) -> Account:
    return an_account()


@pytest.fixture
def page(browser: Browser, web: System, owner: Account) -> Iterator[Page]:
    """Signed in; complains about errors in the page and the console."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()
    assert complaints == []


def is_fine(page: Page, picture: Path) -> None:
    """Nothing is wider than a desk or a phone, and axe finds nothing, by light and in the dark."""
    for width, height in ((390, 844), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert violations(page) == []
        page.screenshot(path=picture.with_suffix(f".{width}.png"))
    page.emulate_media(color_scheme="dark")
    assert violations_of_colours(page) == []
    page.emulate_media(color_scheme="light")


def a_finished_campaign(web: System, owner: Account) -> Campaign:
    """A quarter of the answers are by annotator 1."""
    campaign = a_campaign(owner, budget=N, rounds=1, reward_cents=60, grids_per_assignment=N)
    with httpx.Client(base_url=web.base_url, timeout=60) as http:
        for key, n in (("the-honest-00001", N - 3), ("the-spammer-0001", 3)):
            person = a_person(http, campaign, key)
            for _ in range(n):
                person.submit(person.lease()).raise_for_status()
    learned(campaign, 1)
    assert reloaded(campaign.id).state == "finished"
    return campaign


def test_what_asking_again_costs_is_shown_before_and_marked_after(
    page: Page, web: System, owner: Account, tmp_path: Path
) -> None:
    campaign = a_finished_campaign(web, owner)
    root = f"{web.base_url}/campaigns/{campaign.id}"
    page.goto(f"{root}/annotators")
    decide = page.get_by_role("button", name="Decide about annotator 1")
    decide.click()
    dialog = page.get_by_role("dialog", name="Decide about annotator 1")
    expect(dialog.get_by_test_id("ask-again")).to_have_count(0)
    dialog.get_by_role("radio", name=re.compile("^Leave out")).check()
    box = dialog.get_by_role("checkbox", name="Ask others for these answers again")
    expect(box).to_be_checked()
    costs = dialog.get_by_test_id("ask-again")
    expect(costs).to_contain_text("3 answers will be asked again: about $0.60 more, with fees.")
    expect(costs).to_contain_text("It runs again for these answers only.")
    is_fine(page, tmp_path / "dialog")
    # First without it.
    box.uncheck()
    expect(costs).to_contain_text("Nobody is asked again")
    dialog.get_by_label("Why?").fill("Random answers")
    dialog.get_by_role("button", name="Save decision").click()
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="Random answers")
    expect(row).to_contain_text("left out")
    assert reloaded(campaign.id).state == "finished"
    # And later with it.
    decide.click()
    dialog.get_by_role("radio", name=re.compile("^Ask again")).check()
    expect(costs).to_contain_text("3 answers will be asked again")
    dialog.get_by_label("Why?").fill("Once more")
    dialog.get_by_role("button", name="Save decision").click()
    expect(dialog).to_be_hidden()
    row = page.get_by_role("row").filter(has_text="Once more")
    expect(row).to_contain_text("3 answers asked again, 3 still open")
    is_fine(page, tmp_path / "annotators")
    now = reloaded(campaign.id)
    assert (now.state, now.n_answers, now.n_reopened) == ("running", N - 3, 3)
    page.goto(root)
    expect(page.get_by_test_id("asked-again")).to_have_text("(3 answers asked again, 3 still open)")
    expect(page.get_by_test_id("rounds")).to_contain_text("asked again in part")
    is_fine(page, tmp_path / "progress")
