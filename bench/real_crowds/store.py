"""Measured rows in a JSON file, to which overlapping runs can add."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[Any, ...]
# The fields that identify a row; the others were measured.
KEY = ("part", "data", "method", "label", "split", "fraction", "seed")
_DIGITS = 5


def key_of(row: Row) -> Key:
    return tuple(row.get(name) for name in KEY)


class Store:
    """The rows of one file. `label` in a row names the version of the product measured."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        """All rows; none before the first is added."""
        if not self.path.exists():
            return []
        rows: list[Row] = json.loads(self.path.read_text())
        return rows

    def add(self, row: Row) -> None:
        """Store the row, replacing an earlier one with the same identity."""
        with self._locked():
            rows = {key_of(kept): kept for kept in self.rows()}
            rows[key_of(row)] = {name: _rounded(value) for name, value in row.items()}
            lines = ",\n".join(json.dumps(kept) for kept in rows.values())
            partial = self.path.with_suffix(".partial")
            partial.write_text(f"[\n{lines}\n]\n")
            partial.replace(self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
