"""Measures the map with 100,000 images: first paint, frames per second, memory and bytes.

A campaign with that many small, distinct images and three models is written directly into a
separate database and object storage, and a server is started for them. Chromium without a
graphics card opens the map, pans and zooms with the mouse. The same with 1,000. Writes
`docs/benchmarks/embedding_map.md`.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import Browser, Page

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.core.database import transaction
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use, use_new_database
from bench.map_campaign import N_CLUSTERS, N_MODELS, a_mapped_campaign
from testbed.browser import chromium
from testbed.system import System, running_system

# Without a graphics card, the processor (SwiftShader) paints WebGL in both cases. Chromium's own
# software compositor paints the page around it, or SwiftShader as well.
COMMON = ("--no-sandbox", "--enable-precise-memory-info")
BROWSERS = {
    "software compositor": (*COMMON, "--disable-gpu"),
    "all by SwiftShader": (
        *COMMON,
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
    ),
}
RECORDER = """() => {
    window.intervals = [];
    let last = 0;
    const step = now => {
        if (window.recording && last) window.intervals.push(now - last);
        last = now;
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
}"""
SETTLED = "[data-testid=map][data-settled=true]"


@dataclass
class Measured:
    """Results for one number of images in one browser: seconds, bytes, and for each movement the
    intervals between frames (ms) and the processor time per frame (ms, all of the browser)."""

    n: int
    browser: str
    first_paint: list[float] = field(default_factory=list)
    all_pictures: list[float] = field(default_factory=list)
    cold_layout: float = 0.0
    bytes_first: int = 0
    requests_first: int = 0
    bytes_all: int = 0
    heap: int = 0
    frames: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    load: dict[str, float] = field(default_factory=dict)
    pictures: dict[str, int] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, nargs="*", default=[1_000, 100_000])
    parser.add_argument("--runs", type=int, default=5, help="how often the page is opened")
    options = parser.parse_args()
    results = []
    with a_system() as system:
        for n in options.images:
            owner, campaign = a_mapped_campaign(n)
            print(f"laid out {n} images", flush=True)
            address = f"{system.base_url}/campaigns/{campaign.id}/map"
            for name, arguments in BROWSERS.items():
                with chromium(arguments) as browser:
                    measured = Measured(n, name)
                    measure(browser, system, owner, address, measured, options.runs)
                    results.append(measured)
                print(f"measured {n} images, {name}", flush=True)
    publish("embedding_map.md", report(results, options.runs))


@contextmanager
def a_system() -> Iterator[System]:
    """A web server with a separate database and storage; this process gets its settings."""
    with own_servers() as (servers, folder):
        environment = use_new_database(servers, folder / "data")
        with running_system(environment, folder, "web") as system:
            use(system.environment)
            yield system


def measure(
    browser: Browser, system: System, owner: Account, address: str, measured: Measured, runs: int
) -> None:
    # The first opening makes layout and sheets, so it is measured separately.
    for run in range(runs + 1):
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        page = context.new_page()
        page.on("pageerror", lambda error: print("error on the page:", error))
        traffic = Traffic(page)
        with transaction() as session:
            page.goto(create_sign_in_link(session, owner, system.base_url))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        traffic.forget()
        first, settled = open_map(page, address, traffic)
        if run == 0:
            measured.cold_layout = first
        else:
            measured.first_paint.append(first)
            measured.all_pictures.append(settled)
        if run == runs:
            measured.bytes_first, measured.requests_first = traffic.bytes, traffic.requests
            move(page, measured)
            measured.bytes_all = traffic.bytes
            measured.heap = page.evaluate("performance.memory.usedJSHeapSize")
        context.close()


class Traffic:
    """Counts transferred bytes."""

    def __init__(self, page: Page) -> None:
        self.bytes = self.requests = 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._finished)

    def _finished(self, event: dict[str, Any]) -> None:
        self.bytes += int(event["encodedDataLength"])
        self.requests += 1

    def forget(self) -> None:
        self.bytes = self.requests = 0


def open_map(page: Page, address: str, traffic: Traffic) -> tuple[float, float]:
    """Seconds from navigation to the canvas with all points, and with all its pictures."""
    page.goto(address, wait_until="commit")
    drawn = "document.querySelector('[data-testid=map]')?.dataset"
    first = page.wait_for_function(f"() => {drawn}?.version && performance.now()", timeout=120_000)
    whole = page.wait_for_function(
        f"() => {drawn}.settled === 'true' && performance.now()", timeout=120_000
    )
    return first.json_value() / 1000, whole.json_value() / 1000


def move(page: Page, measured: Measured) -> None:
    """Pan and zoom at each level of detail."""
    page.evaluate(RECORDER)
    pictures = page.get_by_label("Pictures")
    box = page.get_by_test_id("map").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    pictures.select_option("none")
    record(page, measured, "dots", x, y)
    pictures.select_option("medium")
    record(page, measured, "small pictures", x, y)
    page.mouse.move(x, y)
    while page.get_by_test_id("map").get_attribute("data-detail") != "near":
        page.mouse.wheel(0, -200)
        page.wait_for_timeout(500)
    record(page, measured, "close", x, y)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show all", exact=True).click()
    page.wait_for_selector(SETTLED)
    moving(page, measured)


def record(page: Page, measured: Measured, name: str, x: float, y: float) -> None:
    page.wait_for_selector(SETTLED, timeout=60_000)
    shown = page.get_by_test_id("map").get_attribute("data-pictures")
    measured.pictures[name] = int(shown or 0)
    with recording(page, measured, f"{name}, pan"):
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(150):
            angle = step / 12
            page.mouse.move(x + 160 * np.sin(angle), y + 90 * np.sin(2 * angle))
            page.wait_for_timeout(10)
        page.mouse.move(x, y)
        page.mouse.up()
    with recording(page, measured, f"{name}, zoom"):
        for step in range(60):
            page.mouse.wheel(0, -40 if step // 15 % 2 == 0 else 40)
            page.wait_for_timeout(30)


def moving(page: Page, measured: Measured) -> None:
    """Move from the first model to the newest."""
    slider = page.get_by_label("Model over time")
    slider.fill("0")
    page.wait_for_selector("[data-testid=map][data-version='1'][data-settled=true]")
    with recording(page, measured, "from model to model"):
        for version in (2, 3):
            slider.fill(str(version - 1))
            page.wait_for_selector(f"[data-testid=map][data-version='{version}']")
            page.wait_for_timeout(900)


@contextmanager
def recording(page: Page, measured: Measured, name: str) -> Iterator[None]:
    """Intervals between frames and the browser's processor time during the block."""
    page.evaluate("window.intervals = []; window.recording = true")
    before = processor_seconds()
    yield
    spent = processor_seconds() - before
    page.evaluate("window.recording = false")
    intervals = [float(value) for value in page.evaluate("window.intervals")]
    measured.frames[name] = intervals
    measured.processor[name] = 1000 * spent / max(len(intervals), 1)
    measured.load[name] = os.getloadavg()[0]


def processor_seconds() -> float:
    times = [
        process.cpu_times()
        for process in psutil.Process().children(recursive=True)
        if "chrom" in process.name()
    ]
    return sum(used.user + used.system for used in times)


def report(results: list[Measured], runs: int) -> str:
    heads = [f"{result.n:,} images, {result.browser}" for result in results]
    loads = [value for result in results for value in result.load.values()]
    lines = [
        "# The embedding map, measured",
        "",
        "`python -m bench.embedding_map`: a separate database and storage, small synthetic images,",
        f"all distinct, in {N_CLUSTERS} clusters, {N_MODELS} models; Chromium at 1440×1000",
        "pixels without a graphics card, on the machine that also runs server and database",
        f"({os.cpu_count()} cores). Other work ran there too: load averages of {min(loads):.1f} to",
        f"{max(loads):.1f} while frames were counted. So the processor time of a frame, on which",
        "other work has hardly any effect, is reported as well. SwiftShader paints WebGL in all",
        "cases; Chromium's software compositor (`--disable-gpu`) paints the page around it, or",
        "SwiftShader as well (`--use-gl=angle --use-angle=swiftshader`).",
        "",
        f"|  | {' | '.join(heads)} | target |",
        f"|---|{'---|' * len(results)}---|",
        _row("first paint, s", results, lambda m: _spread(m.first_paint), "3"),
        _row("all pictures of the first view, s", results, lambda m: _spread(m.all_pictures), ""),
        _row("opened for the first time, s", results, lambda m: f"{m.cold_layout:.2f}", ""),
        _row("bytes until then, kB", results, lambda m: f"{m.bytes_first / 1000:,.0f}", ""),
        _row("requests until then", results, lambda m: str(m.requests_first), ""),
        _row("bytes after all movements, kB", results, lambda m: f"{m.bytes_all / 1000:,.0f}", ""),
        _row(
            "JavaScript heap after all movements, MB", results, lambda m: f"{m.heap / 1e6:.0f}", ""
        ),
        "",
        "First paint: from navigation to the canvas with every point, with an empty browser cache",
        f"and a server that showed this map before; median (smallest – largest) of {runs} runs.",
        "*Opened for the first time*: the first paint before the server has prepared this map",
        "(in the first of the two browsers).",
        "",
        "Frames per second, median (5th percentile); processor time per frame in ms; load average:",
        "",
        f"| | {' | '.join(heads)} | target |",
        f"|---|{'---|' * len(results)}---|",
    ]
    for name in results[0].frames:
        lines.append(_row(name, results, partial(_pace, name), "30"))
    lines += [
        "",
        "Levels of detail:",
        "",
        *(f"- *{name}*: {_pictures(results, name)}" for name in results[0].pictures),
        "",
        "At *dots*, every image is a dot. At *small pictures*, a well-spread part of the images in",
        "view are pictures of 34 pixels from sheets of 64, and all others are dots. At *close*, at",
        "most 400 images are in view and all are pictures, unless one would cover more than half",
        "of another. If more dots are in view than a frame can paint, several frames paint them",
        "while the last painting moves with the view; at rest, every dot is at its position.",
        "*From model to model*, only a part of the dots is painted while they move.",
        "",
    ]
    return "\n".join(lines)


def _row(name: str, results: list[Measured], cell: Callable[[Measured], str], target: str) -> str:
    return f"| {name} | {' | '.join(cell(result) for result in results)} | {target} |"


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} – {max(values):.2f})"


def _pace(name: str, measured: Measured) -> str:
    middle, slow = np.quantile(measured.frames[name], [0.5, 0.95])
    spent, load = measured.processor[name], measured.load[name]
    return f"{1000 / middle:.0f} ({1000 / slow:.0f}); {spent:.0f} ms; {load:.1f}"


def _pictures(results: list[Measured], name: str) -> str:
    sizes = dict.fromkeys(
        f"{result.pictures[name]} pictures of {result.n:,} images" for result in results
    )
    return ", ".join(sizes)


if __name__ == "__main__":
    main()
