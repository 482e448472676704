"""Groups as piles: opened, split, merged, emptied, and looked at once more before they are sent."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from app.annotation.models import Answer
from app.campaigns.models import Grid
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System, wait_until
from tests.support.annotators_page import (
    PHONE,
    at_work,
    grouped,
    kind_of,
    link_of,
    no_errors_on_the_page,
    stored,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import SLOW, TILES, Person, Way

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
IMAGES = "[data-pile-image]"
TOUCH = {"has_touch": True, "is_mobile": True}
LOW = {"viewport": {"width": 844, "height": 390}, **TOUCH}
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


def person_at(page: Page, way: Way) -> Person:
    """Puts every third image into the same group."""
    images = Person(page, way, kind_of).images()
    return Person(page, way, lambda image: images.index(image) % 3)


def sorted_grid(browser: Browser, web: System, way: Way = "mouse", **options: Any) -> Page:
    """Twelve images in three groups of four."""
    plan = options.pop("plan", {})
    campaign = a_campaign(**{"grid_size": 12, "budget": 4, "max_groups": 6, **plan})
    page = at_work(browser, link_of(campaign, web), **options)
    person_at(page, way).sort_grid()
    return page


def members(page: Page, group: int) -> set[int]:
    """The images of a group, which is named as people see it: the first one is 1."""
    return {image for image, number in grouped(page).items() if number == str(group)}


def pile(page: Page, group: int) -> Locator:
    return page.locator(f"[data-pile='{group - 1}']")


def in_pile(page: Page) -> list[int]:
    values = page.locator(IMAGES).evaluate_all("all => all.map(one => one.dataset.pileImage)")
    return [int(value) for value in values]


def act(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog").get_by_role("button", name=name)


def last_look(page: Page) -> Locator:
    return page.get_by_test_id("last-look").locator("> p")


def stored_groups(answer: Answer) -> dict[int, set[int]]:
    with transaction() as session:
        images = session.get_one(Grid, answer.grid_id).images
    groups: dict[int, set[int]] = {}
    for image, group in zip(images, answer.groups or [], strict=True):
        groups.setdefault(group, set()).add(image)
    return groups


# --- opening ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
def test_a_pile_opens_and_gives_the_focus_back(browser: Browser, web: System, way: Way) -> None:
    page = sorted_grid(browser, web, way, **(PHONE if way == "touch" else {}))
    person = Person(page, way, kind_of)
    chosen = page.locator("button.group[aria-pressed='true'][data-group]")
    group = int(chosen.get_attribute("data-group") or "") + 1
    images = members(page, group)
    expect(pile(page, group)).to_have_accessible_name(f"Open Group {group}, {len(images)} images")
    person.press(pile(page, group))
    dialog = page.get_by_role("dialog", name=f"Group {group}, {len(images)} images")
    expect(dialog).to_be_visible()
    assert set(in_pile(page)) == images
    assert violations(page) == []
    person.press(dialog.get_by_role("button", name="Close"))
    expect(dialog).to_have_count(0)
    expect(pile(page, group)).to_be_focused()
    # To look into a group is not to choose it.
    assert int(chosen.get_attribute("data-group") or "") + 1 == group
    if way == "keyboard":
        page.locator("button[data-group='1']").focus()
        page.keyboard.press("o")
        expect(page.get_by_role("dialog", name="Group 2, ")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("button[data-group='1']")).to_be_focused()
        assert int(chosen.get_attribute("data-group") or "") + 1 == group


def test_groups_with_images_have_piles(browser: Browser, web: System) -> None:
    page = sorted_grid(browser, web)
    expect(page.locator("[data-pile]")).to_have_count(3)
    expect(page.locator("[data-pile='0'] img")).to_have_count(4)
    page.get_by_title("Clear all").click()
    expect(page.locator("[data-pile]")).to_have_count(0)


def test_classes_are_no_piles(browser: Browser, web: System) -> None:
    campaign = a_campaign(
        kind="classify", strategy="neucrowd", classes=["red", "green"], grid_size=12, budget=4
    )
    page = at_work(browser, link_of(campaign, web))
    page.locator(TILES).first.click()
    expect(page.locator("[data-pile]")).to_have_count(0)
    expect(page.get_by_test_id("last-look")).to_have_count(0)


# --- taking out, splitting, merging ----------------------------------------------------------


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


# --- the last look ---------------------------------------------------------------------------


def test_the_last_look_is_in_step_with_what_is_sent(browser: Browser, web: System) -> None:
    page = at_work(browser, link_of(a_campaign(grid_size=6, budget=4), web))
    said = page.get_by_test_id("last-look-said")
    expect(page.get_by_test_id("last-look")).to_be_hidden()
    for n_clicks, text in ((1, "1 group, 1 image, 5"), (5, "1 group, 5 images, 1")):
        while len(grouped(page)) < n_clicks:
            page.locator(f"{TILES}:not(.grouped)").first.click()
        expect(last_look(page)).to_have_text(f"{text} without a group")
        expect(said).to_have_text("")
    page.locator("button[data-group='1']").click()
    page.locator(f"{TILES}:not(.grouped)").first.click()
    expect(last_look(page)).to_have_text("2 groups, 6 images")
    expect(said).to_have_text("2 groups, 6 images")
    expect(page.get_by_test_id("last-look").locator(".number")).to_have_text(["1", "2"])
    page.keyboard.press("Control+z")
    expect(last_look(page)).to_have_text("1 group, 5 images, 1 without a group")
    expect(said).to_have_text("")


@pytest.mark.parametrize(
    ("language", "text"),
    [("de", "3 Gruppen, 12 Bilder"), ("ar", "3 مجموعات، 12 صورة")],
)
def test_the_last_look_on_phones_comes_when_all_is_sorted(
    browser: Browser, web: System, language: str, text: str
) -> None:
    page = at_work(
        browser,
        link_of(a_campaign(grid_size=12, budget=4), web),
        locale=language,
        **PHONE,
    )
    person = person_at(page, "touch")
    person.press(page.locator(TILES).first)
    expect(page.get_by_test_id("last-look")).to_be_hidden()
    person.press(page.locator(TILES).first)
    person.sort_grid()
    expect(last_look(page)).to_be_visible()
    expect(last_look(page)).to_have_text(text)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_last_look_at_bins_moves_no_image(browser: Browser, web: System) -> None:
    campaign = a_campaign(kind="bins", strategy="crowdster", grid_size=8, budget=4)
    page = at_work(browser, link_of(campaign, web))
    person = person_at(page, "mouse")
    last = person.tile(person.images()[-1])
    before = last.bounding_box()
    person.sort_bins(leave=1)
    expect(last_look(page)).to_have_text("3 bins, 7 images, 1 in no bin")
    assert last.bounding_box() == before
    expect(page.locator("[data-pile]")).to_have_count(0)


# --- everywhere ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 320, "height": 640}, **TOUCH},
        {"viewport": {"width": 390, "height": 844}, **TOUCH},
        {"viewport": {"width": 390, "height": 844}, "locale": "ar", **TOUCH},
        LOW,
        {**LOW, "locale": "ar"},
        {"viewport": {"width": 1440, "height": 900}, "forced_colors": "active"},
        {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"},
    ],
    ids=["320", "390", "390 Arabic", "844x390", "844x390 Arabic", "1440 forced colours", "1440"],
)
def test_an_open_pile_fits_every_screen(
    browser: Browser, web: System, options: dict[str, Any]
) -> None:
    way: Way = "touch" if "has_touch" in options else "mouse"
    page = sorted_grid(browser, web, way, **options)
    person = Person(page, way, kind_of)
    width = options["viewport"]["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    person.press(page.locator("button[data-group='1']"))
    person.press(pile(page, 2))
    person.press(page.locator(IMAGES).first)
    box = page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    inside = "one => one.scrollWidth <= one.clientWidth"
    assert page.get_by_role("dialog").evaluate(inside)
    outline = page.locator(IMAGES).first.evaluate("one => getComputedStyle(one).outlineStyle")
    assert outline == "solid"
    assert violations(page) == []
    count = page.locator(IMAGES).count()
    person.press(page.get_by_role("dialog").locator(".acts .button").first)
    expect(page.locator(IMAGES)).to_have_count(count - 1)
