"""Run the parts and write the report: `python -m bench.cen [PART ...]`."""

from __future__ import annotations

import argparse

from bench.cen import parts
from bench.cen.report import write_report
from bench.cen.size import COLLECTIONS
from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.processes import Call, measured_alone, measured_rows
from bench.harness.store import read_parts, store_part
from bench.harness.tables import Row

RESULTS = BENCHMARKS / "cen.json"
PARTS = ("prediction", "dimensions", "gamma", "reliability", "warm", "size", "synthesis")
COMPARISONS = {"prediction", "dimensions"}


def main() -> None:
    parser = parts_parser(__doc__, PARTS, seeds=5)
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
    options = parsed(parser, PARTS)
    if options.only and (others := set(options.parts) - COMPARISONS):
        parser.error(f"--only cannot be combined with {', '.join(sorted(others))}")
    for part in options.parts:
        kept = _kept(read_parts(RESULTS).get(part, []), options.only)
        store_part(RESULTS, part, kept + _measured(part, options))
    write_report(read_parts(RESULTS), BENCHMARKS)


def _kept(rows: list[Row], only: str) -> list[Row]:
    """The rows that a run does not measure again: those of other methods, with `--only`."""
    return [row for row in rows if only and only not in row["method"]]


def _measured(part: str, options: argparse.Namespace) -> list[Row]:
    if part == "size":
        sizes = [size for size in COLLECTIONS if size <= options.largest]
        return [measured_alone("bench.cen.size", size) for size in sizes]
    return measured_rows(part, _calls(options)[part], options.processes)


def _calls(options: argparse.Namespace) -> dict[str, list[Call[list[Row]]]]:
    """The calls of every part."""
    seeds, only = range(options.seeds), options.only
    scenes = ("birds", "celeba", "retina")
    return {
        "prediction": [(_rows, ("prediction", s, seed, only)) for s in scenes for seed in seeds],
        "dimensions": [(_rows, ("dimensions", seed, only)) for seed in seeds],
        "gamma": [(_rows, ("gamma", scene, seed)) for scene in scenes[1:] for seed in seeds],
        "reliability": [(_rows, ("reliability", seed)) for seed in range(20)],
        "warm": [(_rows, ("warm", scene, seed)) for scene in scenes[:2] for seed in seeds],
        "synthesis": [(_rows, ("synthesis",))],
    }


def _rows(part: str, *arguments: object) -> list[Row]:
    return list(getattr(parts, part)(*arguments))


if __name__ == "__main__":
    main()
