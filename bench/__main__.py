"""Run all benchmarks that need no running system, then those that do, if one is running.

With LIKEWISE_BENCH_DATA, the folder of real crowds (see bench/real_crowds/data.py), benchmarks
on real people's answers run first.
"""

import os
import subprocess
import sys

import httpx

from app.core.settings import get_settings
from likewise import environment

ALONE = (
    "bench.cen",
    "bench.crowdster",
    "bench.semicrowd",
    "bench.neucrowd",
    "bench.odd_one_out",
    "bench.annotator_types",
    "bench.classes",
    "bench.neighbours",
    "bench.actions",
    "bench.exports",
    "bench.embedding_map",
    "bench.encoder_large",
    "bench.wide_tables",
    "bench.bonuses",
    "bench.load",
    "bench.requester_pages",
)


def main() -> None:
    data = os.environ.get("LIKEWISE_BENCH_DATA")
    if data:
        for module in ("bench.real_crowds", "bench.cen.loop", "bench.cover", "bench.settled"):
            subprocess.run([sys.executable, "-m", module, "--data", data], check=True)
    for name in ALONE:
        subprocess.run([sys.executable, "-m", name], check=True)
    environment.load()
    address = get_settings().base_url
    try:
        httpx.get(address, timeout=5)
    except httpx.TransportError:
        print(f"Nothing answers at {address}. Run `make up` to measure the campaigns too.")
        return
    for name in (
        "bench.annotator_page",
        "bench.trials",
        "bench.colours_campaign",
        "bench.semicrowd_campaign",
        "bench.always_ready",
        "bench.planner",
        "bench.uploads",
    ):
        subprocess.run([sys.executable, "-m", name], check=True)


main()
