"""Checks that lists and JSON of an archive's rows have the shape that their columns declare.

The database only knows that a column contains JSON or an array, but code that reads it relies on
the type in `Mapped[...]`. A new column is checked against its declaration automatically.
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

# The name of the type in JSON.
KINDS = {
    dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean",
}  # fmt: skip
# Python cannot read much deeper nesting, or whole numbers with thousands of digits.
DEEPEST = 100
UNREADABLE = (f"$.**{{{DEEPEST}}}", '$.** ? (@.type() == "number" && @.abs() > 1e300)')


def unreadable(staged: str, archived: Archived) -> str | None:
    """Return a query for a staged line of JSON that could be stored but never read again."""
    columns = [column.key for column in archived.columns if isinstance(column.type, JSONB)]
    line = literal_column(f"{staged}.line", JSONB)
    conditions = [_has(line[name], path) for name in columns for path in UNREADABLE]
    if not conditions:
        return None
    return as_text(select(literal(1)).select_from(table(staged)).where(or_(*conditions)).limit(1))


def misshapen(archived: Archived) -> list[ColumnElement[bool]]:
    """Return conditions, none of which may be true of a row of this table."""
    declared = get_type_hints(archived.model)
    lists = [_is_no_list(column) for column in archived.columns if isinstance(column.type, ARRAY)]
    return lists + [
        _has(column, f'strict {path} ? (@.type() != "{kind}")')
        for column in archived.columns
        if isinstance(column.type, JSONB)
        for path, kind in _parts(declared[column.key], "$")
    ]


def _is_no_list(column: Column[Any]) -> ColumnElement[bool]:
    """Return the condition that it is an array of arrays, does not begin at 1, or contains
    nulls."""
    return case(
        (func.array_ndims(column) > 1, True),
        (func.array_lower(column, 1) != 1, True),
        else_=func.array_position(column, None).is_not(None),
    )


def _parts(declared: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the type of each value in a column's JSON."""
    inside = [argument for argument in get_args(declared) if argument is not NoneType]
    kind = get_origin(declared) or declared
    if kind in KINDS:
        yield path, KINDS[kind]
    if kind is list:
        yield from _parts(inside[0], f"{path}[*]")
    elif kind not in KINDS and len(inside) == 1:
        # This is Mapped[...], or an optional value.
        yield from _parts(inside[0], path)


def _has(value: ColumnElement[Any], path: str) -> ColumnElement[bool]:
    # This is silent: a path that does not exist finds nothing.
    return func.jsonb_path_exists(value, sql_cast(path, JSONPATH), literal_column("'{}'"), True)
