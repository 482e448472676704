"""Reports and plots follow from the stored results alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cen import loop
from bench.cen.report import write_report as cen
from bench.crowdster.report import write_report as crowdster
from bench.harness.paths import BENCHMARKS
from bench.harness.store import read_folder, read_parts
from bench.harness.tables import Results
from bench.neucrowd.report import write_report as neucrowd
from bench.real_crowds.report import write_report as real_crowds
from bench.semicrowd.report import write_report as semicrowd

REPORTS: dict[str, tuple[Callable[[Path], Results], Callable[[Results, Path], None]]] = {
    "cen.json": (read_parts, cen),
    "crowdster.json": (read_parts, crowdster),
    "neucrowd": (read_folder, neucrowd),
    "semicrowd": (read_folder, semicrowd),
}


@pytest.mark.parametrize("stored", REPORTS)
def test_a_report_and_its_plots_are_byte_equal_to_the_published_ones(
    stored: str, tmp_path: Path
) -> None:
    read, write = REPORTS[stored]
    write(read(BENCHMARKS / stored), tmp_path)
    written = sorted(file.name for file in tmp_path.iterdir())
    assert len(written) > 1
    differing = [
        name
        for name in written
        if (tmp_path / name).read_bytes() != (BENCHMARKS / name).read_bytes()
    ]
    assert differing == []


def test_the_report_of_real_crowds_is_byte_equal_to_the_published_one(tmp_path: Path) -> None:
    rows = json.loads((BENCHMARKS / "real_crowds.json").read_text())
    real_crowds(rows, "product", tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text() == (BENCHMARKS / "real_crowds.md").read_text()


def test_the_report_of_chosen_rounds_is_byte_equal_to_the_published_one() -> None:
    rows = json.loads((BENCHMARKS / "cen_loop.json").read_text())
    assert "\n".join(loop.report(rows)) + "\n" == (BENCHMARKS / "cen_loop.md").read_text()
