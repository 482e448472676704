"""Measures an upload of 5,000 images and searches among 100,000.

A browser on the machine that also runs the server uploads a folder of photographs, then the same
folder again, of which nothing needs to be sent. The searches call the service, for a collection
whose rows are generated in the database. Writes `docs/benchmarks/uploads.md`. Needs `make up`;
what it created is deleted at the end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psutil
from playwright.sync_api import Page, expect
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.accounts.service import create_sign_in_link
from app.collections import search
from app.collections.deletion import Selection, delete_collection, delete_images
from app.collections.images import prepare_image
from app.collections.models import Collection
from app.collections.search import ImageFilter
from app.collections.service import create_collection
from app.core.database import transaction
from app.core.settings import get_settings
from bench.annotator_page import photos
from bench.harness.paths import publish
from bench.harness.processes import peak_memory
from likewise import environment
from likewise.commands.shared import owner_of
from testbed.browser import chromium

MANY = 100_000
EDGE = 800
FILL = """
    INSERT INTO image (id, collection_id, position, sha256, filename, width, height, attributes)
    SELECT gen_random_uuid(), :id, k, encode(sha256(k::text::bytea), 'hex'),
           'photo-' || lpad(((k * 7919) % :n)::text, 6, '0') || '.jpg', 1200, 900,
           jsonb_build_object('colour', (ARRAY['red','green','blue','dark red'])[1 + k % 4],
                              'place', 'place ' || k % 50, 'number', k::text)
    FROM generate_series(0, :n - 1) AS k
"""


@dataclass
class Upload:
    """Seconds of the first and the second upload, MiB of the web server before and maximum, and
    the machine's load average of five minutes at the end."""

    n: int
    megabytes: float
    seconds: float
    again: float
    rest: float
    peak: float
    load: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    options = parser.parse_args()
    environment.load()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "Photographs"
        megabytes = a_folder(files, options.images)
        upload = measured_upload(files, options.images, megabytes)
    print(upload, flush=True)
    finds = measured_search()
    publish("uploads.md", report(upload, decoding(), finds))


def a_folder(folder: Path, n: int) -> float:
    """Write n different files of 50 photographs, whose trailing bytes are ignored; total MB."""
    folder.mkdir()
    sources = photos(50, EDGE)
    for k in range(n):
        (folder / f"photo-{k:05d}.jpg").write_bytes(sources[k % 50] + f"{k:08d}".encode())
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def measured_upload(folder: Path, n: int, megabytes: float) -> Upload:
    web = web_server()
    base = get_settings().base_url
    with transaction() as session:
        link = create_sign_in_link(session, owner_of(session, ""), base)
    with chromium() as browser, peak_memory(web) as memory:
        page = browser.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{base}/collections/new")
        rest = web.memory_info().rss / 2**20
        seconds = chosen(page, folder, f"{n:,} added")
        page.reload()
        again = chosen(page, folder, f"{n:,} already there")
        remove(UUID(page.url.rpartition("/")[2]))
    return Upload(n, megabytes, seconds, again, rest, memory[0] / 2**20, os.getloadavg()[1])


def chosen(page: Page, folder: Path, message: str) -> float:
    began = time.monotonic()
    page.get_by_test_id("folder-input").set_input_files(folder)
    report = page.get_by_test_id("upload-report")
    expect(report).to_contain_text(message, timeout=3_600_000)
    return time.monotonic() - began


def web_server() -> psutil.Process:
    port = get_settings().base_url.rpartition(":")[2]
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if "likewise.web_server" in line and port in line:
            return process
    raise SystemExit("The web server is not running on this machine.")


def remove(collection_id: UUID) -> None:
    with transaction() as session:
        owner = owner_of(session, "")
        collection = session.get_one(Collection, collection_id)
        delete_collection(session, owner, collection, collection.name)


