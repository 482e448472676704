"""Known answers to grids, and a requester's own list of them."""

import csv
import io
from collections import defaultdict
from dataclasses import dataclass

from app.core.errors import InvalidInput

COLUMNS = ("grid", "filename", "group")


class BadKnownAnswers(InvalidInput):
    """The known answers cannot be used."""

    code = "bad_known_answers"


@dataclass(frozen=True)
class KnownAnswer:
    """A grid with its known answer: `images` are positions in the campaign, and `truth` is the
    group of each."""

    images: list[int]
    truth: list[int]


@dataclass(frozen=True)
class Row:
    """An image of a grid in a requester's list, and the name of its group. `line` counts from 1."""

    image: int
    group: str
    line: int


# The rows of each grid, by the grid's name.
KnownTable = dict[str, list[Row]]


def read_table(table: bytes, position_of: dict[str, int]) -> KnownTable:
    """Return the grids of a CSV file with the columns grid, filename and group and one line per
    image. Raises BadKnownAnswers with the line that is wrong."""
    try:
        lines = csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True)
        names = tuple(lines.fieldnames or ())
        if not set(COLUMNS) <= set(names):
            raise BadKnownAnswers(
                f"The table needs the columns {', '.join(COLUMNS)}. It has "
                f"{', '.join(names)[:200] or 'none'}."
            )
        grids: KnownTable = defaultdict(list)
        for line in lines:
            grid, filename, group = (str(line[name] or "").strip() for name in COLUMNS)
            if filename not in position_of:
                raise BadKnownAnswers(
                    f"Line {lines.line_num}: The collection has no image {filename[:200]!r}."
                )
            grids[grid].append(Row(position_of[filename], group, lines.line_num))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadKnownAnswers(f"The table is not valid CSV in UTF-8: {error}.") from error
    if not grids:
        raise BadKnownAnswers("The table is empty.")
    return grids


def check_sizes(table: KnownTable, grid_size: int) -> None:
    """Raise BadKnownAnswers with the grid that is not like the campaign's other grids."""
    for name, rows in table.items():
        if len({row.image for row in rows}) != len(rows):
            raise BadKnownAnswers(f"Grid {name!r} names an image twice.")
        if len(rows) != grid_size:
            raise BadKnownAnswers(
                f"Grid {name!r} has {len(rows)} images. It must have {grid_size} "
                "like all grids of this campaign, so that annotators don't recognise it as a check."
            )
