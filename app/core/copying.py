"""Exports rows as lines of JSON that PostgreSQL itself generates, without creating Python
objects."""

from collections.abc import Iterable, Iterator
from typing import Any

from psycopg import Connection
from sqlalchemy import Select, func, literal_column, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

PIECE_BYTES = 2**17


def json_lines(session: Session, query: Select[*tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield each row of `query` as a JSON object with its column names, ended by a newline."""
    rows = query.subquery("r")
    objects = select(func.row_to_json(literal_column("r"))).select_from(rows)
    with (
        raw(session).cursor() as cursor,
        cursor.copy(f"COPY ({as_text(objects)}) TO STDOUT") as copy,
    ):
        for line in copy:
            # COPY doubles every backslash; JSON has no other character that COPY escapes.
            yield bytes(line).replace(b"\\\\", b"\\")


def in_pieces(lines: Iterable[bytes], size: int = PIECE_BYTES) -> Iterator[bytes]:
    """Join lines into larger pieces, because passing on a piece has a cost, especially in a web
    server."""
    piece = bytearray()
    for line in lines:
        if not piece and len(line) >= size:
            yield line
            continue
        piece += line
        if len(piece) >= size:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def raw(session: Session) -> Connection[Any]:
    """Return the session's psycopg connection, inside its transaction."""
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, Connection)
    return connection


def as_text(query: Select[*tuple[Any, ...]]) -> str:
    """Return a query with its values written into the text, for statements that take no
    parameters."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