def measured_search() -> dict[str, float]:
    """Median milliseconds of a page of results and its count, by search."""
    with transaction() as session:
        collection = create_collection(session, owner_of(session, ""), "A hundred thousand")
        session.execute(text(FILL), {"id": collection.id, "n": MANY})
        collection.n_images = MANY
    with transaction() as session:
        session.execute(text("ANALYZE image"))
    finds: dict[str, float] = {}
    with transaction() as session:
        for what, (wanted, sort, offset) in WANTED.items():
            finds[what] = timed(lambda: find(session, collection, wanted, sort, offset))  # noqa: B023
        everything = ImageFilter()
        finds["values of all attributes, counted"] = timed(
            lambda: search.attribute_values(session, collection, everything)
        )
    chosen = Selection(filter=ImageFilter(attributes=(("colour", "red"),)), expected=MANY // 4)
    began = time.perf_counter()
    with transaction() as session:
        owner = owner_of(session, "")
        delete_images(session, owner, session.get_one(Collection, collection.id), chosen)
    finds[f"deleting {MANY // 4:,} of them, positions closed up"] = time.perf_counter() - began
    remove(collection.id)
    return finds


WANTED = {
    "all, the first page": (ImageFilter(), "position", 0),
    "all, the last page": (ImageFilter(), "position", MANY - 100),
    "all by file name, the middle": (ImageFilter(), "filename", MANY // 2),
    "all by an attribute, the middle": (ImageFilter(), "attribute:place", MANY // 2),
    "colour is red": (ImageFilter(attributes=(("colour", "red"),)), "position", 0),
    "without size": (ImageFilter(missing=("size",)), "position", 0),
    "colour:red": (ImageFilter("colour:red"), "position", 0),
    "a word that many have": (ImageFilter("red"), "position", 0),
    "a word that none has": (ImageFilter("zebra"), "position", 0),
    "two words and a value": (ImageFilter('photo 77 place:"place 7"'), "filename", 0),
}


def find(
    session: Session, collection: Collection, wanted: ImageFilter, sort: str, offset: int
) -> None:
    search.find_images(session, collection, wanted, sort=sort, offset=offset, limit=100)
    search.count_images(session, collection, wanted)
    session.expunge_all()


def timed(act: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def decoding() -> dict[int, float]:
    """Seconds of one core to make the three sizes of a photograph, by its edge in pixels."""
    seconds_by_edge = {}
    for edge in (400, 800, 1600, 3000):
        files = photos(4, edge)
        began = time.process_time()
        for file in files:
            prepare_image(file)
        seconds_by_edge[edge] = (time.process_time() - began) / len(files)
    return seconds_by_edge


def report(upload: Upload, cores: dict[int, float], finds: dict[str, float]) -> str:
    rows = "\n".join(f"| {what} | {1000 * seconds:,.0f} |" for what, seconds in finds.items())
    sizes = "\n".join(
        f"| {edge} × {edge} | {1000 * seconds:.0f} |" for edge, seconds in cores.items()
    )
    return f"""# Uploads and large collections

Browser, web server and database on one machine with two cores and a load of {upload.load:.0f} in
the last five minutes. `python -m bench.uploads`.

{upload.n:,} photographs of {EDGE} × {EDGE} pixels, {upload.megabytes:,.0f} MB, as one folder:

| | |
|---|---|
| first drop | {upload.seconds:.0f} s, {upload.n / upload.seconds:.0f} images/s, \
{upload.megabytes / upload.seconds:.1f} MB/s |
| the same folder again (hashed, nothing sent) | {upload.again:.0f} s, \
{upload.n / upload.again:.0f} images/s |
| memory of the web server | {upload.rest:.0f} MiB before, maximum {upload.peak:.0f} MiB |

The server makes three sizes of each photograph: {1000 * cores[EDGE]:.0f} ms of one core at this \
size, {cores[EDGE] * upload.n / upload.seconds:.1f} cores at this rate. The browser also reads, \
hashes and sends it. Milliseconds of one core for one photograph:

| pixels | ms |
|---|---|
{sizes}

A collection of {MANY:,} images with three attributes, milliseconds for a page of 100 and the \
count of all matches (median of five):

| search | ms |
|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
