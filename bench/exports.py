"""Measures the speed and memory of exports of a million answers.

It uses a separate web server (uvicorn, as `likewise up` runs it) and a separate PostgreSQL, which
generates the answers. Each file is read over HTTP without compression and discarded; the archive
is kept, and `likewise import` restores it into a second database. Writes
`docs/benchmarks/exports.md`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import httpx
import psutil

from app.accounts.service import create_account, create_sign_in_link
from app.core.database import get_engine, transaction
from app.results.catalogue import EXPORTS
from bench.harness.paths import ROOT, publish
from bench.harness.processes import peak_memory
from bench.harness.servers import own_servers, use_new_database
from testbed.builders import a_campaign
from testbed.many import add_answers
from testbed.servers import Servers
from testbed.system import running_system

FEW = 4_000
FILES = [export.name for export in EXPORTS if export.of_answers is not None]
MB = 10**6


@dataclass
class Measured:
    """Seconds, bytes, and the largest resident memory of the process that did the work."""

    name: str
    seconds: float
    size: int
    memory: int

    def over(self, other: Measured) -> Measured:
        """The same, with the memory minus that of another."""
        return replace(self, memory=max(0, self.memory - other.memory))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    n = parser.parse_args().answers
    with own_servers() as (servers, folder):
        results = measure(servers, folder, n)
    publish("exports.md", report(results, n))


def measure(servers: Servers, folder: Path, n: int) -> list[Measured]:
    environment = use_new_database(servers, folder / "first")
    with transaction() as session:
        owner = create_account(session, "bench@example.org")
        link = create_sign_in_link(session, owner, "")
    few, many = (add_answers(a_campaign(owner, grid_size=24), size) for size in (FEW, n))
    print(f"created {n} answers", flush=True)
    small, large = folder / "small.zip", folder / "large.zip"
    results = []
    with running_system(environment, folder, "web") as system:
        process = psutil.Process(system.processes["web"].pid)
        with httpx.Client(base_url=system.base_url, timeout=600) as client:
            assert client.post(link).is_redirect
            for file in FILES:
                before = read(client, process, few, file, small)
                after = read(client, process, many, file, large)
                results.append(after.over(before))
                print(results[-1], flush=True)
    get_engine().dispose()
    before = restored(servers, folder / "second", small)
    results.append(restored(servers, folder / "third", large).over(before))
    print(results[-1], flush=True)
    return results


def read(
    client: httpx.Client, process: psutil.Process, campaign: UUID, file: str, kept: Path
) -> Measured:
    address = f"/api/v1/campaigns/{campaign}/export/{file}"
    plain = {"Accept-Encoding": "identity"}
    size, began = 0, time.perf_counter()
    with (
        peak_memory(process) as peak,
        (kept if file == "archive.zip" else Path(os.devnull)).open("wb") as out,
        client.stream("GET", address, headers=plain) as reply,
    ):
        reply.raise_for_status()
        for piece in reply.iter_raw(2**20):
            size += out.write(piece)
    return Measured(file, time.perf_counter() - began, size, peak[0])


def restored(servers: Servers, data: Path, archive: Path) -> Measured:
    """`likewise import`, measured from its start."""
    environment = use_new_database(servers, data)
    with transaction() as session:
        create_account(session, "bench@example.org")
    command = [sys.executable, "-m", "likewise.cli", "import", str(archive)]
    began = time.perf_counter()
    with (
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}) as running,
        peak_memory(psutil.Process(running.pid)) as peak,
    ):
        code = running.wait()
    get_engine().dispose()
    if code:
        raise RuntimeError(f"likewise import exited with {code}")
    seconds = time.perf_counter() - began
    return Measured("likewise import", seconds, archive.stat().st_size, peak[0])


def report(results: list[Measured], n: int) -> str:
    *exports, imported = results
    rows = "\n".join(
        f"| `{exported.name}` | {exported.seconds:.1f} | {exported.size / MB:,.0f} | "
        f"{exported.size / MB / exported.seconds:.0f} | {n / exported.seconds:,.0f} | "
        f"{exported.memory / MB:.0f} |"
        for exported in exports
    )
    return f"""# Exports of {n:,} answers

`.venv/bin/python -m bench.exports` writes this page. There are {n:,} answers by 200 annotators,
each to one grid of 24 images, with four descriptions and a trace of 60 events. They are read over
HTTP, without compression, on the serving machine ({os.cpu_count()} processors; mean load at the
end: {os.getloadavg()[2]:.1f}). *More memory*: the largest resident memory of the web server during
the export, minus that during an export of {FEW:,} answers.

| file | seconds | MB | MB/s | answers/s | more memory, MB |
|---|---|---|---|---|---|
{rows}

`likewise import` restores the archive in {imported.seconds:.0f} s ({n / imported.seconds:,.0f}
answers/s) and takes {imported.memory / MB:.0f} MB more than for an archive of {FEW:,} answers.
"""


if __name__ == "__main__":
    main()
