"""Setting a campaign up in a real browser: what is typed is kept, whatever happens beside it."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign, a_collection, a_draft, an_account
from testbed.system import System, wait_until
from tests.support.axe import violations
from tests.system.test_dashboard import signed_in

pytestmark = pytest.mark.browser


@pytest.fixture
def wizard(browser: Browser, web: System) -> Page:
    """The wizard's second step, its preview loaded."""
    owner = an_account()
    collection = a_collection(owner, 40)
    page = signed_in(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/new?collection={collection.id}")
    expect(page.frame_locator("iframe").locator("button[data-image]")).to_have_count(24)
    return page


def stored() -> Campaign:
    with transaction() as session:
        return session.scalars(select(Campaign)).one()


def test_the_preview_never_takes_the_focus_from_who_types(wizard: Page) -> None:
    question = wizard.get_by_label(re.compile("^Question"))
    question.fill("")
    text = ["Which ", "of these ", "belong ", "together?"]
    for part in text:
        address = wizard.locator("iframe").get_attribute("src")
        wizard.keyboard.type(part)
        # Saved after a moment: the preview is another page now, and has drawn its grid.
        expect(wizard.locator("iframe")).not_to_have_attribute("src", address or "")
        expect(wizard.frame_locator("iframe").locator("button[data-image]")).to_have_count(24)
    expect(question).to_be_focused()
    expect(question).to_have_value("".join(text))
    wait_until("the question to be stored", lambda: stored().question == "".join(text), 10)
    wizard.context.close()


def test_steps_are_entries_of_the_history_and_addresses(wizard: Page) -> None:
    heading = wizard.get_by_role("heading", name=re.compile("^Step"))
    wizard.get_by_role("button", name="Next: Strategy").click()
    expect(heading).to_have_text("Step 3 of 6: Strategy")
    wizard.get_by_role("button", name="Next: Quality").click()
    expect(heading).to_have_text("Step 4 of 6: Quality")
    wizard.go_back()
    expect(heading).to_have_text("Step 3 of 6: Strategy")
    wizard.go_back()
    expect(heading).to_have_text("Step 2 of 6: Task")
    wizard.go_forward()
    expect(heading).to_have_text("Step 3 of 6: Strategy")
    wizard.evaluate("location.hash = 'budget'")
    expect(heading).to_have_text("Step 5 of 6: Budget")
    wizard.reload()
    expect(heading).to_have_text("Step 5 of 6: Budget")
    wizard.context.close()


def test_drafts_are_deleted_where_they_are(wizard: Page) -> None:
    wizard.once("dialog", lambda dialog: dialog.dismiss())
    wizard.get_by_role("button", name="Delete draft").click()
    assert stored().state == "draft"
    owner = stored().owner_id
    with transaction() as session:
        a_draft(session.get_one(Account, owner), name="Another")
    home = wizard.url.partition("/campaigns")[0]
    wizard.goto(home)
    wizard.get_by_label("Delete the draft Another…").click()
    assert violations(wizard) == []
    wizard.get_by_role("button", name="Delete this draft").click()
    expect(wizard.get_by_role("link", name="Another")).to_have_count(0)
    wizard.goto(f"{home}/campaigns/{stored().id}/edit")
    wizard.once("dialog", lambda dialog: dialog.accept())
    wizard.get_by_role("button", name="Delete draft").click()
    expect(wizard.get_by_text("No campaigns yet.")).to_be_visible()
    wizard.context.close()


def test_a_number_that_cannot_be_is_told_where_it_was_typed(wizard: Page) -> None:
    size = wizard.get_by_label(re.compile("^Images per grid"))
    following = wizard.get_by_role("button", name="Next: Strategy")
    for wrong in ("9.5", "1", "61", ""):
        size.fill(wrong)
        following.click()
        expect(size).to_be_focused()
        assert size.evaluate("one => one.validationMessage")
    size.fill("9")
    following.click()
    expect(
        wizard.get_by_role("heading", name="How do you want to learn from the answers?")
    ).to_be_visible()
    assert stored().grid_size == 9
    wizard.context.close()


def test_an_amount_stays_as_it_is_typed_and_what_is_none_is_told(wizard: Page) -> None:
    for step in ("Strategy", "Quality", "Budget"):
        wizard.get_by_role("button", name=f"Next: {step}").click()
    reward = wizard.get_by_label(re.compile("^Reward per assignment"))
    reward.fill("1.5")
    wait_until("the reward to be stored", lambda: stored().reward_cents == 150, 10)
    reward.press("End")
    for _ in range(3):
        reward.press("Backspace")
    # Stored and read back meanwhile: nothing is written under who is about to type.
    wait_until("what was left of it to be stored", lambda: stored().reward_cents == 100, 10)
    expect(wizard.get_by_text("Not saved: Reward per assignment")).to_be_visible()
    expect(reward).to_have_value("")
    wizard.get_by_role("button", name="Next: Launch").click()
    expect(reward).to_be_focused()
    problem = wizard.locator("[data-problem=reward_cents]")
    expect(problem).to_have_text(
        "Reward per assignment: enter an amount such as 1.50, or 0 for none."
    )
    expect(wizard.get_by_text("Draft saved")).to_be_hidden()
    reward.fill("200000")
    expect(problem).to_have_text("Reward per assignment: at most $100,000.")
    reward.fill("0.001")
    expect(problem).to_contain_text("at most two decimals")
    # What is wrong with one field does not keep the others from being saved.
    wizard.get_by_label(re.compile("^Grids per assignment")).fill("7")
    wait_until("the other field to be stored", lambda: stored().grids_per_assignment == 7, 10)
    assert stored().reward_cents == 100
    assert violations(wizard) == []
    reward.fill("")
    reward.press_sequentially("2")
    expect(problem).to_have_count(0)
    wizard.get_by_role("button", name="Next: Launch").click()
    expect(wizard.get_by_role("button", name="Launch the campaign")).to_be_visible()
    expect(wizard.get_by_text("Draft saved")).to_be_visible()
    assert stored().reward_cents == 200
    wizard.context.close()


def test_settings_say_what_cannot_be_saved_also_where_they_were_folded(
    browser: Browser, web: System
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=40, rounds=2)
    page = signed_in(browser, web, owner)
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/settings")
    budget, save = page.get_by_label(re.compile("^Budget")), page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    budget.fill("0")
    save.click()
    expect(budget).to_be_focused()
    assert budget.evaluate("one => one.validationMessage")
    budget.fill("60")
    page.locator("summary", has_text="Settings of").click()
    folded = page.locator("details input[type=number]").first
    before = folded.input_value()
    folded.fill("-5")
    page.locator("summary", has_text="Settings of").click()
    save.click()
    expect(folded).to_be_focused()
    expect(page.get_by_text("Saved. Not saved: ")).to_be_visible()
    assert stored().budget == 60
    folded.fill(before)
    save.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert stored().budget == 60
    page.context.close()


def test_classes_are_named_in_the_wizard_and_corrected_in_the_settings(
    wizard: Page, web: System
) -> None:
    wizard.get_by_role("radio", name=re.compile("^Classify")).check()
    names = wizard.get_by_label(re.compile("^Classes"))
    expect(names).to_have_value("class 1\nclass 2")
    names.fill("cat\nbig dog\n\nneither")
    names.blur()
    buttons = wizard.frame_locator("iframe").locator("button[data-group]")
    expect(buttons).to_have_count(3, timeout=20_000)
    expect(buttons.nth(1)).to_contain_text("big dog")
    wait_until("the classes to be saved", lambda: stored().classes == ["cat", "big dog", "neither"])
    assert (stored().kind, stored().max_groups, stored().strategy) == ("classify", 3, "neucrowd")
    names.fill("cat\nCAT")
    names.blur()
    expect(wizard.get_by_text("Two classes are named 'CAT'.")).to_be_visible()
    names.fill("cat\nbig dog\nneither")
    names.blur()
    # Another kind with names keeps them; one without has none.
    wizard.get_by_role("radio", name=re.compile("^Label")).check()
    wait_until("the other kind", lambda: stored().kind == "labels")
    assert stored().classes == ["cat", "big dog", "neither"]
    wizard.get_by_role("radio", name=re.compile("^Select")).check()
    wait_until("a kind without names", lambda: stored().classes == [])
    expect(names).to_be_hidden()
    wizard.get_by_role("radio", name=re.compile("^Classify")).check()
    wait_until("the kind with names again", lambda: len(stored().classes) == 2)
    expect(names).to_have_value("class 1\nclass 2")
