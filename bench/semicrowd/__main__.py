"""Run the parts and write the report: `python -m bench.semicrowd [PART ...]`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.processes import Call, in_processes, measured_alone
from bench.harness.store import RowFile, read_folder
from bench.harness.tables import Row
from bench.semicrowd import parts, size, speed, workers
from bench.semicrowd.methods import BAYES_ALONE_BEST, BAYES_BEST, METHODS
from bench.semicrowd.report import write_report

RESULTS = BENCHMARKS / "semicrowd"
# The fields that identify the fit of a row.
IDENTITY = ("method", "seed", "annotated", "budget", "images", "case", "collection")
NEED_DATA = ("faces", "mnist")
ALONE = ("time", "size")


def calls(part: str, options: argparse.Namespace) -> list[Call[list[Row]]]:
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
    parser = parts_parser(__doc__, names, seeds=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/semicrowd/data.py")
    parser.add_argument("--methods", default="", help="only methods or crowds that match this")
    parser.add_argument("--images", type=int, help="number of `mnist` images, all by default")
    parser.add_argument(
        "--epochs", type=int, help="epochs of `mnist`, by default those of the method"
    )
    parser.add_argument("--add", action="store_true", help="keep the results of other fits")
    options = parsed(parser, names)
    for part in options.parts:
        if part in NEED_DATA and options.data is None:
            print(f"{part}: skipped, because it needs --data")
            continue
        run = _alone(part, options.data) if part in ALONE else _measured(part, options)
        RowFile(RESULTS / f"{part}.json", IDENTITY).add_all(run, options.add)
    write_report(read_folder(RESULTS), BENCHMARKS)


def _measured(part: str, options: argparse.Namespace) -> Iterator[list[Row]]:
    for progress, rows in in_processes(calls(part, options), options.processes):
        for row in rows:
            print(f"{part} {progress}: {_short(row)}", flush=True)
        yield rows


def _short(row: Row) -> str:
    shown = [f"{row[name]}" for name in IDENTITY if row.get(name) is not None]
    figures = [f"{name} {row[name]:.3f}" for name in ("accuracy", "nmi", "seconds") if name in row]
    return " ".join([*shown, *figures])


def _alone(part: str, folder: Path | None) -> Iterator[list[Row]]:
    """Make each measurement in a separate process, to measure its own memory."""
    module = speed if part == "time" else size
    given = [] if folder is None or part == "size" else [folder]
    for case in module.CASES:
        yield [measured_alone(module.__name__, case, *given)]


if __name__ == "__main__":
    main()
