"""Reads files of vectors, a batch of rows at a time: CSV here, arrays in `array_files`.

A file is never in memory as a whole. Every error says where it is and what to do.
"""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.collections.service import name_of
from app.core.errors import InvalidInput
from app.core.spreadsheets import as_meant

MOST_COLUMNS = 65_536
# Characters of one line of a table: the most columns, with 40 characters each.
LONGEST_LINE = MOST_COLUMNS * 40
LARGEST = 3e38
# Of a list of file names.
MOST_NAMES_BYTES = 64 * 2**20
NAME_COLUMNS = ("filename", "sha256")


class BadFeatureTable(InvalidInput):
    """The file of vectors cannot be used; the message says where it is wrong."""

    code = "bad_feature_table"


@dataclass(frozen=True)
class VectorRow:
    """One row. where: as messages name it; filename or sha256 of its image; position: of its image,
    if the file has no names; values: (F,) float32, or None if all of its cells are empty."""

    where: str
    values: NDArray[np.float32] | None
    filename: str = ""
    sha256: str = ""
    position: int | None = None


@dataclass(frozen=True)
class VectorFile:
    """columns: names of the numbers; n_rows: if it is known before the rows are read."""

    columns: list[str]
    rows: Iterator[VectorRow]
    n_rows: int | None = None

    @property
    def n_features(self) -> int:
        return len(self.columns)


def read_csv(file: BinaryIO) -> VectorFile:
    """Read a table with a header, a column `filename` (or `sha256`), and columns of numbers.

    Raises BadFeatureTable, also while rows are read.
    """
    reader = csv.reader(_lines(io.TextIOWrapper(file, "utf-8-sig", newline="")))
    header = [cell.strip() for cell in _next(reader) or []]
    _check_header(header)
    named = [header.index(name) if name in header else -1 for name in NAME_COLUMNS]
    places = [place for place in range(len(header)) if place not in named]
    columns = [header[place] for place in places]
    return VectorFile(columns, _csv_rows(reader, header, places, *named))


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        try:
            line = text.readline(LONGEST_LINE)
        except UnicodeDecodeError as error:
            raise BadFeatureTable(
                "The table is not UTF-8 text. Save it as CSV in UTF-8, or upload an array as "
                ".npy, .npz or .safetensors."
            ) from error
        if not line:
            return
        if len(line) >= LONGEST_LINE and not line.endswith("\n"):
            raise BadFeatureTable(
                f"Line {number} is too long. A table can have up to {MOST_COLUMNS:,} columns."
            )
        yield line


def _next(reader: "csv._reader") -> list[str] | None:  # type: ignore[name-defined]
    try:
        return next(reader, None)
    except csv.Error as error:
        raise BadFeatureTable(
            f"The CSV cannot be read at line {reader.line_num} ({error})."
        ) from error


def _check_header(header: list[str]) -> None:
    if not any(header):
        raise BadFeatureTable(
            "The file is empty. The first line must name the columns: filename, then one column "
            "for each number."
        )
    if not set(header) & set(NAME_COLUMNS):
        separated = " Separate the columns by commas." if ";" in header[0] else ""
        listed = ", ".join(name[:40] for name in header[:8])
        raise BadFeatureTable(
            "The table needs a column 'filename' that names the image of each row. Its columns "
            f"are: {listed}.{separated}"
        )
    seen: set[str] = set()
    for place, name in enumerate(header, start=1):
        if not name or name in seen:
            raise BadFeatureTable(
                f"Column {place} has no name of its own ({name[:40]!r}). Every column needs a "
                "unique name."
            )
        seen.add(name)
    check_n_columns(len(seen - set(NAME_COLUMNS)))


def check_n_columns(n: int) -> None:
    if not 1 <= n <= MOST_COLUMNS:
        raise BadFeatureTable(
            f"A feature set has 1 to {MOST_COLUMNS:,} numbers for each image, and this file has "
            f"{n:,}."
        )


def _csv_rows(
    reader: "csv._reader",  # type: ignore[name-defined]
    header: list[str],
    places: list[int],
    by_name: int,
    by_hash: int,
) -> Iterator[VectorRow]:
    columns = [header[place] for place in places]
    while (cells := _next(reader)) is not None:
        where = f"Line {reader.line_num}"
        if not cells:
            continue
        if len(cells) != len(header):
            raise BadFeatureTable(
                f"{where} has {len(cells):,} cells, and the header names {len(header):,} columns. "
                "Every row needs a value for each column."
            )
        yield VectorRow(
            where,
            _numbers([cells[place] for place in places], columns, where),
            name_of(as_meant(cells[by_name].strip())) if by_name >= 0 else "",
            cells[by_hash].strip().lower() if by_hash >= 0 else "",
        )


def _numbers(cells: list[str], columns: list[str], where: str) -> NDArray[np.float32] | None:
    """Return the numbers of a row, or None if all cells are empty."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        if not any(cell.strip() for cell in cells):
            return None
        values = np.full(len(cells), np.nan)
    if np.isfinite(values).all() and np.abs(values).max() <= LARGEST:
        return values.astype(np.float32)
    raise BadFeatureTable(_wrong_cell(cells, columns, where))


def _wrong_cell(cells: list[str], columns: list[str], where: str) -> str:
    for cell, column in zip(cells, columns, strict=True):
        try:
            number = float(cell)
        except ValueError:
            what = "is empty" if not cell.strip() else f"contains {cell.strip()[:50]!r}"
            return (
                f"{where}, column {column[:60]!r} {what}, which is not a number. A table of "
                "features has only numbers besides 'filename'; leave all cells of a row empty if "
                "an image has no features."
            )
        if not math.isfinite(number) or abs(number) > LARGEST:
            return (
                f"{where}, column {column[:60]!r} contains {cell.strip()[:50]!r}. Numbers must be "
                "finite and at most 3e38; leave out the row if the features of an image are not "
                "known."
            )
    raise AssertionError("unreachable")


def read_names(data: bytes) -> list[str]:
    """Return the file names of a list, one in each line; a first line `filename` is a header.

    Raises BadFeatureTable.
    """
    if len(data) > MOST_NAMES_BYTES:
        raise BadFeatureTable(
            f"The list of file names is larger than {MOST_NAMES_BYTES >> 20} MiB. Upload the table "
            "as a CSV, which names each row's image."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFeatureTable("The list of file names is not UTF-8 text.") from error
    lines = [as_meant(line.strip().strip('"')) for line in text.splitlines()]
    names = [name_of(line) for line in lines if line]
    return names[1:] if names[:1] == ["filename"] else names
