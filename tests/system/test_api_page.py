"""The page of the API in Chromium: complete, under our policy, and able to make requests."""

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from testbed.builders import a_campaign, an_account
from testbed.system import System, wait_until
from tests.support.axe import violations

pytestmark = pytest.mark.browser
METHODS = ("get", "post", "put", "patch", "delete")
# Down by half a screen, from the bottom back to the top, until that is drawn.
STEP = """() => new Promise((done) => {
    const bottom = document.documentElement.scrollHeight - innerHeight;
    scrollTo(0, scrollY >= bottom - 1 ? 0 : scrollY + innerHeight / 2);
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""


@pytest.fixture
def errors() -> list[str]:
    """What the page writes into the console as errors."""
    return []


def is_error(message: ConsoleMessage) -> bool:
    # It takes the underscore of an operation's id for an old way to write a space.
    return message.type == "error" and "escaping deep link whitespace" not in message.text


@pytest.fixture
def page(browser: Browser, web: System, errors: list[str]) -> Page:
    """The page, seen by somebody who has a campaign."""
    owner = an_account()
    a_campaign(owner, name="Rare birds")
    page = browser.new_page()
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.on("console", lambda message: errors.extend([message.text] * is_error(message)))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{web.base_url}/docs/api")
    return page


def test_it_has_all_operations_and_breaks_no_policy(
    page: Page, web: System, errors: list[str]
) -> None:
    document = httpx.get(f"{web.base_url}/api/v1/openapi.json", timeout=60).json()
    expected = {
        operation["operationId"]
        for path in document["paths"].values()
        for method, operation in path.items()
        if method in METHODS
    }
    shown = set[str]()

    def all_are_shown() -> bool:
        """After another step down the page, which draws what is in sight only."""
        shown.update(page.locator(".opblock-summary-operation-id").all_inner_texts())
        page.evaluate(STEP)
        return expected <= shown

    wait_until("all operations", all_are_shown)
    assert errors == []


def test_a_link_to_a_part_opens_it_and_a_request_is_made_with_ones_session(
    page: Page, web: System, errors: list[str]
) -> None:
    page.goto(f"{web.base_url}/docs/api#/campaigns/list_campaigns")
    page.reload()
    operation = page.locator("#operations-campaigns-list_campaigns")
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text(
        "200"
    )
    expect(operation.locator(".live-responses-table")).to_contain_text("Rare birds")
    assert errors == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_it_fits_the_screen_and_can_be_read(page: Page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    expect(page.locator(".opblock-tag").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # In Swagger UI, the line of an operation is a button that holds small buttons.
    known = ("nested-interactive", "target-size")
    assert [line for line in violations(page) if not line.startswith(known)] == []
