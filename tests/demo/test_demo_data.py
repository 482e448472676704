"""The demo's data: complete, distinct, small and licensed."""

import csv
import hashlib
from pathlib import Path

from PIL import Image

from demo import EMOJI_FOLDER
from demo.colours import write_colours


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_emoji_is_there_once_with_all_its_attributes() -> None:
    rows = rows_of(EMOJI_FOLDER / "attributes.csv")
    files = [EMOJI_FOLDER / row["filename"] for row in rows]
    assert len(rows) == 300
    assert {path.name for path in files} == {path.name for path in EMOJI_FOLDER.glob("*.webp")}
    assert len({hashlib.sha256(path.read_bytes()).hexdigest() for path in files}) == 300
    assert all(value.strip() for row in rows for value in row.values())
    for path in files:
        with Image.open(path) as picture:
            picture.load()
            assert picture.size == (128, 128)


def test_attributes_group_the_emoji_sensibly() -> None:
    rows = rows_of(EMOJI_FOLDER / "attributes.csv")
    for name in ("category", "colour"):
        values = {row[name] for row in rows}
        assert 3 <= len(values) <= 10, (name, values)


def test_the_emoji_are_small_and_licensed() -> None:
    assert sum(path.stat().st_size for path in EMOJI_FOLDER.iterdir()) < 2_500_000
    assert "Apache License" in (EMOJI_FOLDER.parent / "LICENSE").read_text()
    assert "Noto Emoji" in (EMOJI_FOLDER.parent / "README.md").read_text()


def test_colours_are_reproducible_and_distinct(tmp_path: Path) -> None:
    first, again, other = (
        rows_of(write_colours(tmp_path / name, seed=seed) / "attributes.csv")
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other
    triples = {tuple(row[f"feature_{axis}"] for axis in range(3)) for row in first}
    assert len(triples) == len(first) == 300
