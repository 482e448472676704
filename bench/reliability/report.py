"""`docs/benchmarks/reliability.md`: every statement, how its tests ended, what they measured."""

import json
import os
import platform
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.reliability.outcomes import Outcome
from bench.reliability.statements import Statement

RUNS = "sizes.json"
# Of the document of statements, which lies one folder higher.
LINK = re.compile(r"\]\((?!https?:|#|\.\.)")
# By the name of its file: the statement that a figure belongs to, and its title.
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
    "soak": ("soak", "Soak: every process killed each minute"),
    "hostile": ("hostile", "Hostile inputs"),
    "backup": ("backup", "Backup and restore"),
}


@dataclass(frozen=True)
class Run:
    """In what form the tests of a statement ran last, `full` or `short`; of which commit, when."""

    form: str
    commit: str = ""
    date: str = ""


def report(
    statements: list[Statement],
    ended: Mapping[str, Outcome],
    figures: Mapping[str, Any],
    runs: Mapping[str, Run],
) -> str:
    """The whole document. `runs`: the last one of each statement, by its name."""
    lines = [
        "# Reliability",
        "",
        "Made by `make acceptance`: the tests of [docs/acceptance.md](../acceptance.md) against "
        "real processes, and what they measured. “Form” says which one ran last: what the full "
        "and the short one are stands there. Tests that an earlier statement names, too, ran "
        "with that.",
        "",
        f"Machine: {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}. Everything runs on it: "
        "PostgreSQL, Valkey, web server, worker, dispatcher, and those who ask.",
        "",
        "| # | statement | tests | form | outcome | s | ran | lacking |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(one, ended, runs.get(one.name, Run(""))) for one in statements),
        "",
        "## Figures",
        "",
    ]
    for name, (_, title) in FIGURES.items():
        if name in figures:
            lines += [f"### {title}", "", *_table(figures[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(one: Statement, ended: Mapping[str, Outcome], run: Run) -> str:
    tests = [ended[test] for test in one.tests if test in ended]
    seconds = f"{sum(test.seconds for test in tests):.0f}" if tests else ""
    told = _outcome(one, ended)
    ran = f"{run.date}, {run.commit}" if run.date else ""
    return (
        f"| {one.name} | {one.text} | {len(one.tests)} | {run.form} | {told} | {seconds} | {ran} "
        f"| {LINK.sub('](../', one.lacking)} |"
    )


def _outcome(one: Statement, ended: Mapping[str, Outcome]) -> str:
    """“held” only where every named test ran and none of its cases failed."""
    if not one.tests:
        return "no test"
    absent = [test for test in one.tests if test not in ended]
    failed = [test for test in one.tests if test in ended and ended[test].ends["failed"]]
    if failed:
        return "**FAILED**: " + ", ".join(f"`{test.partition('::')[2]}`" for test in failed)
    if absent:
        return f"{len(absent)} of {len(one.tests)} tests not run"
    empty = [test for test in one.tests if not ended[test].passed]
    if empty:
        return "skipped: " + "; ".join(sorted(set().union(*(ended[t].reasons for t in empty))))
    skipped = sum(ended[test].ends["skipped"] for test in one.tests)
    why = "; ".join(sorted({ended[test].why_skipped for test in one.tests} - {""}))
    return "held" + (f" ({skipped} cases skipped: {why})" if skipped else "")


def _table(figures: Any) -> list[str]:
    rows = [f"| {name.replace('_', ' ')} | {_value(value)} |" for name, value in figures.items()]
    return ["| figure | measured |", "|---|---|", *rows]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        named = (f"{name.replace('_', ' ')} {_value(one)}" for name, one in value.items())
        return ", ".join(named) or "none"
    if isinstance(value, list):
        return "; ".join(_value(one) for one in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def figures_in(folder: Path) -> dict[str, Any]:
    """What the tests have kept (tests/support/acceptance_results.py)."""
    files = [path for path in sorted(folder.glob("*.json")) if path.name != RUNS]
    return {path.stem: json.loads(path.read_text()) for path in files}


def forget_figures(folder: Path, names: Collection[str]) -> None:
    """Of these statements, before their tests run: figures of earlier runs are not those of one
    that failed."""
    for name, (statement, _) in FIGURES.items():
        if statement in names:
            (folder / f"{name}.json").unlink(missing_ok=True)


def runs_in(folder: Path) -> dict[str, Run]:
    """By statement, its last run."""
    file = folder / RUNS
    found = json.loads(file.read_text()) if file.exists() else {}
    # Earlier reports kept the form alone.
    return {name: Run(one) if isinstance(one, str) else Run(**one) for name, one in found.items()}


def keep_run(folder: Path, statement: str, run: Run) -> None:
    kept = {**runs_in(folder), statement: run}
    told = {name: asdict(one) for name, one in kept.items()}
    (folder / RUNS).write_text(json.dumps(told, indent=1))
