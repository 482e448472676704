"""Run the parts and write the report: `python -m bench.neucrowd [PART ...] --data FOLDER`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.harness.command import parsed, parts_parser
from bench.harness.paths import BENCHMARKS
from bench.harness.processes import measured_alone
from bench.harness.store import RowFile, read_folder
from bench.harness.tables import Row
from bench.neucrowd import data, speed
from bench.neucrowd.data import Question
from bench.neucrowd.methods import RUNS, measured
from bench.neucrowd.report import write_report
from learning.devices import cores_for

RESULTS = BENCHMARKS / "neucrowd"
# Parameters and candidates were chosen on seeds from this one, and on Hotel without its test set.
TUNED_FROM = 100


def parts(folder: Path | None) -> dict[str, Callable[[int], Question]]:
    """The question of each part, by seed."""
    questions: dict[str, Callable[[int], Question]] = {
        "syn1": partial(data.synthetic, 7),
        "syn2": partial(data.synthetic, 11),
        "few": partial(data.synthetic, 7, n_informative=2),
    }
    if folder is not None:
        questions["hotel"] = lambda _: data.hotel(folder)
        questions["hotel_anew"] = partial(data.hotel_resplit, folder)
        for number, name in enumerate(data.SCENES, start=1):
            questions[f"scenes{number}"] = partial(_scenes, folder, name)
    return questions


def _scenes(folder: Path, name: str, _: int) -> Question:
    return data.scenes(folder, name)


def main() -> None:
    known = [*parts(Path()), "speed"]
    parser = parts_parser(__doc__, known, seeds=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/neucrowd/data.py")
    parser.add_argument("--methods", default="", help="only methods that match this expression")
    parser.add_argument("--add", action="store_true", help="keep the results of other fits")
    options = parsed(parser, known)
    # Without a folder, parts that need it are left out.
    there = [part for part in options.parts if part in {*parts(options.data), "speed"}]
    if not options.add:
        for part in there:
            stored(part).clear()
    for part, rows in run(there, options):
        stored(part).add(*rows)
    write_report(read_folder(RESULTS), BENCHMARKS)


def stored(part: str) -> RowFile:
    return RowFile(RESULTS / f"{part}.json", ("method", "seed"))


def run(asked: list[str], options: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    """Measure seed by seed, so that an interrupted run has all methods for fewer seeds."""
    if "speed" in asked:
        # Each run has a cold start and its own memory.
        yield "speed", [measured_alone(speed.__name__, seed) for seed in range(speed.RUNS)]
    questions = parts(options.data)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for part in (name for name in asked if name in questions):
            question = questions[part](seed)
            for name in (name for name in RUNS if re.search(options.methods, name)):
                with cores_for(0):
                    rows = measured(name, question, seed)
                for row in rows:
                    print(part, *_short(row), flush=True)
                yield part, rows


def _short(row: Row) -> list[str]:
    figures = [f"{name} {row[name]:.3f}" for name in ("accuracy", "auc", "seconds")]
    return [str(row["seed"]), row["method"], *figures, str(row.get("chosen", ""))]


if __name__ == "__main__":
    main()
