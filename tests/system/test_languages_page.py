"""The question and the requester's texts in several languages, in Chromium."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, reloaded
from testbed.system import System, wait_until
from tests.app.test_translations import ARABIC, GERMAN, a_translated_campaign
from tests.support.annotators_page import (
    DESK,
    PHONE,
    finish,
    link_of,
    no_errors_on_the_page,
    opened,
    sort_some,
    stored,
)
from tests.support.axe import violations
from tests.support.kinds import PLANS
from tests.support.person import SLOW, TILES
from tests.support.poisoned import a_draft

__all__ = ["no_errors_on_the_page"]
pytestmark = pytest.mark.browser
FRENCH = {"question": "Qu’est-ce qui va ensemble ?"}
GERMAN_COLOURS = {"red": "rot", "green": "grün", "blue": "blau"}
TEXTS: dict[str, Any] = {
    "consent": "Yes?",
    "instructions": "Sort *all*.",
    "text_language": "en",
    "translations": {"de": GERMAN, "ar": ARABIC, "fr": FRENCH},
}


def a_page(
    browser: Browser, web: System, campaign: Campaign, locale: str, size: dict[str, Any] = DESK
) -> Page:
    return opened(browser, link_of(campaign, web), **size, locale=locale)


def written(element: Locator) -> tuple[str | None, str | None]:
    """The language and direction of an element."""
    expect(element).to_be_visible(timeout=SLOW)
    return element.get_attribute("lang"), element.get_attribute("dir")


def look(page: Page, name: str, folder: Path) -> None:
    page.screenshot(path=Path(os.environ.get("LIKEWISE_LOOK", folder)) / f"{name}.png")


def to_work(page: Page) -> None:
    page.get_by_test_id("consent-agree").press("Enter")
    page.get_by_test_id("start").press("Enter")
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_german_reads_german_and_the_answer_says_so(
    browser: Browser, web: System, size: dict[str, Any], tmp_path: Path
) -> None:
    campaign = a_translated_campaign(annotation=TEXTS)
    page = a_page(browser, web, campaign, "de-AT", size)
    consent = page.get_by_test_id("consent")
    assert written(consent) == ("de", "ltr")
    expect(consent).to_have_text("Ja?")
    page.get_by_test_id("consent-agree").press("Enter")
    question = page.get_by_text(GERMAN["question"])
    assert written(question) == ("de", "ltr")
    assert written(page.locator(".prose", has_text="Sortiere alle.")) == ("de", "ltr")
    look(page, f"german-instructions-{size['viewport']['width']}", tmp_path)
    assert violations(page) == []
    page.get_by_test_id("start").press("Enter")
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    heading = page.get_by_role("heading", level=1, name=GERMAN["question"])
    assert written(heading) == ("de", "ltr")
    if size is PHONE:
        return
    sort_some(page, 2)
    finish(page)
    wait_until("the answer", lambda: len(stored()) == 1)
    device = stored()[0].device or {}
    assert (device["language"], device["question_language"]) == ("de", "de")


def test_an_arab_reads_from_the_right_and_own_texts_from_the_left(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    campaign = a_translated_campaign(annotation=TEXTS)
    page = a_page(browser, web, campaign, "ar", PHONE)
    # It is not translated.
    assert written(page.get_by_test_id("consent")) == ("en", "ltr")
    page.get_by_test_id("consent-agree").press("Enter")
    assert written(page.get_by_text(ARABIC["question"])) == ("ar", "rtl")
    instructions = page.locator(".prose", has_text="Sort all.")
    assert written(instructions) == ("en", "ltr")
    assert instructions.evaluate("one => getComputedStyle(one).direction") == "ltr"
    look(page, "arabic-instructions", tmp_path)
    assert violations(page) == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    page.get_by_test_id("start").press("Enter")
    assert written(page.locator("header h1")) == ("ar", "rtl")


def test_a_language_without_buttons_of_its_own_is_chosen_in_the_menu_by_keyboard(
    browser: Browser, web: System, tmp_path: Path
) -> None:
    page = a_page(browser, web, a_translated_campaign(annotation=TEXTS), "en")
    to_work(page)
    heading = page.get_by_role("heading", level=1)
    assert written(heading) == ("en", "ltr")
    expect(heading).to_have_text("What?")
    page.get_by_role("button", name="More").press("Enter")
    choice = page.get_by_label("Language")
    expect(choice).to_have_value("en")
    names = choice.locator("option").all_inner_texts()
    assert names == ["العربية", "Deutsch", "English", "français"]
    look(page, "menu", tmp_path)
    choice.focus()
    page.keyboard.type("f")
    expect(heading).to_have_text(FRENCH["question"], timeout=SLOW)
    assert written(heading) == ("fr", "ltr")
    # Buttons stay English, and the menu shows what was chosen.
    expect(page.get_by_test_id("submit")).to_have_text("Submit")
    assert page.locator("html").get_attribute("lang") == "en"
    page.get_by_role("button", name="More").press("Enter")
    expect(choice).to_have_value("fr")


def test_who_reads_no_language_of_the_texts_gets_the_own_ones(
    browser: Browser, web: System
) -> None:
    page = a_page(browser, web, a_translated_campaign(annotation=TEXTS), "ja")
    to_work(page)
    assert written(page.get_by_role("heading", level=1)) == ("en", "ltr")


def test_classes_have_their_names_in_the_language(browser: Browser, web: System) -> None:
    names = {"de": {"question": "Was?", "classes": GERMAN_COLOURS}}
    settings = {"translations": names, "show_instructions": False}
    campaign = a_campaign(kind="classify", annotation=settings, **PLANS["classify"])
    page = a_page(browser, web, campaign, "de")
    for name in GERMAN_COLOURS.values():
        expect(page.get_by_role("button", name=name).first).to_be_visible(timeout=SLOW)


def requester(browser: Browser, web: System, owner: Account, width: int = 1280) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900})
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


@pytest.mark.parametrize("width", [1440, 390])
def test_a_requester_translates_by_keyboard(
    browser: Browser, web: System, width: int, tmp_path: Path
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, annotation={"instructions": "Sort all."}, question="What?")
    page = requester(browser, web, owner, width)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    page.get_by_label("Language of your texts").select_option("en")
    page.get_by_label("Language to add").select_option("ar")
    page.get_by_role("button", name="Add a language").press("Enter")
    arabic = page.get_by_role("region", name="Arabic (العربية)")
    question = arabic.get_by_label("Question")
    expect(question).to_be_focused()
    assert written(question) == ("ar", "rtl")
    expect(question).to_have_attribute("placeholder", "What?")
    page.keyboard.type(ARABIC["question"])
    page.keyboard.press("Tab")
    page.keyboard.type("*x*")
    page.get_by_label("Language to add").select_option("de")
    page.get_by_role("button", name="Add a language").press("Enter")
    page.get_by_role("button", name="Remove German").press("Enter")
    expect(page.get_by_label("Language to add")).to_be_focused()
    expect(page.get_by_text("German (Deutsch) is removed.")).to_be_attached()
    assert violations(page) == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    arabic.scroll_into_view_if_needed()
    look(page, f"translations-{width}", tmp_path)
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_url(f"{web.base_url}/campaigns/{campaign.id}")
    saved = reloaded(campaign.id).annotation
    assert saved["text_language"] == "en"
    assert list(saved["translations"]) == ["ar"]
    assert saved["translations"]["ar"]["question"] == ARABIC["question"]
    assert saved["translations"]["ar"]["instructions"] == "*x*"
    # The campaign runs: what was asked stays, and the preview shows it.
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    expect(arabic.get_by_label("Question")).to_have_attribute("readonly", "", timeout=SLOW)
    expect(arabic.get_by_role("button", name="Remove Arabic")).to_be_disabled()
    with page.expect_popup() as popup:
        arabic.get_by_role("link", name="Preview as saved").click()
    shown = popup.value.get_by_text(ARABIC["question"])
    assert written(shown) == ("ar", "rtl")


def test_what_the_server_refuses_is_shown_again(browser: Browser, web: System) -> None:
    owner = an_account()
    campaign = a_campaign(owner, annotation={"translations": {"de": GERMAN}})
    page = requester(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/annotation")
    page.get_by_label("Language of your texts").select_option("de")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(
        "'de' is the language of the campaign's own texts"
    )
    german = page.get_by_role("region", name="German (Deutsch)")
    expect(german.get_by_label("Question")).to_have_value(GERMAN["question"], timeout=SLOW)


def test_the_wizard_saves_translations(browser: Browser, web: System) -> None:
    owner = an_account()
    draft = a_draft(owner, a_campaign(owner))
    page = requester(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/{draft.id}/edit#quality")
    page.get_by_text("Translations", exact=True).click(timeout=SLOW)
    page.get_by_label("Language to add").select_option("de")
    page.get_by_role("button", name="Add a language").click()
    page.keyboard.type("Was?")
    page.get_by_text("Language, descriptions, image background, completion").click()
    page.get_by_label("Image descriptions from attribute").select_option("colour")

    def saved() -> bool:
        annotation: dict[str, Any] = reloaded(draft.id).annotation
        translations = annotation["translations"]
        question = translations.get("de", {}).get("question")
        return (annotation["alt_text_attribute"], question) == ("colour", "Was?")

    wait_until("the translation", saved)
