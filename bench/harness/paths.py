"""Where results are stored and reports are written."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "docs" / "benchmarks"


def publish(name: str, text: str) -> None:
    """Write and print a report, by the name of its file in `docs/benchmarks`."""
    (BENCHMARKS / name).write_text(text)
    print(text)
