"""Reads the optional CSV with attributes and feature vectors, one row per image."""

import csv
import io
import math
from dataclasses import dataclass, field
from itertools import islice

from app.core.errors import InvalidInput
from app.core.settings import get_settings
from app.core.spreadsheets import as_meant

FEATURE_PREFIX = "feature_"
MAX_ATTRIBUTES = 64
MAX_FEATURES = 4096
MAX_VALUE = 200
NOT_ATTRIBUTES = ("filename", "sha256")


class BadAttributeTable(InvalidInput):
    """The CSV cannot be used; the message names the line and the column."""

    code = "bad_attribute_table"


@dataclass(frozen=True)
class AttributeRow:
    """Attributes (text by name) and features (floats, or None) of the image file `filename`.

    emptied: attributes to remove
    sha256:  of the file, if the table has it; distinguishes images with the same name
    """

    filename: str
    attributes: dict[str, str]
    features: list[float] | None
    emptied: list[str] = field(default_factory=list)
    sha256: str = ""


def read_attribute_table(data: bytes) -> list[AttributeRow]:
    """Parse the CSV: the column `filename` names the image, columns `feature_*` are numbers, all
    others are text.

    A column `sha256`, if present, identifies the image instead of the file name. Raises
    BadAttributeTable.
    """
    reader = csv.DictReader(io.StringIO(decoded(data), newline=""))
    columns = [column.strip() for column in reader.fieldnames or []]
    _check_columns(columns)
    reader.fieldnames = columns
    most = get_settings().max_collection_images
    try:
        rows = [_row(row, columns, reader.line_num) for row in islice(reader, most + 1)]
    except csv.Error as error:
        raise BadAttributeTable(f"The CSV cannot be read ({error}).") from error
    if len(rows) > most:
        raise BadAttributeTable(
            f"The CSV has more than {most} rows. It can have at most one row per image."
        )
    return rows


def decoded(data: bytes) -> str:
    """Return the table's text; raises BadAttributeTable."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadAttributeTable("The table is not UTF-8 text. Save it as UTF-8.") from error
    if "\0" in text:
        raise BadAttributeTable("The table contains NUL characters, so it is not a text file.")
    return text


def _check_columns(columns: list[str]) -> None:
    if "filename" not in columns:
        listed = ", ".join(columns[:8]) or "none"
        raise BadAttributeTable(
            f"The CSV needs a column 'filename' that names the image. Columns found: {listed}."
        )
    check_column_names(columns)


def check_column_names(columns: list[str]) -> None:
    """Raise BadAttributeTable for column names that are missing, duplicated or too many."""
    if len(set(columns)) != len(columns) or "" in columns:
        raise BadAttributeTable("Every column of the CSV needs a unique name.")
    n_features = sum(column.startswith(FEATURE_PREFIX) for column in columns)
    if n_features > MAX_FEATURES or len(columns) - n_features - 1 > MAX_ATTRIBUTES:
        raise BadAttributeTable(
            f"At most {MAX_ATTRIBUTES} attribute and {MAX_FEATURES} feature columns are allowed."
        )


def _row(row: dict[str, str], columns: list[str], line: int) -> AttributeRow:
    if any(row.get(column) is None for column in columns) or None in row:
        raise BadAttributeTable(
            f"Line {line} does not have {len(columns)} cells, one for each column."
        )
    attributes, emptied = attributes_of(row, columns)
    return AttributeRow(
        filename=as_meant(row["filename"].strip()),
        attributes=attributes,
        features=features_of(row, columns, f"Line {line}"),
        emptied=emptied,
        sha256=row.get("sha256", "").strip().lower(),
    )


def attributes_of(row: dict[str, str], columns: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the attributes that the cells set, and the names whose cells are empty."""
    attributes, emptied = {}, []
    for column in columns:
        if column in NOT_ATTRIBUTES or column.startswith(FEATURE_PREFIX):
            continue
        value = as_meant(row[column].strip())[:MAX_VALUE].strip()
        if value:
            attributes[column] = value
        else:
            emptied.append(column)
    return attributes, emptied


def features_of(row: dict[str, str], columns: list[str], where: str) -> list[float] | None:
    """Return the numbers of the columns `feature_…`; None if there are none, or all their cells are
    empty."""
    cells = [(column, row[column]) for column in columns if column.startswith(FEATURE_PREFIX)]
    if not any(text.strip() for _, text in cells):
        return None
    return [_number(text, column, where) for column, text in cells]


def _number(text: str, column: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 3e38:
        raise BadAttributeTable(f"{where}, column {column!r}: {text[:50]!r} is not a number.")
    return value
