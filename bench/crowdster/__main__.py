"""Run the parts and write the report: `python -m bench.crowdster [PART ...]`."""

from __future__ import annotations

from bench.crowdster import parts
from bench.crowdster.report import write_report
from bench.crowdster.spaces import HIGH_SPACES, SPACES
from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.processes import Call, measured_alone, measured_rows
from bench.harness.store import read_parts, store_part
from bench.harness.tables import Row

RESULTS = BENCHMARKS / "crowdster.json"


def calls(n_seeds: int) -> dict[str, list[Call[list[Row]]]]:
    """The calls of every part."""
    seeds = range(n_seeds)
    spaces = [(name, seed) for name in SPACES for seed in seeds]
    return {
        "budget": [(parts.budget, case) for case in spaces],
        "half": [(parts.half, case) for case in spaces],
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
    names = [*calls(1), "size"]
    parser = parts_parser(__doc__, names, seeds=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--largest", type=int, default=10_000, help="maximum number of images of `size`"
    )
    options = parsed(parser, names)
    for part in options.parts:
        if part == "size":
            rows = _sizes(options.largest)
        else:
            rows = measured_rows(part, calls(options.seeds)[part], options.processes)
        store_part(RESULTS, part, rows)
    write_report(read_parts(RESULTS), BENCHMARKS)


def _sizes(largest: int) -> list[Row]:
    return [
        measured_alone("bench.crowdster.size", n_images, space)
        for n_images in (1_000, 10_000, 100_000)
        for space in ("colours", "features")
        if n_images <= largest
    ]


if __name__ == "__main__":
    main()
