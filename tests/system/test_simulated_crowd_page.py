"""A requester lets a simulated crowd answer a campaign from its page, with real processes."""

import httpx
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from app.accounts.models import Account
from app.annotation.simulated import simulated_address
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from testbed.builders import a_campaign, a_collection, an_account, reloaded, sign_in
from testbed.system import System, wait_until
from tests.app.test_simulated import answer_all
from tests.support.axe import violations
from tests.support.crowds import crowd_job, expire_lease, finished_grids, shown, started
from tests.support.screens import faults, picture, resize
from tests.system.test_dashboard import signed_in

pytestmark = pytest.mark.browser
PHONE = (390, 844)


def opened(browser: Browser, system: System, owner: Account, campaign: Campaign) -> Page:
    page = signed_in(browser, system, owner)
    page.goto(f"{system.base_url}/campaigns/{campaign.id}")
    page.get_by_test_id("simulated-crowd").locator("summary").click()
    return page


def show(page: Page, name: str) -> None:
    page.get_by_test_id("simulated-crowd").evaluate("card => card.scrollIntoView()")
    picture(page, name)


def test_a_requester_tries_a_campaign_with_a_simulated_crowd(
    browser: Browser, system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(
        owner, budget=24, rounds=2, kind="bins", strategy="crowdster", ready_share=0.0
    )
    page = opened(browser, system, owner, campaign)
    card = page.get_by_test_id("simulated-crowd")
    expect(card.get_by_label("Answers")).to_have_value("2")
    expect(card.get_by_label("the features in your table")).to_be_checked()
    card.get_by_label("colour").check()
    expect(card.get_by_label("the features in your table")).not_to_be_checked()
    card.get_by_label("Annotators").fill("5")
    card.get_by_role("button", name="All 24 answers").click()
    assert violations(page) == []
    show(page, "crowd-form-desk")
    resize(page, PHONE)
    show(page, "crowd-form-phone")
    # It is beyond the edge until it has the focus.
    assert faults(page) == ["beyond the edge: Skip to content"]
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
    show(page, "crowd-form-phone-dark")
    page.emulate_media(color_scheme="light")
    card.get_by_role("button", name="Start the simulated crowd").click()
    # Between the rounds, it waits for the model.
    expect(card.get_by_test_id("crowd-progress")).to_have_text("12 of 24 answers", timeout=60_000)
    expect(card.get_by_test_id("crowd-stop")).to_be_visible()
    show(page, "crowd-run-phone")
    expect(card.get_by_test_id("crowd-progress")).to_have_text("24 of 24 answers", timeout=120_000)
    expect(card.get_by_test_id("crowd-message")).to_contain_text("It gave all its answers.")
    expect(card.get_by_text("5 annotators sort by colour, noise 10 %")).to_be_visible()
    expect(page.get_by_test_id("simulated")).to_contain_text(
        "5 simulated annotators answered 24 grids."
    )
    expect(card.get_by_test_id("crowd-refusal")).to_be_visible()
    resize(page, (1440, 900))
    show(page, "crowd-end-desk")
    assert violations(page) == []
    assert reloaded(campaign.id).n_answers == 24
    page.context.close()


def test_a_crowd_on_the_page_survives_its_worker_and_is_stopped(
    browser: Browser, system: System
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner, 30), budget=3_000, learn_every=3_000)
    page = opened(browser, system, owner, campaign)
    card = page.get_by_test_id("simulated-crowd")
    card.get_by_label("Answers").fill("3000")
    card.get_by_role("button", name="Start the simulated crowd").click()
    wait_until("answers of the crowd", lambda: reloaded(campaign.id).n_answers >= 20)
    system.kill("worker")
    # What else would take a minute.
    expire_lease(crowd_job(campaign).id)
    before = reloaded(campaign.id).n_answers
    system.start("worker")
    wait_until("more answers", lambda: reloaded(campaign.id).n_answers >= before + 20)
    card.get_by_test_id("crowd-stop").click()
    expect(card.get_by_test_id("crowd-message")).to_have_text("It was stopped.")
    stopped = wait_until(
        "the last answer",
        lambda: crowd_job(campaign).state == "done" and reloaded(campaign.id).n_answers,
    )
    with httpx.Client(base_url=system.base_url, timeout=60) as client:
        sign_in(client, owner)
        run = shown(client, campaign)
        grids = [grid_id for grid_id, _, state in finished_grids(campaign) if state == "submitted"]
        assert len(grids) == len(set(grids))
        assert run["stored"] == len(grids) == reloaded(campaign.id).n_answers
        assert stopped <= run["stored"] <= stopped + 1
        assert run["surplus"] == 0
    page.context.close()


def test_a_crowd_that_would_mix_with_people_is_confirmed_and_a_copy_offered(
    browser: Browser, web: System
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=40, grids_per_assignment=2)
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        link = annotator_link(campaign, "").removeprefix("/a/")
        answer_all(client, link, "a-person-of-flesh", 2)
        answer_all(client, simulated_address(campaign), "simulated-0-00001", 1)
    page = opened(browser, web, owner, campaign)
    card = page.get_by_test_id("simulated-crowd")
    asked: list[str] = []

    def decline(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", decline)
    card.get_by_role("button", name="Start the simulated crowd").click()
    wait_until("the question", lambda: asked, 10)
    assert "People have answered this campaign." in asked[0]
    expect(card.get_by_test_id("crowd-run")).to_have_count(0)
    # What the server refuses is shown in its words.
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        sign_in(client, owner)
        started(client, campaign)
    page.once("dialog", lambda dialog: dialog.accept())
    card.get_by_role("button", name="Start the simulated crowd").click()
    expect(card.get_by_role("alert")).to_contain_text("already answering this campaign")
    card.get_by_test_id("copy-campaign").click()
    page.wait_for_url("**/edit*")
    assert str(campaign.id) not in page.url
    page.context.close()
