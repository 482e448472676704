"""Loads rows of an archive into the database with new keys, a whole table at a time."""

from collections.abc import Iterator
from typing import Any

from pgvector.sqlalchemy import VECTOR
from psycopg import sql
from sqlalchemy import (
    ARRAY,
    REAL,
    Column,
    ColumnElement,
    TableValuedAlias,
    column,
    func,
    literal,
    literal_column,
    select,
    table,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from app.archive.copying import replacement_id
from app.archive.errors import DamagedArchive, TooNewArchive
from app.archive.manifest import TableSummary
from app.archive.shapes import unreadable
from app.archive.tables import Archived, is_id, is_number, number_of
from app.core.copying import as_text, raw

STAGED = "staged"


def load_table(
    session: Session,
    archived: Archived,
    summary: TableSummary,
    pieces: Iterator[bytes],
    given: dict[str, ColumnElement[Any]],
    secret: str,
) -> None:
    """Insert the rows of one table. `given` are columns whose values do not come from the archive.

    Raises DamagedArchive, TooNewArchive, and psycopg.Error if the database rejects a value.
    """
    unknown = sorted(
        set(summary.columns) - {known.key for known in archived.columns} - archived.former
    )
    if unknown:
        raise TooNewArchive(
            f"The archive's {archived.name} table has an unknown column {unknown[0][:40]!r}."
        )
    summary = summary.model_copy(update={"columns": sorted(set(summary.columns) - archived.former)})
    _stage(session, archived, summary, pieces)
    _renumber(session, archived)
    record = _record(archived, summary)
    values = {
        known: value
        for known in archived.table.columns
        if (value := _value(known, summary, record, given, secret)) is not None
    }
    names = ", ".join(f'"{known.key}"' for known in values)
    query = as_text(select(*values.values()).select_from(table(STAGED), record))
    _run(session, f'INSERT INTO "{archived.name}" ({names}) OVERRIDING SYSTEM VALUE {query}')


def _stage(
    session: Session, archived: Archived, summary: TableSummary, pieces: Iterator[bytes]
) -> None:
    """Stage each line as a row of a table that is dropped with the transaction.

    What `pieces` raises is sent to PostgreSQL as the reason to end the copy, and a reason of 10,000
    bytes or more would end the connection: messages about damaged archives are short.
    """
    _run(session, f"DROP TABLE IF EXISTS {STAGED}")
    _run(session, f"CREATE TEMPORARY TABLE {STAGED} (line jsonb) ON COMMIT DROP")
    with raw(session).cursor() as cursor:
        with cursor.copy(f"COPY {STAGED} FROM STDIN") as copy:
            for piece in pieces:
                copy.write(piece.replace(b"\\", b"\\\\"))
        if cursor.rowcount != summary.rows:
            raise DamagedArchive(
                f"The archive's {archived.name} table should have {summary.rows} rows, not "
                f"{cursor.rowcount}."
            )
        # This is checked before anything reads a row.
        query = unreadable(STAGED, archived)
        if query and cursor.execute(sql.SQL(query)).fetchone():
            raise DamagedArchive(
                f"The archive's {archived.name} table contains JSON that cannot be read."
            )


def _renumber(session: Session, archived: Archived) -> None:
    """Create a table of old and new numbers, for keys that the database generates by counting."""
    for key in archived.table.primary_key.columns:
        if is_number(key):
            _run(
                session,
                f"CREATE TEMPORARY TABLE {number_of(key)} (old bigint PRIMARY KEY, new bigint) "
                "ON COMMIT DROP",
            )
            sequence = f"pg_get_serial_sequence('{archived.name}', '{key.key}')"
            _run(
                session,
                # These are names of our own tables and columns.
                f"INSERT INTO {number_of(key)} SELECT old, nextval({sequence}) FROM "  # noqa: S608
                f"(SELECT (line->>'{key.key}')::bigint AS old FROM {STAGED} ORDER BY 1) AS numbers",
            )


def _record(archived: Archived, summary: TableSummary) -> TableValuedAlias:
    """Return the staged lines as columns with types."""
    known = [field for field in archived.columns if field.key in summary.columns]
    typed = [
        column(field.key, ARRAY(REAL) if isinstance(field.type, VECTOR) else field.type)
        for field in known
    ]
    record = func.jsonb_to_record(literal_column(f"{STAGED}.line", JSONB))
    return record.table_valued(*typed).render_derived(name="r", with_types=True)


def _value(
    known: Column[Any],
    summary: TableSummary,
    record: TableValuedAlias,
    given: dict[str, ColumnElement[Any]],
    secret: str,
) -> ColumnElement[Any] | None:
    """Return the source of a column's values; None leaves it to the database."""
    if known.key in given:
        return given[known.key]
    if known.key in summary.columns:
        return _of_record(known, record, secret)
    if isinstance(known.default, ScalarElementColumnDefault):
        return literal(known.default.arg, known.type)
    if known.nullable or known.server_default is not None or known.identity is not None:
        return None
    raise DamagedArchive(f"The archive's {known.table.name} table lacks the column {known.key!r}.")


def _of_record(known: Column[Any], record: TableValuedAlias, secret: str) -> ColumnElement[Any]:
    value: ColumnElement[Any] = record.c[known.key]
    if is_id(known):
        return replacement_id(value, secret)
    if is_number(known):
        numbers = table(number_of(known), column("old"), column("new"))
        return (
            select(numbers.c.new).where(numbers.c.old == value).correlate(record).scalar_subquery()
        )
    if isinstance(known.type, VECTOR):
        return sql_cast(value, VECTOR())
    return value


def _run(session: Session, statement: str) -> None:
    # The statement consists of schema names and of keys generated here; nothing in it comes from
    # the archive.
    raw(session).execute(sql.SQL(statement))
