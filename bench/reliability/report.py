"""`docs/benchmarks/reliability.md`: every statement, how its tests ended, what they measured."""

import json
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from bench.reliability.outcomes import Outcome
from bench.reliability.statements import Statement

SIZES = "sizes.json"
# Of the document of statements, which lies one folder higher.
LINK = re.compile(r"\]\((?!https?:|#|\.\.)")
TITLES = {
    "claims": "1: claims at once",
    "killed_while_submitting": "3: killed while submitting",
    "valkey_lost": "4: Valkey lost",
    "postgresql_stopped": "5: PostgreSQL stopped",
    "sigterm": "9: a worker asked to stop",
    "many_trainings": "11: many trainings in one worker",
    "bonuses": "13: bonuses on a marketplace that fails",
    "uploads": "21: hostile files",
    "load": "25: many people at once",
    "schemathesis": "25: schemathesis",
    "soak": "Soak: every process killed each minute",
    "hostile": "Hostile inputs",
    "backup": "Backup and restore",
}


def report(
    statements: list[Statement],
    ended: Mapping[str, Outcome],
    figures: Mapping[str, Any],
    sizes: Mapping[str, str],
) -> str:
    """`sizes`: in what form the tests of a statement ran, `full` or `short`."""
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
        "| # | statement | tests | form | outcome | s | lacking |",
        "|---|---|---|---|---|---|---|",
        *(_row(one, ended, sizes.get(one.name, "")) for one in statements),
        "",
        "## Figures",
        "",
    ]
    for name, title in TITLES.items():
        if name in figures:
            lines += [f"### {title}", "", *_table(figures[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(one: Statement, ended: Mapping[str, Outcome], size: str) -> str:
    runs = [ended[test] for test in one.tests if test in ended]
    seconds = f"{sum(run.seconds for run in runs):.0f}" if runs else ""
    told = _outcome(one, ended)
    return (
        f"| {one.name} | {one.text} | {len(one.tests)} | {size} | {told} | {seconds} "
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
    return "held" + (f" ({skipped} cases skipped)" if skipped else "")


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
    files = [path for path in sorted(folder.glob("*.json")) if path.name != SIZES]
    return {path.stem: json.loads(path.read_text()) for path in files}


def sizes_in(folder: Path) -> dict[str, str]:
    """By statement, the form that ran last."""
    file = folder / SIZES
    found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return found


def keep_size(folder: Path, statement: str, size: str) -> None:
    (folder / SIZES).write_text(json.dumps({**sizes_in(folder), statement: size}))
