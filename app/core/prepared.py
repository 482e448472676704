"""Statements of the hot path, which are compiled once and run by the driver itself.

From a statement to an object, SQLAlchemy takes several times as long as PostgreSQL does for the
row. A prepared statement goes to the driver as text with its values, and the entities that it
selects become the session's own objects, so that services use them like any others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import psycopg
from sqlalchemy import Connection, Dialect, Select, UpdateBase
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.orm import Mapper, Session, make_transient_to_detached
from sqlalchemy.orm import attributes as state_of
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]
_MISSING = object()
_CURSOR = "likewise.prepared_cursor"
_DIALECT: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]


class Prepared:
    """A statement with named parameters. It selects entities and columns, or it changes rows and
    returns columns.

    entity: for statements that return all columns of one entity's table, that entity.
    Values are the driver's: JSON needs psycopg's `Jsonb`.
    """

    def __init__(
        self, statement: Select[*Row] | UpdateBase, entity: type[Any] | None = None
    ) -> None:
        self._statement, self._entity = statement, entity

    def rows(self, session: Session, **values: object) -> list[Row]:
        """Write what the session has pending, run the statement, and return its rows, with an
        object (or None, for an outer join without a row) in place of an entity's columns.

        Objects that the session knows already are brought up to date. Raises SQLAlchemy's errors.
        """
        if session.new or session.dirty or session.deleted:
            session.flush()
        text, defaults, required = self._compiled
        if missing := required - values.keys():
            raise TypeError(f"The statement needs values for {sorted(missing)}.")
        rows = _run(session.connection(), text, {**defaults, **values})
        return [self._read(session, row) for row in rows] if self._parts else rows

    def first(self, session: Session, **values: object) -> Row | None:
        """Return the only row, or the first, or None."""
        return next(iter(self.rows(session, **values)), None)

    @cached_property
    def _parts(self) -> list[_Part]:
        """What a row consists of; empty if there is no entity in it."""
        if self._entity is not None:
            return [_Part(self._entity.__mapper__)]
        statement = self._statement
        described = statement.column_descriptions if isinstance(statement, Select) else []
        if any(each.get("aliased") and each.get("entity") is each["expr"] for each in described):
            raise TypeError("A prepared statement selects entities under their own names.")
        if all(each.get("entity") is not each["expr"] for each in described):
            return []
        return [
            _Part(each["entity"].__mapper__)
            if each["entity"] is each["expr"]
            else _Part(None, each["expr"])
            for each in described
        ]

    @cached_property
    def _compiled(self) -> tuple[str, dict[str, Any], frozenset[str]]:
        statement = self._statement
        if isinstance(statement, Select) and self._parts:
            columns = [column for part in self._parts for column in part.columns]
            statement = statement.with_only_columns(*columns, maintain_column_froms=True)
        compiled = statement.compile(dialect=_DIALECT)
        assert isinstance(compiled, SQLCompiler)
        if compiled.post_compile_params:
            raise TypeError("A prepared statement has a fixed number of parameters.")
        required = frozenset(name for name, bind in compiled.binds.items() if bind.required)
        return compiled.string, dict(compiled.params), required

    def _read(self, session: Session, row: Row) -> Row:
        values = iter(row)
        return tuple(part.read(session, list(islice(values, part.width))) for part in self._parts)


class _Part:
    """What takes some neighbouring columns of a row: an entity, or a single value."""

    def __init__(self, mapper: Mapper[Any] | None, column: Any = None) -> None:
        self.mapper = mapper
        self.columns: list[Any] = [column]
        if mapper is not None:
            self._keys = [mapper.get_property_by_column(each).key for each in mapper.local_table.c]
            self.columns = [getattr(mapper.class_, key) for key in self._keys]
            (identity,) = mapper.primary_key
            self._identity_at = self._keys.index(mapper.get_property_by_column(identity).key)
        self.width = len(self.columns)

    def read(self, session: Session, values: Sequence[Any]) -> Any:
        if self.mapper is None:
            return values[0]
        identity = values[self._identity_at]
        if identity is None:
            return None
        key = self.mapper.identity_key_from_primary_key((identity,))
        known = session.identity_map.get(key)
        return self._new(session, values) if known is None else self._updated(known, values)

    def _new(self, session: Session, values: Sequence[Any]) -> Any:
        assert self.mapper is not None
        instance = self.mapper.class_()
        instance.__dict__.update(zip(self._keys, values, strict=True))
        make_transient_to_detached(instance)
        session.add(instance)
        return instance

    def _updated(self, known: Any, values: Sequence[Any]) -> Any:
        for key, value in zip(self._keys, values, strict=True):
            if known.__dict__.get(key, _MISSING) != value:
                state_of.set_committed_value(known, key, value)
        return known


def _run(connection: Connection, text: str, values: dict[str, object]) -> list[Row]:
    cursor = _cursor_of(connection)
    try:
        cursor.execute(text.encode(), values)
        # Not its description, which takes longer to make than the rows.
        result = cursor.pgresult
        return cursor.fetchall() if result is not None and result.nfields else []
    except psycopg.Error as error:
        # SQLAlchemy's own way on from an error of the driver: it becomes one of SQLAlchemy's, and a
        # connection that is lost leaves the pool.
        connection._handle_dbapi_exception(error, text, None, None, None)
        raise


def _cursor_of(connection: Connection) -> psycopg.Cursor[Row]:
    """Return the cursor for prepared statements of a connection. A new one would look up how each
    column of each result is read; this one knows after the first."""
    cursor: psycopg.Cursor[Row] | None = connection.info.get(_CURSOR)
    if cursor is None or cursor.closed:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        cursor = connection.info[_CURSOR] = driver.cursor()
    return cursor
