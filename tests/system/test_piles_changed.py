"""Piles that are split, merged and emptied: images change their group in an open pile."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.annotation.models import Answer
from app.campaigns.models import Grid
from app.core.database import transaction
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    PHONE,
    grouped,
    kind_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.person import SLOW, Person
from tests.support.piles import IMAGES, in_pile, members, pile, sorted_grid

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
SPLIT = "Make a new group of these"
OUT = "Remove from the group"
# What is announced behind an open dialog is not read out.
WATCH = """
() => {
    const place = document.querySelector('[data-testid=announcement]');
    window.watched = [];
    new MutationObserver((records) => {
        for (const {target, removedNodes} of records) {
            if ([...removedNodes].some((node) => node.nodeName === 'DIALOG'))
                window.watched.push('closed');
            if (place.contains(target)) window.watched.push(place.textContent);
        }
    }).observe(document.body, {childList: true, characterData: true, subtree: true});
}
"""


def act(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog").get_by_role("button", name=name)


def stored_groups(answer: Answer) -> dict[int, set[int]]:
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    groups: dict[int, set[int]] = {}
    for image, group in zip(images, answer.groups or [], strict=True):
        groups.setdefault(group, set()).add(image)
    return groups


def test_by_keyboard_alone_a_group_is_split_merged_and_sent(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web, "keyboard")
    person = Person(page, "keyboard", kind_of)
    page.locator("[data-description='0']").fill("first")
    page.locator("[data-description='1']").fill("second")
    first, second, third = (members(page, group) for group in (1, 2, 3))
    # Two images of the first group become the fourth group.
    person.walk_to(pile(page, 1))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_have_accessible_name(f"Group 1 (first), {len(first)} images")
    person.walk_to(page.locator(IMAGES).first)
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    halves = in_pile(page)
    person.walk_to(act(page, SPLIT))
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_have_text(
        "2 images moved to Group 4. All images are sorted."
    )
    expect(act(page, SPLIT)).to_be_focused()
    assert in_pile(page) == halves[2:]
    # Undone and done again, in the pile as on the grid.
    page.keyboard.press("Control+z")
    assert in_pile(page) == halves
    page.keyboard.press("Control+Shift+z")
    assert members(page, 4) == set(halves[:2])
    page.keyboard.press("Escape")
    # All of the second go into the fourth, which has no words of its own.
    person.walk_to(pile(page, 2))
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Put all images into")
    person.walk_to(dialog.get_by_role("button", name="Group 4, 2 images"))
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator("button[data-group='3']")).to_be_focused()
    expect(page.get_by_test_id("announcement")).to_have_text(
        f"{len(second)} images moved to Group 4. All images are sorted."
    )
    assert members(page, 4) == second | set(halves[:2])
    expect(page.locator("[data-description='3']")).to_have_value("second")
    # Undone after a reload, too.
    page.reload()
    expect(page.locator("[data-description='3']")).to_have_value("second", timeout=SLOW)
    page.keyboard.press("Control+z")
    expect(pile(page, 2)).to_be_visible()
    assert members(page, 2) == second
    expect(page.locator("[data-description='3']")).to_have_value("")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator("[data-description='3']")).to_have_value("second")
    page.locator("[data-description='2']").fill("third")
    page.keyboard.press("Control+Enter")
    page.locator("[data-description='2']").press("Enter")
    (answer,) = wait_until("an answer", stored)
    assert answer.descriptions == ["first", "", "third", "second"]
    assert stored_groups(answer) == {0: set(halves[2:]), 2: third, 3: second | set(halves[:2])}
    assert {event[1] for event in answer.trace} <= set("purcdszbohv")
    splits = [event for event in answer.trace if event[1] == "p" and event[2] == 3]
    assert [len(event) - 3 for event in splits] == [2, len(second)]


def test_images_are_taken_out_and_put_into_another_group(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    first, second = members(page, 1), members(page, 2)
    pile(page, 1).click()
    page.locator(IMAGES).first.click()
    out = in_pile(page)[0]
    act(page, OUT).click()
    assert members(page, 1) == first - {out}
    page.locator(IMAGES).first.click()
    moved = in_pile(page)[0]
    expect(page.get_by_role("dialog")).to_contain_text("Put the selected images into")
    act(page, "Group 2, ").click()
    assert members(page, 2) == second | {moved}
    # The last ones: there is no pile to look at any more, nor one that had the focus.
    for image in page.locator(IMAGES).all():
        image.click()
    expect(act(page, SPLIT)).to_have_attribute("aria-disabled", "true")
    act(page, OUT).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("button[data-group='0']")).to_be_focused()
    assert members(page, 1) == set()
    for n_back in (len(first) - 2, len(first) - 1, len(first)):
        page.keyboard.press("Control+z")
        assert len(members(page, 1)) == n_back
    assert members(page, 1) == first


def test_a_key_in_a_pile_undoes_one_step(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    before = grouped(page)
    pile(page, 1).click()
    for index in (0, 1):
        page.locator(IMAGES).nth(index).click()
    act(page, SPLIT).click()
    page.keyboard.press("Escape")
    pile(page, 4).click()
    page.evaluate(WATCH)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("button[data-group='3']")).to_be_focused()
    assert grouped(page) == before
    closed, said = page.evaluate("watched")
    assert closed == "closed"
    assert said.startswith("Undone")


def test_an_emptied_pile_is_announced_once_it_is_closed(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    pile(page, 1).click()
    for image in page.locator(IMAGES).all():
        image.click()
    page.evaluate(WATCH)
    act(page, OUT).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("watched") == ["closed", "4 images removed. 4 images left."]


def test_the_focus_stays_in_a_pile_whose_images_come_and_go(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    pile(page, 1).click()
    images = in_pile(page)
    first, _, third, fourth = (page.locator(f"[data-pile-image='{image}']") for image in images)
    for index in (0, 1):
        page.locator(IMAGES).nth(index).click()
    act(page, SPLIT).click()
    page.keyboard.press("Control+z")
    fourth.focus()
    page.keyboard.press("Control+Shift+z")
    expect(fourth).to_be_focused()
    expect(fourth).to_have_attribute("tabindex", "0")
    page.keyboard.press("ArrowLeft")
    expect(third).to_be_focused()
    page.keyboard.press("Control+z")
    # The image that has the focus leaves: the next one takes it, and its keys.
    first.focus()
    page.keyboard.press("Control+Shift+z")
    expect(third).to_be_focused()
    page.keyboard.press("Control+z")
    assert in_pile(page) == images


def test_no_group_is_left_for_a_new_one(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web, plan={"max_groups": 3})
    before = grouped(page)
    pile(page, 1).click()
    expect(act(page, SPLIT)).to_have_accessible_description(
        "All groups are in use: there is none left for a new one."
    )
    page.locator(IMAGES).first.click()
    expect(act(page, SPLIT)).to_have_attribute("aria-disabled", "true")
    act(page, SPLIT).click(force=True)
    assert grouped(page) == before
    expect(page.locator(f"{IMAGES}[aria-pressed='true']")).to_have_count(1)


def test_the_group_that_went_into_another_is_not_the_chosen_one(
    browser: Browser, web: System
) -> None:
    page = sorted_grid(browser, web, "touch", **PHONE)
    page.locator("button[data-group='2']").tap()
    pile(page, 3).tap()
    act(page, "Group 1, ").tap()
    expect(page.locator("button[data-group='0']")).to_have_attribute("aria-pressed", "true")
    expect(pile(page, 1)).to_be_visible()
    assert members(page, 3) == set()
