"""The stored results of runs, perhaps of several days: `bench/reliability/results.json`.

All statements at full size take hours. They run one after the other, on one day or several, and
the report shows the commit and date of each.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.reliability.outcomes import Outcome

FILE = Path(__file__).with_name("results.json")
# The statement to which a figure belongs and its title, by the name of its file.
FIGURES = {
    "claims": ("1", "1: claims at once"),
    "killed_while_submitting": ("3", "3: killed while submitting"),
    "valkey_lost": ("4", "4: Valkey lost"),
    "postgresql_stopped": ("5", "5: PostgreSQL stopped"),
    "sigterm": ("9", "9: a worker asked to stop"),
    "many_trainings": ("11", "11: many trainings in one worker"),
    "bonuses": ("13", "13: bonuses on a marketplace that fails"),
    "uploads": ("21", "21: hostile files"),
    "load": ("25", "25: many people at once"),
    "schemathesis": ("25", "25: schemathesis"),
    **{
        f"archives_{part}": (
            "27",
            f"27: archives that were changed by chance, part {part + 1} of 10",
        )
        for part in range(10)
    },
    "greedy": ("29", "29: one account at every limit"),
    "silent_connections": ("30", "30: connections that waste time"),
    "soak": ("soak", "Soak: every process killed each minute"),
    "hostile": ("hostile", "Hostile inputs"),
    "backup": ("backup", "Backup and restore"),
}


@dataclass(frozen=True)
class Run:
    """The form in which a statement's tests ran last, `full` or `short`, the commit and date."""

    form: str
    commit: str = ""
    date: str = ""


@dataclass
class Kept:
    """ended: by test, `path::name`; figures: by the name of their file; runs: by statement."""

    ended: dict[str, Outcome] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path = FILE) -> "Kept":
        if not file.exists():
            return cls()
        stored = json.loads(file.read_text())
        ended = {
            name: Outcome(Counter(outcome["ends"]), outcome["seconds"], set(outcome["reasons"]))
            for name, outcome in stored["ended"].items()
        }
        runs = {name: Run(**run) for name, run in stored["runs"].items()}
        return cls(ended, stored["figures"], runs)

    def write(self, file: Path = FILE) -> None:
        document = {
            "runs": {name: asdict(run) for name, run in sorted(self.runs.items())},
            "ended": {
                name: {
                    "ends": dict(outcome.ends),
                    "seconds": round(outcome.seconds, 1),
                    "reasons": sorted(outcome.reasons),
                }
                for name, outcome in sorted(self.ended.items())
            },
            "figures": dict(sorted(self.figures.items())),
        }
        file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    def begin(self, statement: str, run: Run, tests: Collection[str]) -> None:
        """Delete earlier results, so that an interrupted run does not show them as its own."""
        self.runs[statement] = run
        for test in tests:
            self.ended.pop(test, None)
        for name, (owner, _) in FIGURES.items():
            if owner == statement:
                self.figures.pop(name, None)

    def end(self, ended: Mapping[str, Outcome], folder: Path) -> None:
        """Add the tests' outcomes, and the figures that they have written to a folder
        (tests/support/acceptance_results.py)."""
        self.ended.update(ended)
        for name in FIGURES:
            file = folder / f"{name}.json"
            if file.exists():
                self.figures[name] = json.loads(file.read_text())
