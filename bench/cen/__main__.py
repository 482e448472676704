"""Run the parts and write the report: `python -m bench.cen [PART ...]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from bench.cen import parts
from bench.cen.report import write_report
from bench.cen.size import COLLECTIONS

FOLDER = Path(__file__).parent.parent.parent / "docs" / "benchmarks"
RESULTS = FOLDER / "cen.json"
PARTS = (
    "prediction",
    "dimensions",
    "gamma",
    "reliability",
    "warm",
    "size",
    "synthesis",
    "report",
)
Job = tuple[str, tuple[Any, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="measure only the compared methods with these names and keep the others' rows",
    )
    parser.add_argument(
        "--largest", type=int, default=100_000, help="maximum number of answers of `size`"
    )
    options = parser.parse_args()
    wanted = options.parts or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts are {', '.join(PARTS)}")
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.only and (others := set(wanted) - {"prediction", "dimensions", "report"}):
        parser.error(f"--only cannot be combined with {', '.join(sorted(others))}")
    for part in wanted:
        if part == "report":
            continue
        kept = _kept(results.get(part, []), options.only)
        results[part] = kept + list(_measured(part, options))
        RESULTS.write_text(json.dumps(results, default=float) + "\n")
    write_report(results, FOLDER)


def _kept(rows: list[dict[str, Any]], only: str) -> list[dict[str, Any]]:
    """The rows that a run does not measure again: those of other methods, with `--only`."""
    return [row for row in rows if only and only not in row["method"]]


def _measured(part: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if part == "size":
        yield from _sizes(options.largest)
        return
    with ProcessPoolExecutor(options.processes, initializer=_one_thread) as pool:
        running = {pool.submit(_rows, job): job for job in _jobs(part, options)}
        for number, finished in enumerate(as_completed(running), start=1):
            rows = finished.result()
            print(f"{part}: {number} of {len(running)} done", flush=True)
            yield from rows


def _jobs(part: str, options: argparse.Namespace) -> list[Job]:
    seeds = range(options.seeds)
    scenes = ("birds", "celeba", "retina")
    only = options.only
    jobs: dict[str, list[Job]] = {
        "prediction": [(part, (scene, seed, only)) for scene in scenes for seed in seeds],
        "dimensions": [(part, (seed, only)) for seed in seeds],
        "gamma": [(part, (scene, seed)) for scene in scenes[1:] for seed in seeds],
        "reliability": [(part, (seed,)) for seed in range(20)],
        "warm": [(part, (scene, seed)) for scene in scenes[:2] for seed in seeds],
        "synthesis": [(part, ())],
    }
    return jobs[part]


def _rows(job: Job) -> list[dict[str, Any]]:
    part, arguments = job
    return list(getattr(parts, part)(*arguments))


def _one_thread() -> None:
    torch.set_num_threads(1)


def _sizes(largest: int) -> Iterator[dict[str, Any]]:
    for n_answers in COLLECTIONS:
        if n_answers <= largest:
            command = [sys.executable, "-m", "bench.cen.size", str(n_answers)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            row: dict[str, Any] = json.loads(done.stdout)
            print(
                f"size: {n_answers:,} answers in {row['seconds']:.1f} s, "
                f"peak {row['peak_gib']:.2f} GiB",
                flush=True,
            )
            yield row


if __name__ == "__main__":
    main()
