"""Encodes 20,000 images with `objects` in the running system, and kills the worker half-way.

`python -m bench.encoder_large` starts its own PostgreSQL, Valkey, web server, worker and
dispatcher. The images are drawn here (shapes and noise, JPEG of 160 pixels) and added as ZIP files
by the service that the upload uses. Progress is read from the API, processor time and memory from
the worker's process. Replaces a section of `docs/benchmarks/encoder.md`.
"""

from __future__ import annotations

import argparse
import io
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import psutil
from PIL import Image, ImageDraw

from app.accounts.models import Account
from app.collections.models import Collection
from app.collections.service import add_files, create_collection
from app.core.database import transaction
from bench.harness.sections import publish_section
from bench.harness.servers import own_servers, use_new_database
from testbed.builders import an_account, an_api_token
from testbed.system import System, running_system

HEADING = "20,000 images in the running system"
EDGE, PER_ZIP = 160, 500
POLL_SECONDS = 0.5
MIB = 2**20
REPORT = """\
`python -m bench.encoder_large`: web server, worker, dispatcher, PostgreSQL and Valkey on
one machine with {cores} cores, which others used as well; the worker computes with one thread.
{n:,} images (shapes and noise, JPEG of {edge} pixels), added as ZIP files by the service of the
upload, are encoded with `objects` at the request of the API. The worker gets `kill -9` when half of
them are done by the API, and another one is started.

| what | measured |
|---|---|
| processor time per image, of both workers with their start | {ms:.0f} ms |
| from the request to the last image | {minutes:.1f} min ({elapsed:.0f} ms per image) |
| the worker was killed at | {killed_at:,} images, of which {stored:,} were stored |
| encoded twice because of that | {again:,} images |
| from the kill until another worker had gone on | {pause:.0f} s (the lease is 60 s) |
| different values of the progress that the API showed | {values:,} |
| longest time without another value, apart from the kill | {longest:.1f} s |
| stored at the end | {known:,} rows of {width:,} numbers |

Resident memory of the worker and its children, MiB, when so many images were done:

| images | worker |
|---|---|
{memory}

The largest was {peak:.0f} MiB.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=20_000)
    n: int = parser.parse_args().images
    with own_servers() as (servers, folder):
        environment = use_new_database(servers, folder / "data")
        owner = an_account()
        began = time.monotonic()
        collection = filled_collection(owner, n)
        print(f"{n} images added in {time.monotonic() - began:.0f} s", flush=True)
        logs = folder / "system"
        logs.mkdir()
        with running_system(environment, logs) as system:
            run = Run(system, collection, an_api_token(owner), n)
            run.measure()
        publish_section("encoder.md", HEADING, report(run))


def filled_collection(owner: Account, n: int) -> Collection:
    """A collection of n images that were uploaded in ZIP files."""
    with transaction() as session:
        collection = create_collection(session, owner, f"{n} drawn images")
    for first in range(0, n, PER_ZIP):
        data = zipped(range(first, min(n, first + PER_ZIP)))
        with transaction() as session:
            attached = session.get_one(Collection, collection.id)
            add_files(session, owner, attached, [("images.zip", data)])
    return collection


def zipped(numbers: range) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in numbers:
            archive.writestr(f"image-{number:05d}.jpg", drawn(number))
    return buffer.getvalue()


def drawn(number: int) -> bytes:
    """A picture with a gradient, six shapes and noise; another number gives another picture."""
    rng = np.random.default_rng(number)
    corners = rng.integers(0, 256, (2, 2, 3), dtype=np.uint8)
    picture = Image.fromarray(corners).resize((EDGE, EDGE), Image.Resampling.BILINEAR)
    pen = ImageDraw.Draw(picture)
    for _ in range(6):
        x, y = rng.integers(0, EDGE, 2).tolist()
        width, height = rng.integers(10, 80, 2).tolist()
        colour = tuple(rng.integers(0, 256, 3).tolist())
        draw = pen.ellipse if rng.random() < 0.5 else pen.rectangle
        draw((x, y, x + width, y + height), fill=colour)
    noise = rng.normal(0, 12, (EDGE, EDGE, 3))
    pixels = np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


@dataclass(frozen=True)
class Sample:
    """What was seen at a moment: seconds since the request, images done and stored, bytes of the
    worker with its children, their processor seconds."""

    at: float
    done: int
    known: int
    rss: int
    cpu: float


@dataclass
class Run:
    """One computation. samples: by each worker."""

    system: System
    collection: Collection
    token: str
    n: int
    samples: list[list[Sample]] = field(default_factory=list)
    feature_set: dict[str, Any] = field(default_factory=dict)

    def measure(self) -> None:
        with httpx.Client(
            base_url=f"{self.system.base_url}/api/v1/collections/{self.collection.id}",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=60,
        ) as client:
            client.post("/feature-sets/compute", json={"source": "objects"}).raise_for_status()
            began = time.monotonic()
            for sample in self._watched(client, began):
                if sample.done >= self.n / 2:
                    break
            self.system.kill("worker")
            print(f"killed at {self.samples[-1][-1]}", flush=True)
            self.system.start("worker")
            for _ in self._watched(client, began):
                if self.feature_set["state"] not in ("queued", "running"):
                    break
        if self.feature_set["state"] != "done":
            raise SystemExit(f"the set is {self.feature_set}")

    def _watched(self, client: httpx.Client, began: float) -> Iterator[Sample]:
        process = psutil.Process(self.system.processes["worker"].pid)
        self.samples.append([])
        while True:
            time.sleep(POLL_SECONDS)
            answer = client.get("/feature-sets").raise_for_status().json()
            [self.feature_set] = answer["items"]
            family = [process, *process.children(recursive=True)]
            sample = Sample(
                time.monotonic() - began,
                self.feature_set["n_done"],
                self.feature_set["n_known"],
                sum(each.memory_info().rss for each in family),
                sum(sum(each.cpu_times()[:2]) for each in family),
            )
            self.samples[-1].append(sample)
            yield sample


def report(run: Run) -> str:
    before, after = run.samples
    killed, last = before[-1], after[-1]
    # While the lease of the killed worker runs out, nothing changes.
    went_on = next(sample for sample in after if sample.done != killed.done)
    cpu = killed.cpu + last.cpu
    encoded = run.n + killed.done - killed.known
    steps = {sample.done for sample in (*before, *after)}
    late = [sample for sample in after if sample.at >= went_on.at]
    return REPORT.format(
        cores=psutil.cpu_count(), n=run.n, edge=EDGE, ms=1_000 * cpu / encoded,
        minutes=last.at / 60, elapsed=1_000 * last.at / run.n, killed_at=killed.done,
        stored=killed.known, again=killed.done - killed.known, pause=went_on.at - killed.at,
        values=len(steps), longest=max(_longest(before), _longest(late)),
        known=run.feature_set["n_known"], width=run.feature_set["n_features"],
        memory=_memory_rows(run), peak=max(s.rss for s in (*before, *after)) / MIB,
    )  # fmt: skip


def _longest(samples: list[Sample]) -> float:
    """Seconds of the longest time in which the number of images did not change."""
    longest, since = 0.0, samples[0]
    for sample in samples:
        if sample.done != since.done:
            longest, since = max(longest, sample.at - since.at), sample
    return longest


def _memory_rows(run: Run) -> str:
    """The largest memory of the worker in each tenth of the images."""
    every = [sample for samples in run.samples for sample in samples]
    rows = []
    for tenth in range(10):
        first, end = tenth * run.n / 10, (tenth + 1) * run.n / 10
        here = [s.rss for s in every if first < s.done <= end]
        if here:
            rows.append(f"| {first:,.0f} to {end:,.0f} | {max(here) / MIB:.0f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
