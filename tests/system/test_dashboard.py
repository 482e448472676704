"""The requester's pages in a real browser: from nothing to a launched campaign, live, for all."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.pages import sections_of
from app.core.database import transaction
from testbed.builders import a_campaign, a_png, an_account
from testbed.system import System
from tests.app.test_failed_jobs import a_failed_job
from tests.app.test_insight import a_campaign_with_model
from tests.support.axe import violations, violations_of_colours

pytestmark = pytest.mark.browser
SLOW = 90_000
MOST_CLICKS = 12
WIDTHS = (1440, 390)


def signed_in(browser: Browser, system: System, account: Account, width: int = 1440) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
    )
    with transaction() as session:
        link = create_sign_in_link(session, account, system.base_url)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    return page


def counting_clicks(context: BrowserContext) -> list[str]:
    """Every click of a person on a page, by what was clicked."""
    clicks: list[str] = []
    context.expose_function("clicked", lambda what: clicks.append(what))
    context.add_init_script(
        "addEventListener('click', event => event.isTrusted && "
        "clicked(event.target.textContent.trim().slice(0, 40)), true)"
    )
    return clicks


def test_a_newcomer_launches_a_campaign_over_a_hundred_own_images(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    files = []
    for k in range(100):
        files.append(tmp_path / f"picture-{k:03d}.png")
        files[-1].write_bytes(a_png(k))
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    clicks = counting_clicks(context)
    with transaction() as session:
        link = create_sign_in_link(session, an_account(), web.base_url)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Upload images").click()
    page.get_by_test_id("file-input").set_input_files(files)
    page.get_by_role("link", name="Launch a campaign").click()
    expect(page.get_by_test_id("preview")).to_be_visible()
    shown = page.frame_locator("iframe").locator("button[data-image]")
    expect(shown).to_have_count(24)
    page.get_by_label(re.compile("^Question")).fill("Which of these belong together?")
    for step in ("Strategy", "Quality", "Budget", "Launch"):
        page.get_by_role("button", name=f"Next: {step}").click()
    page.get_by_role("button", name="Launch the campaign").click()
    expect(page.get_by_test_id("state")).to_have_text("running")
    assert page.get_by_test_id("annotator-link").input_value().startswith(web.base_url)
    # The click on the upload's button that opens the file chooser is the one not seen here.
    assert len(clicks) + 1 <= MOST_CLICKS, clicks
    with transaction() as session:
        (campaign,) = session.query(Campaign).all()
        assert (campaign.n_images, campaign.question) == (100, "Which of these belong together?")
        assert campaign.budget * campaign.grid_size / 100 >= 16
    context.close()


def test_answers_show_at_once_and_after_a_lost_connection(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=8, rounds=1, grids_per_assignment=8)
    page = signed_in(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}")
    expect(page.get_by_test_id("answers")).to_contain_text("0 of 8", timeout=SLOW)
    annotator = browser.new_context().new_page()
    annotator.goto(annotator_link(campaign, web.base_url))
    annotator.get_by_test_id("start").click()
    answer_grid(annotator)
    expect(page.get_by_test_id("answers")).to_contain_text("1 of 8", timeout=SLOW)
    # Nobody submits pictures that have not come.
    expect(annotator.locator("button[data-image] img")).to_have_count(
        campaign.grid_size, timeout=SLOW
    )
    annotator.wait_for_function(
        "[...document.querySelectorAll('button[data-image] img')].every(one => one.naturalWidth)"
    )
    web.kill("web")
    expect(page.get_by_text("Reconnecting")).to_be_visible(timeout=SLOW)
    # The annotator goes on: what was answered meanwhile is there when the server is back.
    finish_grid(annotator)
    web.start("web")
    expect(page.get_by_test_id("answers")).to_contain_text("2 of 8", timeout=SLOW)
    expect(page.get_by_text("Reconnecting")).to_have_count(0)
    page.context.close()
    annotator.context.close()


def answer_grid(page: Page) -> None:
    before = page.get_by_test_id("progress").inner_text()
    finish_grid(page)
    expect(page.get_by_test_id("progress")).not_to_have_text(before, timeout=SLOW)


def finish_grid(page: Page) -> None:
    """Everything into one group, submitted."""
    page.locator("button[data-group='0']").click()
    for tile in page.locator("button[data-image]").all():
        tile.click()
    page.locator("[data-description='0']").fill("all alike")
    page.get_by_test_id("submit").click()


def test_no_page_breaks_the_accessibility_rules_or_scrolls_sideways(
    browser: Browser, web: System
) -> None:
    owner = an_account()
    campaign = a_campaign_with_model(owner)
    pages = {
        "home": "/",
        "account": "/account",
        "platforms": "/account/platforms",
        "new collection": "/collections/new",
        "collection": f"/collections/{campaign.collection_id}",
        "new campaign": "/campaigns/new",
        "monitor": f"/campaigns/{campaign.id}",
        **{
            name: f"/campaigns/{campaign.id}/{name}"
            for name in (*sections_of(campaign), "annotation")
        },
    }
    wrong: dict[str, list[str]] = {}
    script_errors: list[str] = []
    for width in WIDTHS:
        page = signed_in(browser, web, owner, width)
        page.on("pageerror", lambda error: script_errors.append(str(error)))
        for name, address in pages.items():
            page.goto(web.base_url + address)
            check(page, f"{name} {width}", wrong)
        page.goto(f"{web.base_url}/campaigns/new?collection={campaign.collection_id}")
        for step in ("Strategy", "Quality", "Budget", "Launch"):
            page.get_by_role("button", name=f"Next: {step}").click()
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            check(page, f"wizard {step} {width}", wrong)
        page.context.close()
    broken = [f"{name}: {problem}" for name, problems in wrong.items() for problem in problems]
    if broken or script_errors:
        pytest.fail("\n".join([*broken, *script_errors]))


def check(page: Page, name: str, wrong: dict[str, list[str]]) -> None:
    """By light and in the dark, where only colours differ."""
    page.wait_for_load_state("networkidle") if "/campaigns/" not in page.url else None
    page.wait_for_timeout(500)
    problems = violations(page)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 0:
        problems.append(f"the page is {wide} px too wide")
    page.emulate_media(color_scheme="dark")
    problems += [f"in the dark, {problem}" for problem in violations_of_colours(page)]
    page.emulate_media(color_scheme="light")
    if problems:
        wrong[name] = problems


def test_a_training_that_was_given_up_says_why_and_is_begun_anew_by_a_button(
    browser: Browser, web: System
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    a_failed_job(campaign, "The worker stopped during attempt 3.")
    for width in WIDTHS:
        page = signed_in(browser, web, owner, width)
        page.goto(f"{web.base_url}/campaigns/{campaign.id}")
        expect(page.get_by_test_id("reason")).to_have_text("The worker stopped during attempt 3.")
        page.get_by_test_id("jobs").locator("summary").click()
        expect(page.get_by_test_id("jobs").locator("tbody tr")).to_have_count(1)
        problems: dict[str, list[str]] = {}
        check(page, f"failed {width}", problems)
        assert problems == {}
        if width == WIDTHS[0]:
            page.context.close()
    # Both clicks of somebody impatient; the first alone counts, and nothing looks wrong after it.
    page.get_by_test_id("retry").dblclick()
    expect(page.get_by_test_id("retry")).to_have_count(0)
    expect(page.get_by_test_id("jobs").locator("tbody tr")).to_have_count(2)
    rows = page.get_by_test_id("jobs").locator("tbody tr")
    expect(rows.nth(0)).to_have_attribute("data-state", "queued")
    expect(rows.nth(1)).to_contain_text("The worker stopped during attempt 3.")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.context.close()
