"""A person goes through all states of the page, each on every screen: nothing is wider than the
screen, cut off or covered, the focus is not lost, and the accessibility rules are kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from sqlalchemy import update

from app.campaigns.models import Campaign
from app.core.database import transaction
from testbed.builders import a_campaign
from testbed.system import System
from tests.support.annotators_page import (
    CONSENT,
    link_of,
    no_errors_on_the_page,
    visit,
    web_settings,
)
from tests.support.axe import violations
from tests.support.person import SLOW, TILES, Person
from tests.support.screens import DESK, PHONE, Size, faults, picture, resize

__all__ = ["no_errors_on_the_page", "web_settings"]
pytestmark = pytest.mark.browser
BUNDLES = "**/api/v1/annotate/leases/*/images/*"
QUESTION = "Which of these pictures belong together, and what do those that do have in common?"
ARABIC = "أي من هذه الصور ينتمي بعضها إلى بعض، وما الذي يجمع بينها؟"
WORDS = ["striped", "with a handle and a lid", "Sitzgelegenheiten aus Holz", "红色的", "old"]
N_GROUPS = 5


@dataclass(frozen=True)
class Screen:
    """How somebody sees the page; the rules are checked at the first size."""

    sizes: list[Size]
    options: dict[str, Any]
    media: tuple[dict[str, Any], ...] = ()

    def context(self, browser: Browser) -> BrowserContext:
        width, height = self.sizes[0]
        return browser.new_context(viewport={"width": width, "height": height}, **self.options)


TOUCH = {"has_touch": True, "is_mobile": True}
SCREENS = {
    "phone": Screen(PHONE, TOUCH),
    "desk": Screen(
        DESK,
        {"reduced_motion": "reduce"},
        media=({"forced_colors": "active"}, {"forced_colors": "none"}),
    ),
    "Arabic": Screen([(390, 844), (1440, 900)], {"has_touch": True, "locale": "ar"}),
}


def problems(page: Page, screen: Screen, state: str) -> list[str]:
    """What is wrong with a state, by size; the page is as large as it was, after that."""
    found = []
    for size in screen.sizes:
        resize(page, size)
        name = f"{state} {size[0]}x{size[1]}"
        found += [f"{name}: {fault}" for fault in faults(page)]
        picture(page, name.replace(" ", "-"))
    resize(page, screen.sizes[0])
    # What lies below a panel as the page stands is looked at above, after scrolling to it.
    found += [f"{state}: {fault}" for fault in violations(page) if "obscured" not in fault]
    for media in screen.media:
        page.emulate_media(**media)
        if media == screen.media[0]:
            found += [f"{state} {media}: {fault}" for fault in faults(page)]
            picture(page, f"{state} forced".replace(" ", "-"))
    return found


@contextmanager
def held(place: Page | BrowserContext, pattern: str) -> Iterator[None]:
    """Requests wait on their way until the end of the block."""
    waiting: list[Route] = []
    place.route(pattern, lambda route: waiting.append(route))
    yield
    for route in waiting:
        route.continue_()
    place.unroute(pattern)


def press(page: Page, test_id: str) -> None:
    page.get_by_test_id(test_id).click()


def shown(page: Page, test_id: str) -> None:
    expect(page.get_by_test_id(test_id)).to_be_visible(timeout=SLOW)


def closed(page: Page) -> None:
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def sort(page: Page, n_groups: int = N_GROUPS) -> None:
    """Put all images into so many groups."""
    person = Person(page, "keyboard", lambda image: image % n_groups)
    person.sort_by_keyboard(person.images())


# --- states of a set -------------------------------------------------------------------------


def waiting(context: BrowserContext, link: str) -> Iterator[str]:
    """Until the pictures are there."""
    with held(context, BUNDLES):
        page = visit(context, link)
        shown(page, "start")
        yield "instructions"
        press(page, "start")
        expect(page.locator(".pictures")).not_to_be_empty(timeout=SLOW)
        yield "waiting for pictures"
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)


def dialogs(page: Page, kind: str) -> Iterator[str]:
    """All that opens over a set."""
    sort(page)
    shown(page, "last-look")
    yield "sorted"
    if kind == "grid":
        page.locator("button[data-group='1']").click()
        page.locator("[data-pile='1']").click()
        page.locator("[data-pile-image]").first.click()
        yield "pile"
        closed(page)
    page.locator(TILES).nth(1).focus()
    page.keyboard.press("Space")
    for _ in range(3):
        page.keyboard.press("+")
    yield "large view"
    closed(page)
    page.keyboard.press("?")
    yield "help"
    closed(page)
    for view in range(5):
        page.locator("header .icon-button").last.click()
        if view:
            page.get_by_role("dialog").locator("button.item").nth(view - 1).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.wait_for_timeout(100)
        yield f"menu {view}"
        closed(page)


def sending(page: Page, kind: str) -> Iterator[str]:
    """From Submit to the next set; one image is left."""
    page.locator(TILES).last.focus()
    for key in ("Home", "Backspace"):
        page.keyboard.press(key)
    press(page, "submit")
    for word in WORDS[:N_GROUPS]:
        if word in (WORDS[0], WORDS[N_GROUPS - 1]):
            yield f"asked for words {word}"
        page.locator(":focus").fill(word)
        page.keyboard.press("Enter")
    shown(page, "leftovers")
    yield "leftovers"
    with held(page, "**/answer"):
        press(page, "submit-leftovers")
        expect(page.get_by_test_id("submit")).to_have_attribute("aria-busy", "true")
        yield "sending"
    expect(page.get_by_test_id("position")).to_contain_text("2", timeout=SLOW)
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    yield "next set"


def quick(page: Page, campaign: Campaign) -> Iterator[str]:
    """A set that is sent sooner than four minutes after it came."""
    with transaction() as session:
        chosen = {**campaign.annotation, "quick_pause": 10}
        changed = update(Campaign).where(Campaign.id == campaign.id).values(annotation=chosen)
        session.execute(changed)
    page.reload()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    sort(page, 1)
    press(page, "submit")
    page.locator(":focus").fill(WORDS[0])
    page.keyboard.press("Enter")
    shown(page, "quick")
    yield "quick"
    press(page, "submit-quick")
    shown(page, "completion-code")
    yield "done"


def states(context: BrowserContext, web: System, campaign: Campaign) -> Iterator[str]:
    yield from waiting(context, link_of(campaign, web))
    (page,) = context.pages
    yield from dialogs(page, campaign.kind)
    yield from sending(page, campaign.kind)
    yield from quick(page, campaign)


@pytest.mark.parametrize("kind", ["grid", "bins"])
@pytest.mark.parametrize("name", SCREENS)
def test_a_set_in_all_its_states(browser: Browser, web: System, kind: str, name: str) -> None:
    campaign = a_campaign(
        kind=kind, strategy={"grid": "cen", "bins": "crowdster"}[kind], grid_size=24, budget=9,
        max_groups=6, grids_per_assignment=2, question=QUESTION, name="Household objects, round 3",
        annotation={"quick_pause": 0, "descriptions": "required", "text_language": "en",
                    "translations": {"ar": {"question": ARABIC}}},
    )  # fmt: skip
    screen = SCREENS[name]
    context = screen.context(browser)
    found: list[str] = []
    for state in states(context, web, campaign):
        (page,) = context.pages
        found += problems(page, screen, f"{kind} {name} {state}")
    assert found == [], "\n".join(found)


# --- around the sets -------------------------------------------------------------------------


def before_and_after(context: BrowserContext, link: str) -> Iterator[str]:
    """Consent, instructions, practice, and the codes of two assignments."""
    page = visit(context, link)
    shown(page, "consent-agree")
    yield "consent"
    press(page, "consent-agree")
    press(page, "start")
    for state in ("not quite", "go on"):
        sort(page, 1)
        press(page, "submit")
        shown(page, "practice-proceed")
        yield f"practice {state}"
        press(page, "practice-proceed")
        expect(page.get_by_test_id("practice-proceed")).to_have_count(0)
    for code in (1, 2):
        shown(page, "set")
        sort(page, 1)
        press(page, "submit")
        shown(page, "completion-code")
        yield f"code {code}"
        if code == 1:
            press(page, "do-more")
            expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    page.goto(f"{link[:-4]}none")
    expect(page.get_by_role("heading")).to_be_visible(timeout=SLOW)
    yield "bad link"


@pytest.mark.parametrize("name", SCREENS)
def test_what_comes_before_and_after_the_sets(browser: Browser, web: System, name: str) -> None:
    campaign = a_campaign(
        grid_size=6, budget=9, grids_per_assignment=1, question=QUESTION, reward_cents=40,
        annotation={"consent": CONSENT, "thanks": "# Thanks\n\nCome again.", "practice": 1,
                    "known_attribute": "colour", "descriptions": "none"},
    )  # fmt: skip
    screen = SCREENS[name]
    context = screen.context(browser)
    found: list[str] = []
    for state in before_and_after(context, link_of(campaign, web)):
        (page,) = context.pages
        found += problems(page, screen, f"{name} {state}")
    assert found == [], "\n".join(found)
