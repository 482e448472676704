"""Stored rows of results, to which interrupted and overlapping runs can add."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness.tables import Results, Row


@dataclass(frozen=True)
class RowFile:
    """A JSON file with a row on each line.

    identity: the fields that identify a row; the others were measured. digits: to which floats
    are rounded.
    """

    path: Path
    identity: tuple[str, ...]
    digits: int | None = None

    def key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in self.identity)

    def rows(self) -> list[Row]:
        """All rows; none before the first is added."""
        rows: list[Row] = json.loads(self.path.read_text()) if self.path.exists() else []
        return rows

    def add(self, *rows: Row) -> None:
        """Store rows, each instead of an earlier one with the same identity."""
        with self._locked():
            kept = {self.key(row): row for row in self.rows()}
            kept |= {self.key(row): self._rounded(row) for row in rows}
            lines = ",\n".join(json.dumps(row, default=float) for row in kept.values())
            partial = self.path.with_suffix(".partial")
            partial.write_text(f"[\n{lines}\n]\n")
            partial.replace(self.path)

    def add_all(self, measured: Iterable[list[Row]], keep: bool) -> None:
        """Store each fit's rows when they are there; keep: earlier rows of other fits too."""
        for number, rows in enumerate(measured):
            if not keep and not number:
                self.clear()
            self.add(*rows)

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)

    def _rounded(self, row: Row) -> Row:
        if self.digits is None:
            return row
        return {k: round(v, self.digits) if isinstance(v, float) else v for k, v in row.items()}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def read_folder(folder: Path) -> Results:
    """The rows of each part that has a file in the folder."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def read_parts(path: Path) -> Results:
    """The rows of each part in one file; none before the first is stored."""
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    return results


def store_part(path: Path, part: str, rows: list[Row]) -> None:
    """Replace the rows of one part in the file."""
    path.write_text(json.dumps(read_parts(path) | {part: rows}, default=float) + "\n")
