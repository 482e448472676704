"""The optional CSV: per-image attributes and feature vectors, one row a file."""

import csv
import io
import math
from dataclasses import dataclass

from app.core.errors import InvalidInput

FEATURE_PREFIX = "feature_"
MAX_ATTRIBUTES = 64
MAX_FEATURES = 4096


class BadAttributeTable(InvalidInput):
    """The CSV cannot be used; the message names the line and the column."""

    code = "bad_attribute_table"


@dataclass(frozen=True)
class AttributeRow:
    """Attributes (text by name) and features (floats, or None) of the file `filename`."""

    filename: str
    attributes: dict[str, str]
    features: list[float] | None


def read_attribute_table(data: bytes) -> list[AttributeRow]:
    """Parse the CSV: first column `filename`, columns `feature_*` are numbers, the rest text.

    Raises BadAttributeTable.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadAttributeTable("The CSV is not UTF-8 text; save it as UTF-8.") from error
    if "\0" in text:
        raise BadAttributeTable("The CSV holds NUL characters; it is not a text file.")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = [column.strip() for column in reader.fieldnames or []]
    _check_columns(columns)
    reader.fieldnames = columns
    try:
        return [_row(row, columns, reader.line_num) for row in reader]
    except csv.Error as error:
        raise BadAttributeTable(f"The CSV cannot be read ({error}).") from error


def _check_columns(columns: list[str]) -> None:
    if "filename" not in columns:
        found = ", ".join(columns[:8]) or "none"
        raise BadAttributeTable(
            f"The CSV needs a column 'filename' that names the image; found: {found}."
        )
    if len(set(columns)) != len(columns) or "" in columns:
        raise BadAttributeTable("Every column of the CSV needs a name of its own.")
    n_features = sum(column.startswith(FEATURE_PREFIX) for column in columns)
    if n_features > MAX_FEATURES or len(columns) - n_features - 1 > MAX_ATTRIBUTES:
        raise BadAttributeTable(
            f"At most {MAX_ATTRIBUTES} attribute and {MAX_FEATURES} feature columns are allowed."
        )


def _row(row: dict[str, str], columns: list[str], line: int) -> AttributeRow:
    if any(row.get(column) is None for column in columns) or None in row:
        raise BadAttributeTable(f"Line {line} does not have {len(columns)} cells.")
    features = [
        _number(row[column], column, line)
        for column in columns
        if column.startswith(FEATURE_PREFIX)
    ]
    attributes = {
        column: row[column].strip()[:200]
        for column in columns
        if column != "filename" and not column.startswith(FEATURE_PREFIX) and row[column].strip()
    }
    return AttributeRow(row["filename"].strip(), attributes, features or None)


def _number(text: str, column: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 3e38:
        raise BadAttributeTable(f"Line {line}, column {column!r}: {text!r} is not a number.")
    return value
