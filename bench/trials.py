"""Measures how long a choice of the odd one out takes a person who does not think.

Scripted people open the annotators' page of a running system (`make up`) in Chromium and choose in
twenty triplets of photographs, by mouse or keyboard on a fast connection, and by touch on the slow
phone of bench/annotator_page.py. Each chooses as soon as the next three images are painted and take
a choice. Writes `docs/benchmarks/trials.md`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page

from app.campaigns.links import annotator_link
from app.campaigns.plan import CampaignPlan
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from app.core.settings import get_settings
from bench.annotator_page import PHONE, Load, photos, throttled
from bench.harness.campaigns import start
from bench.harness.paths import publish
from bench.harness.tables import table
from likewise import environment
from likewise.commands.shared import owner_of
from testbed.browser import chromium

TRIALS = 20
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
# Three other images than before are painted, and take a choice.
READY = """(before) => {
    const tiles = [...document.querySelectorAll(
        '.stage:not([inert]) > .images:not([aria-disabled="true"]) button[data-image]')];
    const now = tiles.map(tile => tile.dataset.image).join();
    const painted = tiles.every(tile => tile.querySelector('img')?.naturalWidth > 0);
    return tiles.length === 3 && painted && now !== before && now;
}"""


def by_mouse(page: Page) -> None:
    page.locator(".stage button[data-image]").nth(1).click()


def by_keyboard(page: Page) -> None:
    page.keyboard.press("2")


def by_touch(page: Page) -> None:
    page.locator(".stage button[data-image]").nth(1).tap()


WAYS: dict[str, tuple[dict[str, Any], bool, Callable[[Page], None]]] = {
    "mouse": (DESK, False, by_mouse),
    "keyboard": (DESK, False, by_keyboard),
    "touch, slow phone": (PHONE, True, by_touch),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=3)
    people = parser.parse_args().people
    environment.load()
    link = a_link()
    with chromium() as browser:
        seconds = {
            way: [took for _ in range(people) for took in trials(browser, link, way)]
            for way in WAYS
        }
    publish("trials.md", report(seconds, people))


def a_link() -> str:
    """Of a running campaign with photographs."""
    with transaction() as session:
        owner = owner_of(session, "")
        collection = create_collection(session, owner, "Photographs for triplets")
        files = [(f"{k:03d}.jpg", photo) for k, photo in enumerate(photos(48))]
        add_files(session, owner, collection, files)
    plan = CampaignPlan(
        name="Seconds for a choice",
        collection_id=collection.id,
        kind="odd_one_out",
        strategy="crowdster",
        grid_size=3,
        budget=2_000,
        rounds=1,
        grids_per_assignment=TRIALS,
        annotation={"show_instructions": False},
    )
    return annotator_link(start(plan), get_settings().base_url)


def trials(browser: Browser, link: str, way: str) -> list[float]:
    """Seconds from each choice until the next three images take one, of one person."""
    device, is_slow, choose = WAYS[way]
    context = browser.new_context(**device)
    page = context.new_page()
    if is_slow:
        throttled(context, page, Load())
    page.goto(link, wait_until="commit")
    shown = page.wait_for_function(READY, arg="", timeout=60_000).json_value()
    seconds = []
    for _ in range(TRIALS - 1):
        began = page.evaluate("performance.now()")
        choose(page)
        shown = page.wait_for_function(READY, arg=shown, timeout=60_000).json_value()
        seconds.append((page.evaluate("performance.now()") - began) / 1000)
    context.close()
    return seconds


def report(seconds: dict[str, list[float]], people: int) -> str:
    body = [
        [way, f"{statistics.median(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"]
        for way, values in seconds.items()
    ]
    return "\n".join(
        [
            "# Seconds for a choice",
            "",
            "`python -m bench.trials` (with `make up` running): odd one out of three photographs, "
            f"{people} scripted people with {TRIALS} choices each, who choose as soon as the next "
            "three images are painted and take a choice (new images take none for 0.3 s). The "
            "phone has a slow connection and a slow processor, as in annotator_page.md.",
            "",
            *table(["by", "median, s", "least", "most"], body),
            "",
        ]
    )


if __name__ == "__main__":
    main()
