"""Measures the annotators' page: bytes, requests, and the time to the first usable grid.

It simulates a phone on a slow connection as Lighthouse does: 150 ms of latency and 1.6 Mbit/s
down, a processor four times slower than this one, an empty cache, and a warm server. Usable
means that all images of the grid are shown and accept clicks. Writes
`docs/benchmarks/annotator_page.md`.
"""

from __future__ import annotations

import argparse
import io
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page
from skimage import data

from app.campaigns.links import annotator_link
from app.campaigns.plan import CampaignPlan
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from app.core.settings import get_settings
from bench.harness.campaigns import start
from bench.harness.paths import publish
from likewise import environment
from likewise.commands.shared import owner_of
from testbed.browser import chromium

LATENCY_MS, DOWN, UP, SLOWDOWN = 150, 1_600_000 / 8, 750_000 / 8, 4
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
USABLE = """() => {
    const tiles = [...document.querySelectorAll('button[data-image]')];
    const shown = tiles.filter(one => one.querySelector('img')?.naturalWidth > 0);
    return tiles.length > 0 && shown.length === tiles.length && performance.now();
}"""


@dataclass
class Load:
    """One opening of the page: transferred bytes by kind, and times."""

    seconds: float = 0.0
    next_seconds: float = 0.0
    requests: int = 0
    size: dict[str, int] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    environment.load()
    links = {kind: a_campaign(kind) for kind in ("grid", "bins")}
    loads: dict[str, list[Load]] = {}
    with chromium() as browser:
        for kind, link in links.items():
            open_page(browser, link)
            loads[kind] = [open_page(browser, link) for _ in range(runs)]
            print(f"{kind}: {runs} runs done", flush=True)
    publish("annotator_page.md", report(loads, runs))


def photos(n: int, edge: int = 400) -> list[bytes]:
    """JPEG crops of the photographs in scikit-image."""
    rng = np.random.default_rng(0)
    sources = [data.astronaut(), data.chelsea(), data.coffee(), data.rocket()]
    files = []
    for k in range(n):
        source = Image.fromarray(sources[k % len(sources)])
        side = int(min(source.size) * rng.uniform(0.5, 0.95))
        left, top = (int(rng.integers(0, length - side)) for length in source.size)
        crop = source.crop((left, top, left + side, top + side)).resize((edge, edge))
        buffer = io.BytesIO()
        crop.save(buffer, "JPEG", quality=90)
        files.append(buffer.getvalue())
    return files


def a_campaign(kind: str) -> str:
    """Create a running campaign with photographs; returns its link."""
    with transaction() as session:
        owner = owner_of(session, "")
        collection = create_collection(session, owner, f"Photographs for {kind}")
        files = [(f"{k:03d}.jpg", photo) for k, photo in enumerate(photos(48))]
        add_files(session, owner, collection, files)
    plan = CampaignPlan(
        name=f"Page budget: {kind}",
        collection_id=collection.id,
        kind=kind,
        strategy="cen" if kind == "grid" else "crowdster",
        budget=2000,
        rounds=1,
        annotation={"show_instructions": False, "quick_pause": 0},
    )
    return annotator_link(start(plan), get_settings().base_url)


def open_page(browser: Browser, link: str) -> Load:
    """Open the page as a new annotator on the slow phone, sort a grid, and continue."""
    context = browser.new_context(**PHONE)
    page = context.new_page()
    load = Load()
    throttled(context, page, load)
    page.goto(link, wait_until="commit")
    load.seconds = page.wait_for_function(USABLE, timeout=60_000).json_value() / 1000
    first = dict(load.size), load.requests
    # People sort for some seconds, during which the next grid's images are loaded.
    page.wait_for_timeout(6000)
    load.size, load.requests = first
    load.next_seconds = next_grid(page)
    context.close()
    return load


