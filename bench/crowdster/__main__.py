"""Run the parts and write the report: `python -m bench.crowdster [PART ...]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from bench.crowdster import parts
from bench.crowdster.report import write_report
from bench.crowdster.spaces import HIGH_SPACES, SPACES

FOLDER = Path(__file__).parent.parent.parent / "docs" / "benchmarks"
RESULTS = FOLDER / "crowdster.json"
Job = tuple[Callable[..., list[parts.Row]], tuple[Any, ...]]


def jobs(n_seeds: int) -> dict[str, list[Job]]:
    """The calls of every part."""
    seeds = range(n_seeds)
    spaces = [(name, seed) for name in SPACES for seed in seeds]
    return {
        "budget": [(parts.budget, one) for one in spaces],
        "half": [(parts.half, one) for one in spaces],
        "small": [(parts.small, (seed,)) for seed in range(2 * n_seeds)],
        "phases": [(parts.phases, (seed,)) for seed in seeds],
        "noise": [(parts.noise, (seed,)) for seed in seeds],
        "high": [(parts.high, (name, seed)) for name in HIGH_SPACES for seed in seeds],
        "locality": [(parts.locality, (seed,)) for seed in seeds],
        "together": [(parts.together, (seed,)) for seed in seeds],
        "fonts": [(parts.fonts, (seed,)) for seed in range(4 * n_seeds)],
        "triplets": [(parts.by_triplets, (seed,)) for seed in seeds],
    }


def main() -> None:
    names = [*jobs(1), "size"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(names)} or report")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--largest", type=int, default=10_000, help="maximum number of images of `size`"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - {*names, "report"}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts are {', '.join(names)}")
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in options.parts or names:
        if part == "report":
            continue
        if part == "size":
            results[part] = list(_sizes(options.largest))
        else:
            results[part] = list(_measured(part, jobs(options.seeds)[part], options.processes))
        RESULTS.write_text(json.dumps(results, default=float) + "\n")
    write_report(results, FOLDER)


def _measured(part: str, calls: list[Job], processes: int) -> Iterator[parts.Row]:
    with ProcessPoolExecutor(processes, initializer=_one_thread) as pool:
        running = [pool.submit(call, *arguments) for call, arguments in calls]
        for number, finished in enumerate(as_completed(running), start=1):
            rows = finished.result()
            print(f"{part}: {number} of {len(running)} done", flush=True)
            yield from rows


def _sizes(largest: int) -> Iterator[parts.Row]:
    for n_images in (1_000, 10_000, 100_000):
        for space in ("colours", "features"):
            if n_images > largest:
                continue
            command = [sys.executable, "-m", "bench.crowdster.size", str(n_images), space]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            row = json.loads(done.stdout)
            print(f"size: {n_images:,} {space}: {row['learn_seconds']:.1f} s", flush=True)
            yield row


def _one_thread() -> None:
    torch.set_num_threads(1)


if __name__ == "__main__":
    main()
