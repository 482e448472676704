"""Run the parts and write the report: `python -m bench.semicrowd [PART ...]`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from bench.semicrowd import parts, workers
from bench.semicrowd.methods import BAYES_ALONE_BEST, BAYES_BEST, METHODS, Row
from bench.semicrowd.report import write_report

FOLDER = Path(__file__).parent.parent.parent / "docs" / "benchmarks"
RESULTS = FOLDER / "semicrowd"
Job = tuple[Callable[..., list[Row]], tuple[Any, ...]]
# The fields that identify the fit of a row.
_NAMES = ("method", "seed", "annotated", "budget", "images", "case", "collection")
NEED_DATA = ("faces", "mnist")
ALONE = ("time", "size")


def jobs(part: str, options: argparse.Namespace) -> list[Job]:
    """The calls of one part, each with one or a few fits."""
    methods = [name for name in METHODS if re.search(options.methods, name)]
    if part != "pinwheel":
        # Numbers of restarts of methods with long fits.
        methods = [name for name in methods if name not in (BAYES_BEST, BAYES_ALONE_BEST)]
    seeds = range(options.seeds)
    folder = options.data
    if part == "pinwheel":
        return [(parts.pinwheel, (name, seed)) for seed in seeds for name in methods]
    if part == "faces":
        return [
            (parts.faces, (folder, annotated, budget, name, seed))
            for seed in seeds
            for annotated in (None, 100)
            for name in methods
            for budget in parts.budgets_of(name)
        ]
    if part == "mnist":
        asked = (folder, options.images, options.epochs)
        return [(parts.mnist, (*asked, name, seed)) for seed in seeds for name in methods]
    return [
        (workers.workers, (case, name, folder, seed))
        for case in workers.CASES
        if re.search(options.methods, case)
        # Twice as many for the crowd whose order should be right in 19 of 20.
        for seed in range(options.seeds if workers.CASES[case] else 2 * options.seeds)
        for name in workers.collections(folder)
    ]


def main() -> None:
    names = ("pinwheel", "faces", "mnist", "workers", *ALONE)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(names)} or report")
    parser.add_argument(
        "--seeds", type=int, default=10, help="`workers` uses twice as many for one crowd"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/semicrowd/data.py")
    parser.add_argument("--methods", default="", help="only methods or crowds that match this")
    parser.add_argument("--images", type=int, help="number of `mnist` images, all by default")
    parser.add_argument(
        "--epochs", type=int, help="epochs of `mnist`, by default those of the method"
    )
    parser.add_argument("--add", action="store_true", help="keep the results of other fits")
    options = parser.parse_args()
    if unknown := set(options.parts) - {*names, "report"}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts are {', '.join(names)}")
    RESULTS.mkdir(exist_ok=True)
    for part in options.parts or names:
        if part == "report":
            continue
        if part in NEED_DATA and options.data is None:
            print(f"{part}: skipped, because it needs --data")
            continue
        run = _alone(part, options) if part in ALONE else _measured(part, options)
        _keep(part, run, options.add)
    results = {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    write_report(results, FOLDER)


def _keep(part: str, run: Iterator[list[Row]], add: bool) -> None:
    """Write after every fit, so that the results of an interrupted run are kept."""
    path = RESULTS / f"{part}.json"
    rows: dict[tuple[Any, ...], Row] = {}
    for found in run:
        if add and path.exists():
            # The file is read again each time, because another run may have added to it.
            rows = {_name(row): row for row in json.loads(path.read_text())}
        rows |= {_name(row): row for row in found}
        told = ",\n".join(json.dumps(row, default=float) for row in rows.values())
        path.write_text(f"[\n{told}\n]\n")


def _name(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in _NAMES)


def _measured(part: str, options: argparse.Namespace) -> Iterator[list[Row]]:
    with ProcessPoolExecutor(options.processes, initializer=_one_thread) as pool:
        running = [pool.submit(call, *arguments) for call, arguments in jobs(part, options)]
        for number, finished in enumerate(as_completed(running), start=1):
            rows = finished.result()
            for row in rows:
                print(f"{part} {number}/{len(running)}: {_short(row)}", flush=True)
            yield rows


def _short(row: Row) -> str:
    shown = [f"{row[name]}" for name in _NAMES if row.get(name) is not None]
    figures = [f"{name} {row[name]:.3f}" for name in ("accuracy", "nmi", "seconds") if name in row]
    return " ".join([*shown, *figures])


def _alone(part: str, options: argparse.Namespace) -> Iterator[list[Row]]:
    """Make each measurement in a separate process, to measure its own memory."""
    module = f"bench.semicrowd.{'speed' if part == 'time' else part}"
    given = [] if options.data is None or part == "size" else [str(options.data)]
    listed = subprocess.run(
        [sys.executable, "-m", module], check=True, capture_output=True, text=True
    )
    for case in listed.stdout.split():
        command = [sys.executable, "-m", module, case, *given]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = json.loads(done.stdout)
        print(f"{part}: {row}", flush=True)
        yield [row]


def _one_thread() -> None:
    torch.set_num_threads(1)


if __name__ == "__main__":
    main()
