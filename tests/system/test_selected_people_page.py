"""Several annotators at once in a browser: approved, paid a bonus and written to."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from emulators.mturk.server import Emulator
from emulators.mturk.server import running as running_emulator
from testbed.builders import an_account
from testbed.recruits import do_all_due, look, opened, payments, recruit
from testbed.system import System, running_system
from tests.support.axe import violations, violations_of_colours
from tests.support.mturk_recruiting import GRIDS, a_paying_campaign, paid_there, recruiting_on

pytestmark = pytest.mark.browser
SLOW = 30_000


@pytest.fixture
def turk(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    with running_emulator() as served, recruiting_on(served, monkeypatch) as emulator:
        yield emulator


@pytest.fixture
def owner(turk: Emulator) -> Account:
    return an_account()


@pytest.fixture
def campaign(client: TestClient, turk: Emulator, owner: Account) -> Campaign:
    """Two people wait for approval, and one has done half of the work."""
    campaign = a_paying_campaign(owner)
    opened(owner, campaign, settings={"approve": "review"}, spend_limit_cents=480)
    for grids in (GRIDS, GRIDS, GRIDS - 1):
        person = recruit(client, turk)
        person.enter()
        person.answer(grids)
        person.announce_and_submit()
    look()
    return campaign


@pytest.fixture
def web(
    environment: dict[str, str], turk: Emulator, campaign: Campaign, tmp_path: Path
) -> Iterator[System]:
    with running_system(environment, tmp_path, "web") as running:
        yield running


@pytest.fixture
def page(browser: Browser, web: System, owner: Account) -> Iterator[Page]:
    """Signed in; complains about errors in the page and the console."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(SLOW)
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
    for width, height in ((390, 844), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert violations(page) == []
        page.screenshot(path=picture.with_suffix(f".{width}.png"))
    page.emulate_media(color_scheme="dark")
    assert violations_of_colours(page) == []
    page.screenshot(path=picture.with_suffix(".dark.png"))
    page.emulate_media(color_scheme="light")


def test_people_are_selected_approved_paid_and_written_to(
    page: Page, web: System, turk: Emulator, campaign: Campaign, tmp_path: Path
) -> None:
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotators")
    bar = page.get_by_test_id("selection")
    expect(bar.get_by_role("button", name="Approve…")).to_be_disabled()
    expect(page.get_by_role("checkbox", name="Select annotator 2")).to_be_visible()
    page.get_by_role("checkbox", name="Select all 3 shown").check()
    expect(bar).to_contain_text("3 people selected")
    page.get_by_test_id("quality").scroll_into_view_if_needed()
    is_fine(page, tmp_path / "selection")
    approve(page, tmp_path)
    do_all_due()
    assert paid_there(turk, "reward") == Decimal("2.00")
    pay_a_bonus(page, tmp_path)
    assert [p.amount_cents for p in payments(campaign) if p.kind == "bonus"] == [50, 50]
    write(page)
    do_all_due()
    assert [letter["text"] for letter in turk.state.letters] == ["Thanks to both of you!"] * 2
    page.reload()
    messages = page.get_by_test_id("messages")
    messages.get_by_text("Messages sent (1)").click()
    expect(messages).to_contain_text("sent to 2 people")
    expect(messages).to_contain_text("Thanks to both of you!")
    messages.scroll_into_view_if_needed()
    is_fine(page, tmp_path / "messages")


def approve(page: Page, tmp_path: Path) -> None:
    page.get_by_test_id("selection").get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve work: 3 people selected")
    expect(dialog).to_contain_text("$2.40, including $0.40 in fees")
    expect(dialog).to_contain_text("Annotator 2: Their work needs a closer look.")
    is_fine(page, tmp_path / "approve")
    dialog.get_by_role("button", name="Approve 2 people").click()
    expect(page.get_by_text("The work of 2 people was approved.")).to_be_visible()


def pay_a_bonus(page: Page, tmp_path: Path) -> None:
    for number in (0, 1):
        page.get_by_role("checkbox", name=f"Select annotator {number}").check()
    page.get_by_test_id("selection").get_by_role("button", name="Bonus…").click()
    dialog = page.get_by_role("dialog", name="Pay a bonus: 2 people selected")
    dialog.get_by_label("What is the bonus for?").fill("Good work!")
    amount = dialog.get_by_label("Amount for each person")
    amount.fill("5")
    expect(dialog).to_contain_text("only 1.20 USD of the spending limit")
    amount.fill("0.50")
    expect(dialog).to_contain_text("$1.20, including $0.20 in fees")
    is_fine(page, tmp_path / "bonus")
    dialog.get_by_role("button", name="Pay 2 people").click()
    expect(page.get_by_text("2 people will be paid a bonus of $0.50 each.")).to_be_visible()


def write(page: Page) -> None:
    for number in (0, 1):
        page.get_by_role("checkbox", name=f"Select annotator {number}").check()
    page.get_by_test_id("selection").get_by_role("button", name="Message…").click()
    dialog = page.get_by_role("dialog", name="Send a message: 2 people selected")
    dialog.get_by_label("Message").fill("Thanks to both of you!")
    dialog.get_by_role("button", name="Send to 2 people").click()
    expect(page.get_by_text("The message is being sent to 2 people.")).to_be_visible()