def throttled(context: BrowserContext, page: Page, load: Load) -> None:
    session: CDPSession = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LATENCY_MS,
            "downloadThroughput": DOWN,
            "uploadThroughput": UP,
        },
    )
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    kinds: dict[str, str] = {}

    def replied(event: dict[str, Any]) -> None:
        if event["response"]["url"].startswith("blob:"):
            return
        kinds[event["requestId"]] = kind_of(event["response"]["mimeType"], event["type"])

    def finished(event: dict[str, Any]) -> None:
        kind = kinds.get(event["requestId"])
        if kind is not None:
            load.requests += 1
            load.size[kind] = load.size.get(kind, 0) + int(event["encodedDataLength"])

    session.on("Network.responseReceived", replied)
    session.on("Network.loadingFinished", finished)


def kind_of(mime: str, resource: str) -> str:
    if "javascript" in mime:
        return "JavaScript"
    if mime.startswith("image/svg"):
        return "other"
    if mime.startswith("image/") or "likewise.images" in mime:
        return "images"
    return {"Document": "page", "Stylesheet": "style"}.get(resource, "other")


def next_grid(page: Page) -> float:
    """Seconds from submitting until the next grid is usable."""
    images = page.locator("button[data-image]")
    shown = images.evaluate_all("all => all.map(one => one.dataset.image).join()")
    for k in range(2):
        images.nth(k).tap()
    if page.locator("section[data-group]").count():
        page.locator("section[data-group='0'] .name").tap()
    for words in page.locator("[data-description='0']").all():
        words.fill("similar")
    page.get_by_test_id("submit").tap()
    began = page.evaluate("performance.now()")
    page.get_by_test_id("submit-leftovers").tap()
    changed = f"""() => {{
        const tiles = [...document.querySelectorAll('button[data-image]')];
        const now = tiles.map(one => one.dataset.image).join();
        return tiles.length > 0 && now !== {shown!r} && ({USABLE})();
    }}"""
    return float(page.wait_for_function(changed, timeout=60_000).json_value() - began) / 1000


def report(loads: dict[str, list[Load]], runs: int) -> str:
    lines = [
        "# The annotators' page, measured",
        "",
        "`python -m bench.annotator_page` (with `make up` running): a phone with 360×740 pixels, 2",
        f"per CSS pixel; {LATENCY_MS} ms of latency, 1.6 Mbit/s down (Lighthouse's slow 4G); a",
        f"processor {SLOWDOWN} times slower than this one; an empty cache and a warm server.",
        "Photographs. *Usable*: every image of the grid is shown and accepts clicks, without a",
        "page of instructions before it. *Next*: from submitting until the next grid is usable.",
        "",
        "|  | grid of 24 | bins with 20 images | budget |",
        "|---|---|---|---|",
        row("first grid usable, s", loads, lambda load: load.seconds, 2, "1.50"),
        row("next grid usable, s", loads, lambda load: load.next_seconds, 2, ""),
        row("requests", loads, lambda load: load.requests, 0, ""),
    ]
    for kind in ("page", "JavaScript", "style", "images", "other"):
        kilobytes = partial(kilobytes_of, kind)
        budget = "60.0" if kind == "JavaScript" else ""
        lines.append(row(f"{kind}, kB over the line", loads, kilobytes, 1, budget))
    lines += ["", f"Median (smallest – largest) of {runs} runs.", ""]
    return "\n".join(lines)


def kilobytes_of(kind: str, load: Load) -> float:
    return load.size.get(kind, 0) / 1000


def row(
    name: str,
    loads: dict[str, list[Load]],
    value: Callable[[Load], float],
    digits: int,
    budget: str,
) -> str:
    cells = []
    for kind in ("grid", "bins"):
        values = [value(load) for load in loads[kind]]
        middle, low, high = statistics.median(values), min(values), max(values)
        cells.append(f"{middle:.{digits}f} ({low:.{digits}f} – {high:.{digits}f})")
    return f"| {name} | {' | '.join(cells)} | {budget} |"


if __name__ == "__main__":
    main()
