"""`docs/benchmarks/reliability.md`: every statement with its tests' outcomes and figures."""

import os
import platform
import re
from collections.abc import Mapping
from typing import Any

import psutil

from bench.harness.tables import table
from bench.reliability.kept import FIGURES, Kept, Run
from bench.reliability.outcomes import Outcome
from bench.reliability.statements import Statement

# A relative link in the document of statements, which is one folder higher.
LINK = re.compile(r"\]\((?!https?:|#|\.\.)")


def report(statements: list[Statement], kept: Kept) -> str:
    """The whole document."""
    lines = [
        "# Reliability",
        "",
        "`make acceptance` writes this report. It runs the tests in "
        "[docs/acceptance.md](../acceptance.md) against real processes and records what they "
        "measured. “Form” is the form that ran last, full or short; docs/acceptance.md describes "
        "both. A test of several statements ran with the first.",
        "",
        f"Machine: {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}. Everything runs on it: "
        "PostgreSQL, Valkey, web server, worker, dispatcher and clients.",
        "",
        "| # | statement | tests | form | outcome | s | ran | lacking |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(statement, kept) for statement in statements),
        "",
        "## Figures",
        "",
    ]
    for name, (_, title) in FIGURES.items():
        if name in kept.figures:
            lines += [f"### {title}", "", *_table(kept.figures[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(statement: Statement, kept: Kept) -> str:
    ended, run = kept.ended, kept.runs.get(statement.name, Run(""))
    tests = [ended[test] for test in statement.tests if test in ended]
    seconds = f"{sum(test.seconds for test in tests):.0f}" if tests else ""
    outcome = _outcome(statement, ended)
    ran = f"{run.date}, {run.commit}" if run.date else ""
    return (
        f"| {statement.name} | {statement.text} | {len(statement.tests)} | {run.form} | {outcome} "
        f"| {seconds} | {ran} | {LINK.sub('](../', statement.lacking)} |"
    )


def _outcome(statement: Statement, ended: Mapping[str, Outcome]) -> str:
    """“held” only if every named test ran and none of its cases failed."""
    if not statement.tests:
        return "no test"
    absent = [test for test in statement.tests if test not in ended]
    failed = [test for test in statement.tests if test in ended and ended[test].ends["failed"]]
    if failed:
        return "**FAILED**: " + ", ".join(f"`{test.partition('::')[2]}`" for test in failed)
    if absent:
        return f"{len(absent)} of {len(statement.tests)} tests not run"
    empty = [test for test in statement.tests if not ended[test].passed]
    if empty:
        return "skipped: " + "; ".join(sorted(set().union(*(ended[t].reasons for t in empty))))
    skipped = sum(ended[test].ends["skipped"] for test in statement.tests)
    why = "; ".join(sorted({ended[test].why_skipped for test in statement.tests} - {""}))
    return "held" + (f" ({skipped} cases skipped: {why})" if skipped else "")


def _table(figures: Any) -> list[str]:
    body = [[name.replace("_", " "), _value(value)] for name, value in figures.items()]
    return table(["figure", "measured"], body)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        named = (f"{name.replace('_', ' ')} {_value(item)}" for name, item in value.items())
        return ", ".join(named) or "none"
    if isinstance(value, list):
        return "; ".join(_value(item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
