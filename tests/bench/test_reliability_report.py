"""The report of the acceptance tests says of each statement no more than its tests showed."""

import os
from pathlib import Path

import pytest

from bench.reliability.__main__ import all_passed
from bench.reliability.kept import Kept, Run
from bench.reliability.outcomes import outcomes
from bench.reliability.report import report
from bench.reliability.statements import statements

TABLE = """
| # | statement | tests | usual | full | lacking |
|---|---|---|---|---|---|
| 1 | Held | `tests/a/test_x.py::test_one`, `tests/a/test_x.py::test_two` | short | long | |
| 2 | Broken | `tests/a/test_x.py::test_one`, `tests/a/test_y.py::test_three` | short | long | |
| soak | Half run | `tests/a/test_x.py::test_one`, `tests/a/test_y.py::test_other` | a | b | part |
| 3 | Nobody looked | | | | missing |
| 4 | Not here | `tests/a/test_y.py::test_four` | a | b | |
"""
CASE = '<testcase classname="tests.a.{}" name="{}" time="{}">{}</testcase>'


def a_run(path: Path, *cases: tuple[str, str, float, str]) -> Path:
    inside = "".join(CASE.format(*case) for case in cases)
    path.write_text(f"<testsuites><testsuite>{inside}</testsuite></testsuites>")
    return path


@pytest.fixture
def report_rows(tmp_path: Path) -> dict[str, str]:
    first = a_run(
        tmp_path / "1.xml",
        ("test_x", "test_one[a-1]", 1.0, ""),
        ("test_x", "test_one[b]", 2.0, '<skipped message="no Firefox"/>'),
        ("test_x", "test_two", 4.0, ""),
    )
    other = a_run(
        tmp_path / "2.xml",
        ("test_y", "test_three", 8.0, "<failure/>"),
        ("test_y", "test_four", 0.1, '<skipped message="no WebKit"/>'),
    )
    kept = Kept(runs={"1": Run("full", "0123456789+", "2026-01-02"), "2": Run("short")})
    (tmp_path / "soak.json").write_text('{"kills": {"web": 20}, "unexplained": [], "full": true}')
    kept.end(outcomes([first, other]), tmp_path)
    kept.write(tmp_path / "results.json")
    text = report(statements(TABLE), Kept.read(tmp_path / "results.json"))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def test_a_statement_is_held_only_where_all_its_tests_passed(report_rows: dict[str, str]) -> None:
    assert (
        "| full | held (1 cases skipped: no Firefox) | 7 | 2026-01-02, 0123456789+ |"
        in report_rows["1"]
    )
    assert "| short | **FAILED**: `test_three` | 11 |" in report_rows["2"]
    assert "| 1 of 2 tests not run |" in report_rows["soak"]
    assert "| no test |" in report_rows["3"]
    assert "| skipped: no WebKit |" in report_rows["4"]


def test_figures_stand_in_the_report(report_rows: dict[str, str]) -> None:
    assert report_rows["kills"] == "| kills | web 20 |"
    assert report_rows["unexplained"] == "| unexplained | none |"
    assert report_rows["full"] == "| full | yes |"


def test_the_newest_run_of_a_test_counts(tmp_path: Path) -> None:
    old = a_run(tmp_path / "old.xml", ("test_x", "test_one", 1.0, "<failure/>"))
    new = a_run(tmp_path / "new.xml", ("test_x", "test_one", 1.0, ""))
    os.utime(old, (1, 1))
    assert outcomes([new, old])["tests/a/test_x.py::test_one"].passed


def test_what_was_skipped_as_a_whole_is_no_success(tmp_path: Path) -> None:
    skipped = a_run(
        tmp_path / "1.xml",
        ("test_x", "test_one", 1.0, ""),
        ("test_y", "test_four", 0.1, '<skipped message="no WebKit"/>'),
    )
    passing, skipping = "tests/a/test_x.py::test_one", "tests/a/test_y.py::test_four"
    assert all_passed([passing], skipped)
    assert not all_passed([passing, skipping], skipped)
    assert not all_passed([passing], tmp_path / "never-written.xml")


def test_what_earlier_runs_left_of_a_statement_goes_when_it_runs_again(tmp_path: Path) -> None:
    """Also where it fails on its way, and leaves nothing."""
    run = a_run(tmp_path / "1.xml", ("test_x", "test_one", 1.0, ""), ("test_x", "test_two", 1, ""))
    for name in ("load", "schemathesis", "soak"):
        (tmp_path / f"{name}.json").write_text("{}")
    kept = Kept(runs={"25": Run("full", "abc"), "soak": Run("full", "abc")})
    kept.end(outcomes([run]), tmp_path)
    kept.begin("25", Run("short", "def", "2026-01-02"), ["tests/a/test_x.py::test_one"])
    assert set(kept.figures) == {"soak"}
    assert set(kept.ended) == {"tests/a/test_x.py::test_two"}
    assert kept.runs == {"25": Run("short", "def", "2026-01-02"), "soak": Run("full", "abc")}
