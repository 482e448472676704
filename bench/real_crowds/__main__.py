"""Measure and write the report: `python -m bench.real_crowds --data FOLDER`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np

from bench.harness.paths import BENCHMARKS
from bench.harness.processes import in_processes
from bench.harness.store import RowFile
from bench.harness.tables import Row
from bench.real_crowds import data, methods
from bench.real_crowds.jobs import ON_PEOPLE, SIMULATED, Job, jobs, measure, scenes_of, stored
from bench.real_crowds.report import comparison, write_report
from bench.real_crowds.triplets import missing_library

PARTS = (*ON_PEOPLE, *SIMULATED, "report")


def main() -> None:
    options = _options()
    store = stored(options.results)
    chosen = _methods(options)
    sets = {part: _sets(part, options) for part in options.parts if part != "report"}
    wanted = [
        job
        for part, names in sets.items()
        for job in jobs(part, names, chosen, options.splits, options.label)
    ]
    _measure_all(wanted, store, options)
    rows = store.rows()
    if options.quick:
        print("\n".join(comparison(rows, options.label, data.QUICK)))
    elif "report" in options.parts:
        write_report(rows, options.label, options.results.with_suffix(".md"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/real_crowds/data.py")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="all by default")
    parser.add_argument(
        "--sets", default="", metavar="REGEX", help="only data sets with matching names"
    )
    parser.add_argument(
        "--methods", default="", metavar="REGEX", help="only methods with matching names"
    )
    parser.add_argument("--splits", type=int, help="5 by default, 2 with --quick")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--label",
        default="product",
        help="name of the product's version; each version has its own rows",
    )
    parser.add_argument("--again", action="store_true", help="also measure rows that already exist")
    parser.add_argument("--quick", action="store_true", help="few sets and methods, 2 splits")
    parser.add_argument("--results", type=Path, default=BENCHMARKS / "real_crowds.json")
    options = parser.parse_args()
    options.splits = options.splits or (2 if options.quick else 5)
    options.parts = options.parts or (["splits"] if options.quick else list(PARTS))
    if options.data is None and set(options.parts) & set(ON_PEOPLE):
        parser.error(f"--data is needed for {', '.join(ON_PEOPLE)}")
    return options


def _sets(part: str, options: argparse.Namespace) -> list[str]:
    """The chosen sets of a part: real ones in the folder, or scenes."""
    if part in SIMULATED:
        return [name for name in scenes_of(part) if re.search(options.sets, name)]
    there = data.available(options.data)
    for name in data.SOURCES:
        if name not in there:
            print(f"{name}: skipped, because the folder lacks {data.SOURCES[name][0]}")
    chosen = [name for name in there if re.search(options.sets, name)]
    return [name for name in chosen if not options.quick or name in data.QUICK]


def _methods(options: argparse.Namespace) -> list[str]:
    names = methods.QUICK if options.quick else tuple(methods.METHODS)
    if options.methods:
        names = tuple(name for name in methods.METHODS if re.search(options.methods, name))
    reason = missing_library()
    if reason is not None:
        print(f"SOE is skipped: {reason}")
        names = tuple(name for name in names if name != methods.ORDINAL)
    if not names:
        sys.exit(f"no method matches {options.methods!r}")
    return list(names)


def _measure_all(wanted: list[Job], store: RowFile, options: argparse.Namespace) -> None:
    there = set() if options.again else {store.key(row) for row in store.rows()}
    missing = [job for job in wanted if store.key(job.row()) not in there]
    calls = [(measure, (job, options.data)) for job in missing]
    for progress, row in in_processes(calls, options.processes):
        store.add(row)
        print(f"{progress} {_summary(row)}", flush=True)


def _summary(row: Row) -> str:
    names = ("accuracy", "auc", "ami", "purity", "mcc", "attributes", "seconds")
    # The foreign simulator has a value for every column.
    scores = [(name, np.atleast_1d(row[name])) for name in names if name in row]
    figures = [
        f"{name} " + " ".join(f"{score:.3f}" for score in several) for name, several in scores
    ]
    about = f"{row['part']} {row['data']} {row['split']} {row['fraction']:g} {row['seed']}"
    return f"{about} {row['method']}: {', '.join(figures)}"


if __name__ == "__main__":
    main()
