"""A newcomer's first day in a browser: from signing in to an archive that is a campaign again, and
every page on the way, at two widths, light and dark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Response, expect
from sqlalchemy import select

from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.campaigns.pages import sections_of
from app.core.database import transaction
from testbed.builders import a_png, a_table, an_account
from testbed.system import System, wait_until
from tests.support.screens import picture
from tests.system.test_loop import is_finished

pytestmark = pytest.mark.browser
SLOW = 90_000
N, BUDGET = 60, 24
WIDTHS = (1440, 390)
SCHEMES = ("light", "dark")


@dataclass
class Complaints:
    """What a page says is wrong, in its console or by the status of what it asks for."""

    texts: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.texts.append(f"{page.url}: {error}"))
        page.on("console", self._console)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.texts.append(f"{message.location}: {message.text}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.texts.append(f"{response.status} {response.url}")


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    complaints = Complaints()
    yield complaints
    assert complaints.texts == []


@pytest.fixture
def page(browser: Browser, system: System, complaints: Complaints) -> Page:
    context = browser.new_context(
        viewport={"width": WIDTHS[0], "height": 900}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(SLOW)
    complaints.listen(page)
    return page


def test_the_first_day_from_signing_in_to_an_archive(
    page: Page, system: System, tmp_path: Path
) -> None:
    sign_in(page, system)
    upload(page, tmp_path)
    launch(page)
    with transaction() as session:
        campaign = session.scalars(select(Campaign)).one()
    assert (campaign.n_images, campaign.budget) == (N, BUDGET)
    answered(page, campaign)
    name_a_cluster(page, system, campaign)
    archive = downloaded(page, system, campaign, tmp_path)
    look_at_all_pages(page, system, campaign)
    restore(page, system, archive)


def sign_in(page: Page, system: System) -> None:
    with transaction() as session:
        link = create_sign_in_link(session, an_account(), system.base_url)
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()


def upload(page: Page, folder: Path) -> None:
    """One choice of files: pictures, and a table of what is known about them."""
    files = []
    for k in range(N):
        files.append(folder / f"image-{k:03d}.png")
        files[-1].write_bytes(a_png(k))
    files.append(folder / "attributes.csv")
    files[-1].write_bytes(a_table(N))
    page.get_by_role("link", name="Upload images").click()
    page.get_by_test_id("file-input").set_input_files(files)


def launch(page: Page) -> None:
    page.get_by_role("link", name="Launch a campaign").click()
    shown = page.frame_locator("iframe").locator("button[data-image]")
    expect(shown).to_have_count(24)
    page.get_by_label(re.compile("^Question")).fill("Which of these belong together?")
    for step in ("Strategy", "Quality", "Budget", "Launch"):
        if step == "Launch":
            page.get_by_label(re.compile("^Budget")).fill(str(BUDGET))
        page.get_by_role("button", name=f"Next: {step}").click()
    page.get_by_role("button", name="Launch the campaign").click()
    expect(page.get_by_test_id("state")).to_have_text("running")


def answered(page: Page, campaign: Campaign) -> None:
    """By a simulated crowd that is started on the page, which follows the answers to the end and
    the newest model without being loaded again."""
    crowd = page.get_by_test_id("simulated-crowd")
    crowd.locator("summary").click()
    crowd.get_by_label("colour").check()
    crowd.get_by_role("button", name=f"All {BUDGET} answers").click()
    crowd.get_by_role("button", name="Start the simulated crowd").click()
    # Between rounds, it waits for the model.
    wait_until("the campaign to finish", lambda: is_finished(campaign), 300)
    expect(crowd.get_by_test_id("crowd-message")).to_contain_text(
        "It gave all its answers.", timeout=SLOW
    )
    expect(page.get_by_test_id("state")).to_have_text("finished", timeout=SLOW)
    expect(page.get_by_test_id("answers")).to_contain_text(f"{BUDGET} of {BUDGET}")


def name_a_cluster(page: Page, system: System, campaign: Campaign) -> None:
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/clusters")
    page.get_by_role("button", name="Make clusters").click()
    name = page.locator("article[data-cluster]").first.get_by_role("textbox")
    with page.expect_response(lambda reply: reply.request.method == "PATCH"):
        name.fill("mine")
        name.press("Enter")


def downloaded(page: Page, system: System, campaign: Campaign, folder: Path) -> Path:
    """The whole campaign as a file, by the button of the page."""
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/exports")
    everything = page.get_by_role("region", name="Everything")
    with page.expect_download() as download:
        everything.get_by_role("link", name=re.compile("^ZIP")).first.click()
    archive = folder / download.value.suggested_filename
    download.value.save_as(archive)
    assert archive.stat().st_size > 10_000
    return archive


def look_at_all_pages(page: Page, system: System, campaign: Campaign) -> None:
    root = f"/campaigns/{campaign.id}"
    addresses = [
        "/",
        "/account",
        f"/collections/{campaign.collection_id}",
        "/campaigns/new",
        root,
        *(f"{root}/{name}" for name in (*sections_of(campaign), "annotation")),
    ]
    too_wide = []
    for address in addresses:
        page.goto(system.base_url + address)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.get_by_text("Loading…", exact=True)).to_have_count(0)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if root in address:
                expect(page.locator("nav [aria-current=page]").last).to_be_in_viewport()
            for scheme in SCHEMES:
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                page.wait_for_timeout(100)
                picture(page, f"day{address.replace(str(campaign.id), '').replace('/', '-')}"
                              f"-{width}-{scheme}")  # fmt: skip
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                too_wide.append(f"{address} {width}")
    assert too_wide == []


def restore(page: Page, system: System, archive: Path) -> None:
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(f"{system.base_url}/campaigns/import")
    page.locator("input[type=file]").set_input_files(archive)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("(imported)", timeout=SLOW)
    with transaction() as session:
        assert len(session.scalars(select(Campaign)).all()) == 2
