"""The annotators' page for people from Prolific, from its emulator and back to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from app.core.database import transaction
from app.recruitment.service import RecruitmentPlan, open_recruitment, plan_recruitment
from emulators.prolific.server import Emulator, running
from testbed.browser import KEPT, chromium
from testbed.builders import COLOURS, a_campaign, an_account
from testbed.recruits import an_account_on, do_all_due
from testbed.system import System, running_system
from tests.conftest import forget_settings
from tests.support.axe import violations
from tests.support.person import SLOW, Person

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running_browser:
        yield running_browser


@pytest.fixture
def prolific() -> Iterator[Emulator]:
    with running(submitted_seconds=0.0) as emulator:
        yield emulator
        assert emulator.state.violations == []


@pytest.fixture
def web(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prolific: Emulator,
) -> Iterator[System]:
    settings = {
        "LIKEWISE_PROLIFIC_ENDPOINT": prolific.url,
        "LIKEWISE_PROLIFIC_SITE": prolific.url,
    }
    with running_system(environment, tmp_path, "web", **settings) as system:
        for name, value in system.environment.items():
            monkeypatch.setenv(name, value)
        forget_settings()
        yield system


def recruit(prolific: Emulator) -> None:
    """A study for a campaign of one grid an assignment, after consent."""
    owner = an_account()
    annotation = {"descriptions": "none", "consent": "You sort pictures."}
    campaign = a_campaign(
        owner, grids_per_assignment=1, reward_cents=300, currency="GBP", annotation=annotation
    )
    account = an_account_on(owner, "prolific", {"token": prolific.token})
    plan = RecruitmentPlan("prolific", 3, account.id)
    with transaction() as session:
        open_recruitment(session, owner, plan_recruitment(session, owner, campaign.id, plan).id)
    do_all_due()


def take_part(page: Page, prolific: Emulator, number: int) -> str:
    """As one of Prolific's people, from its list of studies to our page; its address."""
    page.goto(prolific.url)
    page.get_by_label("You are").select_option(index=number)
    page.get_by_role("button", name="Switch").click()
    page.get_by_role("link", name="Which of these images belong together?").click()
    with page.expect_request("**/a/prolific/**") as sent:
        page.get_by_role("button", name="Take part").click()
    return sent.value.url


def test_people_of_prolific_come_and_go_back(
    browser: Browser, web: System, prolific: Emulator
) -> None:
    recruit(prolific)
    page = browser.new_page()
    address = take_part(page, prolific, 1)
    page.get_by_test_id("consent-agree").click()
    page.get_by_test_id("start").click()
    person = Person(page, "mouse", lambda image: image % len(COLOURS))
    first, *_ = person.images()
    assert "MTurk" not in page.content()
    person.press(person.tile(first))
    expect(page.get_by_test_id("save-state")).to_have_attribute("data-state", "saved")
    # What the browser keeps of the work says neither whose it is nor which submission's; of
    # cookies there are those of the emulator, which has the same host.
    _, *entries = json.loads(page.evaluate(KEPT))
    kept = json.dumps(entries)
    assert "draft:" in kept
    for name in ("PROLIFIC_PID", "SESSION_ID"):
        [value] = parse_qs(urlsplit(address).query)[name]
        assert value not in kept
    person.press(person.tile(first))

    # A statement that nobody signed is refused, and does not stay in the address.
    page.goto(f"{address}&prolific_token=e30.e30.e30")
    expect(page.get_by_role("alert")).to_contain_text("signed token", timeout=SLOW)
    assert "prolific_token" not in page.url
    assert page.locator("main").get_attribute("data-entry") is None

    page.goto(address)
    person.sort_grid()
    person.submit()
    finish = page.get_by_role("button", name="Finish on Prolific")
    expect(finish).to_be_visible(timeout=SLOW)
    assert violations(page) == []
    finish.click()
    expect(page.get_by_role("heading", name="Thank you!")).to_be_visible(timeout=SLOW)
    assert page.url.startswith(prolific.url)
    # Prolific has it: there is nothing to do on our page any more.
    page.goto(address)
    expect(page.get_by_role("heading", name="You have submitted this task")).to_be_visible(
        timeout=SLOW
    )

    # Without consent the way back is another.
    take_part(page, prolific, 2)
    page.get_by_role("button", name="I don't agree").click()
    page.get_by_test_id("way-out").click()
    page.wait_for_url(f"{prolific.url}/**", timeout=SLOW)
    headers = {"Authorization": f"Token {prolific.token}"}
    [study] = parse_qs(urlsplit(address).query)["STUDY_ID"]
    list_of = f"{prolific.url}/api/v1/studies/{study}/submissions/"
    submissions = (
        httpx.get(list_of, headers=headers, timeout=60).raise_for_status().json()["results"]
    )
    returned = sorted(
        (submission["status"], submission["return_requested"] is not None)
        for submission in submissions
    )
    assert returned == [("AWAITING REVIEW", False), ("AWAITING REVIEW", True)]
    page.close()
