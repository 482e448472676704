"""What Likewise guarantees and the tests that check it: the tables of `docs/acceptance.md`."""

import re
from dataclasses import dataclass

from bench.harness.paths import ROOT

TABLE = ROOT / "docs" / "acceptance.md"
ROW = re.compile(
    r"^\| ([\w-]+) \| ([^|]*) \| ([^|]*)\| ([^|]*)\| ([^|]*)\| ([^|]*)\|$", re.MULTILINE
)
TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")


@dataclass(frozen=True)
class Statement:
    """One row. tests: `path::name`; lacking: what no test checks yet, "missing" without a test."""

    name: str
    text: str
    tests: tuple[str, ...]
    usual: str
    full: str
    lacking: str


def statements(table: str = "") -> list[Statement]:
    """All rows in order, by default those of the document."""
    rows = ROW.findall(table or TABLE.read_text())
    return [
        Statement(name, text, tuple(TEST.findall(tests)), *(cell.strip() for cell in rest))
        for name, text, tests, *rest in rows
    ]
