"""What lists and JSON of an archive's rows must look like: as their columns are declared.

The database knows that a column holds JSON, or an array; whoever reads it relies on what
`Mapped[...]` says of it. A column added to the schema is held to what it is declared as.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH

from app.archive.tables import Archived
from app.core.copying import as_text

# What JSON calls it.
KINDS = {
    dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean",
}  # fmt: skip
# Python reads nothing that is far deeper, and no whole number of thousands of digits.
DEEPEST = 100
UNREADABLE = (f"$.**{{{DEEPEST}}}", '$.** ? (@.type() == "number" && @.abs() > 1e300)')


def unreadable(staged: str, one: Archived) -> str | None:
    """A query for a line of JSON, of those staged for a table, that could be stored and never be
    read again."""
    columns = [column.key for column in one.columns if isinstance(column.type, JSONB)]
    line = literal_column(f"{staged}.line", JSONB)
    found = [_has(line[name], path) for name in columns for path in UNREADABLE]
    if not found:
        return None
    return as_text(select(literal(1)).select_from(table(staged)).where(or_(*found)).limit(1))


def misshapen(one: Archived) -> list[ColumnElement[bool]]:
    """Conditions of which none may be true of a row of this table."""
    declared = get_type_hints(one.model)
    lists = [_is_no_list(column) for column in one.columns if isinstance(column.type, ARRAY)]
    return lists + [
        _has(column, f'strict {path} ? (@.type() != "{kind}")')
        for column in one.columns
        if isinstance(column.type, JSONB)
        for path, kind in _parts(declared[column.key], "$")
    ]


def _is_no_list(column: Column[Any]) -> ColumnElement[bool]:
    """Whether it is an array of arrays, does not begin at 1, or holds nulls."""
    return case(
        (func.array_ndims(column) > 1, True),
        (func.array_lower(column, 1) != 1, True),
        else_=func.array_position(column, None).is_not(None),
    )


def _parts(declared: Any, path: str) -> Iterator[tuple[str, str]]:
    """Where in a column's JSON there is a value of which kind."""
    inside = [one for one in get_args(declared) if one is not NoneType]
    kind = get_origin(declared) or declared
    if kind in KINDS:
        yield path, KINDS[kind]
    if kind is list:
        yield from _parts(inside[0], f"{path}[*]")
    elif kind not in KINDS and len(inside) == 1:
        # Mapped[...], or a value that may be missing.
        yield from _parts(inside[0], path)


def _has(value: ColumnElement[Any], path: str) -> ColumnElement[bool]:
    # Silent: a path that leads nowhere finds nothing.
    return func.jsonb_path_exists(value, sql_cast(path, JSONPATH), literal_column("'{}'"), True)
