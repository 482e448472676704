"""Reads a campaign's rows of one table as lines of JSON with new keys."""

from collections.abc import Iterator
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import ARRAY, REAL, Column, ColumnElement, Text, Uuid, cast, func, literal, select
from sqlalchemy.orm import Session

from app.archive.tables import Archived, is_id, rows_of
from app.core.copying import json_lines

# First character and length of the hash parts that form the third, fourth and fifth part of a UUID.
HASHED = ((1, 3), (4, 3), (7, 12))


def read_table(
    session: Session, archived: Archived, campaign_id: object, secret: str
) -> Iterator[bytes]:
    columns = [
        (
            archived.instead[column.key](campaign_id)
            if column.key in archived.instead
            else _as_json(column, secret)
        ).label(column.key)
        for column in archived.columns
    ]
    return json_lines(session, select(*columns).where(rows_of(archived, campaign_id)))


def replacement_id(key: ColumnElement[Any], secret: str) -> ColumnElement[Any]:
    """Return SQL for another UUID in place of a UUID, the same one each time while `secret` is the
    same.

    Its time is kept, so that rows keep their order; the rest is a keyed hash.
    """
    old = cast(key, Text)
    digest = func.encode(func.sha256(func.convert_to(literal(secret) + old, "UTF8")), "hex")
    parts = [func.substr(digest, start, length, type_=Text) for start, length in HASHED]
    text = func.substr(old, 1, 13, type_=Text) + "-7" + parts[0] + "-a" + parts[1] + "-" + parts[2]
    return cast(text, Uuid())


def _as_json(column: Column[Any], secret: str) -> ColumnElement[Any]:
    if is_id(column):
        return replacement_id(column, secret)
    if isinstance(column.type, VECTOR):
        return cast(column, ARRAY(REAL))
    return column
