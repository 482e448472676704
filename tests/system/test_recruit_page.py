"""Recruiting in a browser, against the MTurk emulator: account, plan, dry run, open, decide."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sqlalchemy import update

from app.accounts.models import Account, BrowserSession
from app.accounts.passwords import hash_password
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Submission
from emulators.mturk.server import Emulator
from emulators.mturk.server import running as running_emulator
from likewise.embedded import free_port
from testbed.browser import chromium
from testbed.builders import a_campaign, an_account
from testbed.system import System, running_system, wait_until
from tests.conftest import forget_settings
from tests.emulators.support import Crowd
from tests.support.axe import violations

pytestmark = pytest.mark.browser
SLOW = 20_000
PASSWORD = "correct horse battery"
WHY = "No grid was sorted for this assignment."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    port = free_port()
    with running_emulator(port, worker_site=f"http://127.0.0.1:{port}") as running:
        yield running


@pytest.fixture
def system(
    environment: dict[str, str],
    emulator: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[System]:
    """Web server and dispatcher, which speaks to the emulator."""
    settings: dict[str, str] = {
        "LIKEWISE_MTURK_ENDPOINT": emulator.endpoint_url,
        "LIKEWISE_MTURK_WORKER_SITE": emulator.endpoint_url,
        "LIKEWISE_POLL_SECONDS": "1",
    }
    names = ("web", "dispatcher")
    with running_system(environment, tmp_path, *names, **settings) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        forget_settings()
        yield running


@pytest.fixture
def owner(environment: dict[str, str]) -> Account:
    return an_account()


@pytest.fixture
def page(browser: Browser, system: System, owner: Account) -> Iterator[Page]:
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
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()
    assert [complaint for complaint in complaints if "403" not in complaint] == []


def is_fine(page: Page) -> None:
    """On a phone and a desk, light and dark: nothing to scroll sideways, nothing that axe finds."""
    for width, scheme in ((390, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert violations(page) == []


def test_from_an_account_to_a_rejection_taken_back(
    page: Page, system: System, emulator: Emulator, owner: Account
) -> None:
    campaign = a_campaign(owner, budget=40, grids_per_assignment=4, reward_cents=120)
    add_and_check_an_account(page, system)
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/recruit")
    plan_and_try_out(page)
    real_money_is_confirmed_twice(page, emulator)
    open_for_real(page, emulator)
    hand_in_without_work(emulator)
    reject_and_take_back(page, owner)
    see_the_books(page, emulator, campaign)


def add_and_check_an_account(page: Page, system: System) -> None:
    page.goto(f"{system.base_url}/account/platforms")
    form = page.get_by_role("form", name="Add a Mechanical Turk account")
    form.get_by_label("Name").fill("Our own")
    form.get_by_label("Environment").select_option("custom")
    form.get_by_label("Access key ID").fill("emulator")
    form.get_by_label("Secret access key").fill("emulator-secret")
    form.get_by_role("button", name="Add account").click()
    page.get_by_role("button", name="Check now: Our own").click()
    expect(page.get_by_test_id("channel-account")).to_contain_text("10000.00 USD")
    assert "emulator-secret" not in page.content()


def plan_and_try_out(page: Page) -> None:
    """Forty answers, four grids each: ten people; two HITs keep the lower fee."""
    planner = page.get_by_test_id("planner")
    expect(planner.get_by_label(re.compile("^Places"))).to_have_value("10")
    expect(planner.get_by_label(re.compile("^Reward"))).to_have_value("1.20")
    planner.get_by_text("Pay and bonuses").click()
    planner.get_by_label(re.compile("^Bonus for good work")).fill("0.50")
    limit = planner.get_by_label(re.compile("^Spending limit"))
    expect(limit).to_have_value("20.40")
    is_fine(page)
    planner.get_by_role("button", name="Dry run").click()
    expect(planner).to_contain_text("Nothing has been published yet")
    expect(planner).to_contain_text("2 tasks (HITs) for 9 + 1 places")
    costs = planner.get_by_test_id("costs").get_by_role("cell").all_inner_texts()
    assert costs == ["$12.00", "$2.40", "$5.00", "$1.00", "$20.40"]
    is_fine(page)


def real_money_is_confirmed_twice(page: Page, emulator: Emulator) -> None:
    """The same dry run, as if it were of an account that spends real money."""

    def for_real(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, json={**reply.json(), "environment": "production"})

    page.route("**/dry-run", for_real)
    planner = page.get_by_test_id("planner")
    planner.get_by_role("button", name="Change the plan").click()
    planner.get_by_role("button", name="Dry run").click()
    planner.get_by_role("button", name="Publish for real…").click()
    dialog = page.get_by_role("dialog", name="This is real money")
    spend = dialog.get_by_role("button", name="Publish and spend up to $20.40")
    expect(spend).to_be_disabled()
    dialog.get_by_role("checkbox", name="Yes, spend up to $20.40 on Mechanical Turk.").check()
    expect(spend).to_be_enabled()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    assert emulator.state.hits == {}
    page.unroute("**/dry-run")
    planner.get_by_role("button", name="Change the plan").click()
    planner.get_by_role("button", name="Dry run").click()


def open_for_real(page: Page, emulator: Emulator) -> None:
    page.get_by_role("button", name="Publish for real", exact=True).click()
    card = page.get_by_test_id("recruitment")
    expect(card.get_by_test_id("recruitment-state")).to_have_text("open")
    wait_until("two HITs", lambda: len(emulator.state.hits) == 2)
    expect(card.get_by_test_id("places")).to_have_text("0 of 10 places taken")
    expect(card.get_by_test_id("money")).to_contain_text("$14.40 of at most $20.40")
    card.get_by_text("2 tasks (HITs)").click()
    expect(card.get_by_role("link", name="View on platform")).to_have_count(2)


def hand_in_without_work(emulator: Emulator) -> None:
    crowd = Crowd(emulator)
    worker = crowd.worker()
    hit = next(hit.hit_id for hit in emulator.state.hits.values())
    crowd.submit(crowd.accept(hit, worker))


def signed_in_long_ago(owner: Account) -> None:
    """With a password, and a fresh proof is asked for."""
    with transaction() as session:
        session.get_one(Account, owner.id).password_hash = hash_password(PASSWORD, owner.email)
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        session.execute(update(BrowserSession).values(confirmed_at=long_ago))


def confirm_that_it_is_me(page: Page) -> None:
    """A dialog asks; what was asked for is done afterwards, without another click."""
    dialog = page.get_by_role("dialog", name="Confirm that it is you")
    expect(dialog).to_be_visible()
    assert violations(page) == []
    dialog.get_by_label("Password").fill("a wrong one")
    dialog.get_by_role("button", name="Confirm").click()
    expect(dialog.get_by_role("alert")).to_contain_text("wrong")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Confirm").click()
    expect(dialog).to_be_hidden()


def reject_and_take_back(page: Page, owner: Account) -> None:
    listed = page.get_by_test_id("attention")
    expect(listed).to_contain_text("Submitted without any work here", timeout=SLOW)
    is_fine(page)
    listed.get_by_role("button", name=re.compile("^Reject…")).click()
    listed.get_by_role("button", name="Reject", exact=True).click()
    expect(listed.get_by_label("Why do you reject it?")).to_be_visible()  # Not without a reason.
    listed.get_by_label("Why do you reject it?").fill(WHY)
    listed.get_by_role("button", name="Reject", exact=True).click()
    expect(listed).to_contain_text("Notifying Mechanical Turk")
    rejections = page.get_by_test_id("rejections")
    expect(rejections).to_contain_text(f"“{WHY}”")
    signed_in_long_ago(owner)
    rejections.get_by_role("button", name="Reverse and pay $1.20").click(timeout=SLOW)
    confirm_that_it_is_me(page)
    expect(page.get_by_test_id("payments")).to_contain_text("paid", timeout=SLOW)
    expect(rejections).to_be_hidden(timeout=SLOW)


def see_the_books(page: Page, emulator: Emulator, campaign: Campaign) -> None:
    expect(page.get_by_test_id("totals")).to_contain_text("$1.44")
    expect(page.get_by_test_id("money").locator("dl")).to_contain_text("Paid $1.44")
    expect(page.get_by_test_id("books")).to_contain_text("The ledger and the platform agree as of")
    row = page.get_by_test_id("payments").locator("[data-payment]")
    expect(row).to_have_count(1)
    row.get_by_role("button", name=re.compile("^Show the history")).click()
    expect(page.get_by_test_id("payments")).to_contain_text("Paid.")
    is_fine(page)
    with transaction() as session:
        submission = session.query(Submission).one()
        assert (submission.state, submission.flag) == ("approved", "")
    totals = {kind: cents for kind, cents in Crowd(emulator).totals().items() if cents}
    assert totals == {"reward": Decimal("1.20"), "fee": Decimal("0.24")}
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    text = Path(download.value.path()).read_text()
    assert "1.20,0.24,USD,paid" in text
    assert str(campaign.id) not in text
