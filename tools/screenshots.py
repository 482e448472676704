"""Pictures of the annotators' pages for docs/screenshots, from a running demo.

`make up`, then `python tools/screenshots.py`: as a newcomer, in several sizes, light and dark.
The kinds of task that the demo has not are campaigns of its emoji, created here.
"""

import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from PIL import Image
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parent.parent))
from app.campaigns.links import annotator_link
from app.campaigns.plan import CampaignPlan
from app.core.database import transaction
from app.core.settings import get_settings
from bench.harness.campaigns import start
from likewise import environment
from likewise.commands.demo import COLOUR_CAMPAIGN, EMOJI_CAMPAIGN
from likewise.commands.shared import find_campaign
from testbed.browser import chromium

FOLDER = Path(__file__).parent.parent / "docs" / "screenshots"
SIZES = {"phone": (360, 740), "tablet": (768, 1024), "desk": (1440, 900)}
VOTES = {"strategy": "neucrowd", "settings": {"features": "appearance"}, "grid_size": 12}
KINDS: dict[str, dict[str, Any]] = {
    "select": {**VOTES, "question": "Which of these can you eat or drink?"},
    "classify": {
        **VOTES,
        "question": "What does each picture show?",
        "classes": ["animal", "food", "plant", "sky", "thing"],
    },
    "labels": {
        **VOTES,
        "question": "Which words are true of each picture?",
        "classes": ["alive", "round", "indoors"],
    },
    "odd_one_out": {"strategy": "crowdster", "question": "Which picture is the odd one out?"},
    "nearer": {"strategy": "crowdster", "question": "Which is more similar to the upper one?"},
}
# Questions, consent and practice are pictured with the grid.
PLAIN = {"show_instructions": False, "quick_pause": 0}


def main() -> None:
    environment.load()
    FOLDER.mkdir(exist_ok=True)
    with transaction() as session:
        demo = [find_campaign(session, name) for name in (EMOJI_CAMPAIGN, COLOUR_CAMPAIGN)]
        emoji, colours = (annotator_link(campaign, get_settings().base_url) for campaign in demo)
    others = {kind: link_of(kind, demo[0].collection_id) for kind in KINDS}
    with chromium() as browser:
        for name in SIZES:
            for scheme in ("light", "dark"):
                grid_pages(browser, emoji, name, scheme)
                bins_pages(browser, colours, name, scheme)
                for kind, link in others.items():
                    page_of(browser, kind, link, name, scheme)
        grid_pages(browser, f"{emoji}?lang=ar", "phone", "light", "-arabic")


def link_of(kind: str, collection_id: UUID) -> str:
    plan = CampaignPlan(
        name=f"Pictures of {kind}",
        collection_id=collection_id,
        kind=kind,
        budget=200,
        rounds=1,
        annotation=PLAIN,
        **KINDS[kind],
    )
    return annotator_link(start(plan), get_settings().base_url)


def page_of(browser: Browser, kind: str, link: str, size: str, scheme: str) -> None:
    """A set in the middle of its work, with the first answers given."""
    page = opened(browser, link, size, scheme)
    page.locator("button:has(img) img").first.wait_for()
    for k, group in enumerate((1, 0, 2, 1)):
        if kind in ("classify", "labels"):
            page.locator(f"button[data-group='{group}']").first.click()
        if "grid_size" in KINDS[kind]:
            page.locator("button[data-image]").nth(2 * k).click()
    page.mouse.move(1, 1)
    page.wait_for_timeout(900)
    take(page, f"{kind}-{size}-{scheme}")
    page.context.close()


def opened(browser: Browser, link: str, size: str, scheme: str) -> Page:
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=2 if size == "phone" else 1,
        has_touch=size == "phone",
        is_mobile=size == "phone",
    )
    page = context.new_page()
    page.goto(link)
    return page


def grid_pages(browser: Browser, link: str, size: str, scheme: str, mark: str = "") -> None:
    page = opened(browser, link, size, scheme)
    name = f"{size}-{scheme}{mark}"
    page.get_by_test_id("consent-agree").wait_for()
    take(page, f"consent-{name}")
    page.get_by_test_id("consent-agree").click()
    page.get_by_test_id("start").wait_for()
    take(page, f"instructions-{name}")
    page.get_by_test_id("start").click()
    practise(page, name)
    colour_some(page)
    take(page, f"grid-{name}")
    look_closer(page, name)
    submit(page, name)
    page.context.close()


def look_closer(page: Page, name: str) -> None:
    """A pile that is open, and an image that is magnified."""
    page.locator("button[data-group='0']").click()
    page.locator("[data-pile='0']").click()
    page.locator("[data-pile-image] img").first.wait_for()
    take(page, f"pile-{name}")
    page.keyboard.press("Escape")
    page.locator("button[data-image]").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("dialog").locator("img").wait_for()
    for _ in range(4):
        page.keyboard.press("+")
    take(page, f"large-{name}")
    page.keyboard.press("Escape")


def submit(page: Page, name: str) -> None:
    """What is asked before a set is sent."""
    page.get_by_test_id("submit").click()
    page.locator("[data-description]").first.wait_for()
    take(page, f"words-{name}")
    leftovers = page.get_by_test_id("leftovers")
    # All fields at once on a desk, one after the other on phones.
    for _ in range(6):
        for field in page.locator(".used [data-description], .ask [data-description]").all():
            field.fill("similar")
        page.get_by_test_id("submit").click()
        page.wait_for_timeout(300)
        if leftovers.is_visible():
            break
    leftovers.wait_for()
    take(page, f"leftovers-{name}")


def practise(page: Page, name: str) -> None:
    for attempt in range(2):
        shown(page)
        if attempt == 0:
            for k in (0, 1):
                page.locator("button[data-image]").nth(k).click()
        page.get_by_test_id("submit").click()
        page.get_by_test_id("practice-proceed").wait_for()
        if attempt == 0:
            take(page, f"practice-{name}")
        page.get_by_test_id("practice-proceed").click()
    page.get_by_test_id("earned").wait_for()


def colour_some(page: Page) -> None:
    shown(page)
    tiles = page.locator("button[data-image]")
    for group, members in enumerate(((0, 3, 9, 14), (1, 6, 7), (2, 16, 20))):
        page.locator(f"button[data-group='{group}']").click()
        for k in members:
            tiles.nth(k).click()
    words = page.locator("[data-description='2']")
    words.fill("…")
    page.mouse.move(1, 1)
    page.wait_for_timeout(900)


def bins_pages(browser: Browser, link: str, size: str, scheme: str) -> None:
    page = opened(browser, link, size, scheme)
    page.get_by_test_id("start").click()
    shown(page)
    for group in (0, 1, 3, 0, 1, 2, 0):
        page.get_by_test_id("tray").locator("button[data-image]").nth(2).click()
        page.locator(f"section[data-group='{group}'] .name").click()
    page.get_by_test_id("tray").locator("button[data-image]").nth(1).click()
    page.mouse.move(1, 1)
    page.wait_for_timeout(900)
    take(page, f"bins-{size}-{scheme}")
    page.context.close()


def shown(page: Page) -> None:
    page.locator("button[data-image] img").first.wait_for()
    page.wait_for_timeout(500)


def take(page: Page, name: str) -> None:
    """As WebP, which is a tenth of the PNG."""
    page.wait_for_timeout(200)
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).save(path.with_suffix(".webp"), quality=80)
    path.unlink()


main()
