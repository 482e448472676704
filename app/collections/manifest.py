"""Reads lists of images to import: CSV or JSON Lines, one image per line.

Columns (keys): one of `url`, `path` or `key` (the address of the image), `filename` (its name in
the collection, by default the last part of the address), `feature_…` (numbers); all others are
attributes.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from urllib.parse import unquote, urlsplit

from app.collections.addresses import WEB, Location, address_of_row
from app.collections.attributes import (
    MAX_ATTRIBUTES,
    MAX_FEATURES,
    attributes_of,
    check_column_names,
    decoded,
    features_of,
)
from app.core.errors import InvalidInput, LikewiseError
from app.core.settings import get_settings
from app.core.spreadsheets import as_meant

ADDRESSES = ("url", "path", "key")


class BadManifest(InvalidInput):
    """The whole list cannot be used."""

    code = "bad_manifest"


@dataclass
class Row:
    """One line of a list, with a `problem` (code and reason) if it cannot be used."""

    number: int
    address: str
    filename: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    features: list[float] | None = None
    problem: tuple[str, str] | None = None


def read_manifest(filename: str, data: bytes, base: Location | None) -> list[Row]:
    """Return every line of the list, including those that cannot be used, with their problem.

    base: the folder of keys that are not full addresses. Raises BadManifest or BadAttributeTable.
    """
    text = decoded(data)
    is_json = filename.lower().endswith((".jsonl", ".ndjson", ".json")) or text.lstrip()[:1] in "{["
    lines = _json_lines(text) if is_json else _csv_lines(text)
    limit = get_settings().max_collection_images
    rows = [_row(number, cells, base) for number, cells in islice(lines, limit + 1)]
    if not rows:
        raise BadManifest("The list is empty.")
    if len(rows) > limit:
        raise BadManifest(
            f"The list has more than {limit} lines. A collection can have at most that many images."
        )
    return rows


Cells = dict[str, str]


def _csv_lines(text: str) -> Iterator[tuple[int, Cells | str]]:
    """Yield number and cells of each line; in place of the cells the problem, if there is one."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    columns = [column.strip() for column in reader.fieldnames or []]
    if not set(columns) & set(ADDRESSES):
        listed = ", ".join(columns[:8]) or "none"
        raise BadManifest(
            "The list needs a column 'url', 'path' or 'key' with the address of each image. "
            f"Columns found: {listed}. To upload a table of attributes for images that are "
            "already here, use “Add images”."
        )
    check_column_names(columns)
    reader.fieldnames = columns
    try:
        for cells in reader:
            complete = None not in cells and None not in cells.values()
            yield (
                reader.line_num,
                cells if complete else f"The line does not have {len(columns)} cells.",
            )
    except csv.Error as error:
        raise BadManifest(f"The CSV cannot be read ({error}).") from error


def _json_lines(text: str) -> Iterator[tuple[int, Cells | str]]:
    if text.lstrip().startswith("["):
        raise BadManifest(
            "A JSON list needs one object per line (JSON Lines), without an array around them."
        )
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _cells_of_json(line)


def _cells_of_json(line: str) -> Cells | str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"The line is not valid JSON ({error})."
    if not isinstance(record, dict):
        return "The line is not a JSON object."
    nested = record.pop("attributes", None)
    flat = {**record, **(nested if isinstance(nested, dict) else {})}
    features = flat.pop("features", None)
    if isinstance(features, list):
        flat |= {f"feature_{k}": value for k, value in enumerate(features)}
    cells = {}
    for name, value in flat.items():
        if isinstance(value, list | dict):
            return f"The value of {name[:50]!r} is neither text nor a number."
        cells[name.strip()] = _as_text(value)
    return cells


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row(number: int, cells: Cells | str, base: Location | None) -> Row:
    if isinstance(cells, str):
        return Row(number, "", problem=("bad_line", cells))
    given = next((cells[name].strip() for name in ADDRESSES if cells.get(name, "").strip()), "")
    row = Row(number, as_meant(given))
    try:
        if not given:
            raise BadManifest("The line has no address.", code="no_address")
        row.address = address_of_row(row.address, base)
        columns = [name for name in cells if name not in ADDRESSES]
        features = [name for name in columns if name.startswith("feature_")]
        if len(features) > MAX_FEATURES or len(columns) - len(features) > MAX_ATTRIBUTES + 2:
            raise BadManifest(
                f"At most {MAX_ATTRIBUTES} attributes and {MAX_FEATURES} features are allowed."
            )
        row.attributes, _ = attributes_of(cells, columns)
        row.features = features_of(cells, columns, "The line")
        row.filename = as_meant(cells.get("filename", "").strip()) or name_in(row.address)
    except LikewiseError as error:
        row.problem = (error.code, str(error))
    return row


def name_in(address: str) -> str:
    """Return the last part of an address."""
    web = address.partition("://")[0].lower() in WEB
    path = unquote(urlsplit(address).path) if web else address
    return path.rstrip("/").rpartition("/")[2] or "unnamed"


def as_lines(rows: list[Row]) -> bytes:
    """Serialise rows, to store them until they are imported."""
    return "\n".join(json.dumps(asdict(row)) for row in rows).encode()


def of_lines(data: bytes) -> list[Row]:
    return [Row(**json.loads(line)) for line in data.decode().splitlines()]
