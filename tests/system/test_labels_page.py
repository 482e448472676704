"""The labels of a select campaign in a browser: tiles, lists, details, known answers, voters."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.events import campaign_changed
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.app.test_labels import (
    a_labelled_campaign,
    know,
    publish_labels,
    some_labels,
)
from tests.support.axe import violations, violations_of_colours

pytestmark = pytest.mark.browser
WHY = "95.4% of the labels are expected to be right. The target is 95.0%."


@pytest.fixture
def owner(web: System) -> Account:
    return an_account()


@pytest.fixture
def page(browser: Browser, web: System, owner: Account) -> Iterator[Page]:
    """Signed in, on a phone; complains about errors in the page and the console."""
    context = browser.new_context(viewport={"width": 390, "height": 900})
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


def is_fine(page: Page) -> None:
    """Nothing to scroll sideways, and nothing that axe finds, by light and in the dark."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations_of_colours(page) == []
    page.emulate_media(color_scheme="light")


def address(web: System, campaign: Campaign, section: str = "labels") -> str:
    return f"{web.base_url}/campaigns/{campaign.id}/{section}"


def test_every_image_is_listed_by_its_label_and_told_of(
    page: Page, web: System, owner: Account, tmp_path: Path
) -> None:
    campaign = a_labelled_campaign(owner)
    page.goto(address(web, campaign))
    labels = page.get_by_role("region", name="Labels", exact=True)
    expect(labels).to_contain_text("Labelled yes")
    expect(labels).to_contain_text("of 30 images")
    expect(page.get_by_test_id("outlook")).to_have_text(
        "The next grid is expected to correct 1.3 labels."
    )
    images = page.get_by_test_id("labels").locator("li")
    expect(images).to_have_count(30)
    expect(images.first).to_contain_text("yes")
    expect(images.first).to_contain_text("3 yes")
    is_fine(page)

    page.get_by_role("button", name="Contested 2").click()
    expect(images).to_have_count(2)
    expect(images.first).to_contain_text("no 55 %")
    expect(images.first).to_contain_text("2 yes · 2 no · 1 unsure")
    images.first.get_by_role("button").click()
    details = page.get_by_test_id("label-details")
    expect(details).to_contain_text("Labelled no, 55 % sure")
    expect(details.get_by_role("row", name="Dawid–Skene")).to_contain_text("50 %")
    is_fine(page)
    page.get_by_role("button", name="Next").click()
    expect(details).to_contain_text("Labelled yes, 60 % sure")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)

    page.get_by_role("button", name="No 20").click()
    expect(images).to_have_count(20)
    page.get_by_role("combobox", name="Votes").select_option(label="without votes")
    expect(images).to_have_count(10)
    expect(images.first).to_contain_text("no votes")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="labels.csv").click()
    downloading.value.save_as(tmp_path / "labels.csv")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 31


def test_who_seems_to_guess_is_marked_and_the_work_is_a_click_away(
    page: Page, web: System, owner: Account
) -> None:
    campaign = a_labelled_campaign(owner)
    page.goto(address(web, campaign))
    rows = page.get_by_test_id("voters").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("looks like guessing")
    expect(rows.last).to_contain_text("too few votes to say")
    expect(rows.first.get_by_role("link")).to_have_attribute(
        "href", f"/campaigns/{campaign.id}/annotators#play-1"
    )


def test_known_answers_tell_how_often_the_labels_are_right(
    page: Page, web: System, owner: Account
) -> None:
    campaign = a_labelled_campaign(owner)
    page.goto(address(web, campaign))
    known = page.get_by_test_id("known")
    expect(known).to_contain_text("No image has a known answer")
    expect(known.get_by_role("link")).to_have_attribute(
        "href", f"/campaigns/{campaign.id}/annotation"
    )
    know(campaign)
    page.reload()
    expect(known).to_contain_text("The right answer is known for 8 images: 5 yes, 3 no.")
    expect(known.get_by_role("row", name="Labels")).to_contain_text("87.5 %")
    expect(known.get_by_role("img")).to_have_count(1)
    expect(page.get_by_test_id("calibration").locator("circle")).not_to_have_count(0)
    is_fine(page)


def test_a_new_model_takes_the_place_of_the_one_shown(
    page: Page, web: System, owner: Account
) -> None:
    campaign = a_labelled_campaign(owner)
    page.goto(address(web, campaign))
    expect(page.get_by_role("button", name="Contested 2")).to_be_visible()
    sure = some_labels()
    probability = np.where(np.arange(len(sure)) < 12, 0.97, 0.02)
    publish_labels(campaign, replace(sure, probability=probability), 2, enough=WHY)
    with transaction() as session:
        session.get_one(Campaign, campaign.id).state = "finished"
        campaign_changed(session, campaign.id)
    expect(page.get_by_role("button", name="Contested 0")).to_be_visible(timeout=30_000)
    expect(page.get_by_test_id("outlook")).to_have_text(
        f"The campaign has ended automatically: {WHY}"
    )
    page.get_by_role("combobox", name="Model").select_option("1")
    expect(page.get_by_role("button", name="Contested 2")).to_be_visible()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}")
    expect(page.get_by_test_id("alert-good_enough")).to_contain_text(
        "The campaign ended early: 95.4%"
    )


def test_other_pages_speak_of_votes(page: Page, web: System, owner: Account) -> None:
    campaign = a_labelled_campaign(owner, versions=2)
    page.goto(address(web, campaign, "map?colour=label:label"))
    expect(page.get_by_label("Colour by")).to_have_value("label:label")
    legend = page.get_by_role("heading", name="Colours").locator("..")
    expect(legend).to_contain_text("yes 10")
    page.goto(address(web, campaign, "quality"))
    expect(page.locator("figure h3")).to_contain_text(
        ["Labels expected to be right", "Classifier on unseen votes", "Votes per image"]
    )
    page.goto(address(web, campaign, "exports"))
    expect(page.get_by_role("link", name="CSV: Labels")).to_be_visible()
    expect(page.get_by_role("link", name="CSV: Pairs")).to_have_count(0)
    is_fine(page)


def test_before_the_first_model_the_page_says_when_there_will_be_labels(
    page: Page, web: System, owner: Account
) -> None:
    campaign = a_campaign(
        owner, kind="select", strategy="neucrowd", settings={"features": "features"}
    )
    page.goto(address(web, campaign))
    expect(page.get_by_text("when the first model has been learned")).to_be_visible()
    is_fine(page)
