"""Facts about what benchmarks share."""

import json
from pathlib import Path

from bench.harness.processes import in_processes
from bench.harness.sections import section_of, with_section
from bench.harness.store import RowFile, read_folder, read_parts, store_part
from bench.harness.tables import spread, table


def test_results_are_kept_fit_by_fit(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "new" / "pinwheel.json", ("method", "seed"))
    assert file.rows() == []
    first, other, again = (
        {"method": m, "seed": 0, "nmi": v} for m, v in zip("aba", "123", strict=True)
    )
    file.add_all([[first], [other]], keep=False)
    file.add_all([[again]], keep=True)
    assert json.loads(file.path.read_text()) == [again, other]
    assert read_folder(file.path.parent) == {"pinwheel": [again, other]}
    file.add_all([[first]], keep=False)
    assert file.rows() == [first]


def test_floats_are_rounded_where_a_file_says_so(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "rows.json", ("seed",), digits=2)
    file.add({"seed": 1, "nmi": 0.1234})
    assert file.rows() == [{"seed": 1, "nmi": 0.12}]


def test_a_part_replaces_its_own_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "parts.json"
    assert read_parts(path) == {}
    for part, value in (("a", 1), ("b", 2), ("a", 3)):
        store_part(path, part, [{"seed": value}])
    assert read_parts(path) == {"a": [{"seed": 3}], "b": [{"seed": 2}]}


def test_every_call_is_made_once_however_many_processes_there_are() -> None:
    calls = [(pow, (2, exponent)) for exponent in range(4)]
    assert list(in_processes(calls, 1)) == [("1/4", 1), ("2/4", 2), ("3/4", 4), ("4/4", 8)]
    assert sorted(value for _, value in in_processes(calls, 2)) == [1, 2, 4, 8]


def test_a_table_leaves_out_what_was_not_measured() -> None:
    assert table(["a", "b"], [["1", spread([])]]) == ["| a | b |", "|---|---|", "| 1 |  |"]
    assert spread([0.25]) == "0.250"
    assert spread([1.0, 2.0], 1) == "1.5 ± 0.7"


def test_a_section_replaces_its_own_text_alone() -> None:
    text = with_section("# Report\n\nIntroduction.\n", "Speed", "Slow.")
    text = with_section(text, "Size", "Small.")
    assert text == "# Report\n\nIntroduction.\n\n## Speed\n\nSlow.\n\n## Size\n\nSmall.\n"
    text = with_section(text, "Speed", "Fast.\n")
    assert text == "# Report\n\nIntroduction.\n\n## Speed\n\nFast.\n\n## Size\n\nSmall.\n"
    assert section_of(text, "Size") == "## Size\n\nSmall.\n"
    assert section_of(text, "Weight") == ""
