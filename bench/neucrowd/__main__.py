"""Run the parts and write the report: `python -m bench.neucrowd [PART ...] --data FOLDER`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.neucrowd import data, speed
from bench.neucrowd.data import Question
from bench.neucrowd.methods import RUNS, Row, measured
from bench.neucrowd.report import write_report
from learning.devices import cores_for

FOLDER = Path(__file__).parent.parent.parent / "docs" / "benchmarks"
RESULTS = FOLDER / "neucrowd"
# Parameters and candidates were chosen on seeds from this one, and on Hotel without its test set.
TUNED_FROM = 100


def parts(folder: Path | None) -> dict[str, Callable[[int], Question]]:
    """The question of each part, by seed."""
    made: dict[str, Callable[[int], Question]] = {
        "syn1": partial(data.synthetic, 7),
        "syn2": partial(data.synthetic, 11),
        "few": partial(data.synthetic, 7, n_informative=2),
    }
    if folder is not None:
        made["hotel"] = lambda _: data.hotel(folder)
        made["hotel_anew"] = partial(data.hotel_anew, folder)
        for number, name in enumerate(data.SCENES, start=1):
            made[f"scenes{number}"] = partial(_scenes, folder, name)
    return made


def _scenes(folder: Path, name: str, _: int) -> Question:
    return data.scenes(folder, name)


def main() -> None:
    known = parts(Path())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)} or speed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/neucrowd/data.py")
    parser.add_argument("--methods", default="", help="only methods that match this expression")
    parser.add_argument("--add", action="store_true", help="keep the results of other fits")
    options = parser.parse_args()
    if unknown := set(options.parts) - {*known, "speed", "report"}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}")
    RESULTS.mkdir(exist_ok=True)
    asked = options.parts or [*parts(options.data), "speed"]
    if not options.add:
        for part in set(asked) - {"report"}:
            (RESULTS / f"{part}.json").unlink(missing_ok=True)
    for part, rows in run(asked, options):
        keep(part, rows)
    results = {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    write_report(results, FOLDER)


def run(asked: list[str], options: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    """Measure seed by seed, so that an interrupted run has all methods for fewer seeds."""
    if "speed" in asked:
        yield "speed", list(_speed())
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


def keep(part: str, found: list[Row]) -> None:
    """Write after every fit, so that the results of an interrupted run are kept."""
    path = RESULTS / f"{part}.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    by_name = {_name(row): row for row in [*rows, *found]}
    told = ",\n".join(json.dumps(row, default=float) for row in by_name.values())
    path.write_text(f"[\n{told}\n]\n")


def _name(row: Row) -> tuple[object, ...]:
    return row["method"], row["seed"]


def _speed() -> Iterator[Row]:
    """Measure each run in a separate process, from a cold start and with its own memory."""
    for seed in range(speed.RUNS):
        command = [sys.executable, "-m", "bench.neucrowd.speed", str(seed)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = json.loads(done.stdout)
        print(f"speed: {row}", flush=True)
        yield row


if __name__ == "__main__":
    main()
