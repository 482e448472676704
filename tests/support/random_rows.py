"""Rows that the schema allows and nobody would write."""

import random
import string
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    Column,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    Uuid,
    insert,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from app.core.database import Base, transaction

TRIES_AT_ONCE = 500
TIMES = (
    "-infinity", "0044-03-15Z BC", "0001-01-01Z", "1970-01-01Z", "2026-01-01Z", "9999-12-31Z",
    "10000-01-01Z", "294000-01-01Z", "infinity",
)  # fmt: skip
NUMBERS = (-(2**31), -1, 0, 1, 2, 7, 2**31 - 1)
TEXTS = (
    "", "x", "0", "link", "learn", "dry_run", "choose",
    "publish", "exclude", "notify", "reward", "bonus",
    "../../..", "/", "models/x", "\u202e\U0001f9ff", "'; --", "{}", "[]",
)  # fmt: skip


class RandomRows:
    """Writes rows of one table after the other; the database says which of them it takes.

    given: values of columns, by "table.column": a callable gets the generator.
    """

    def __init__(self, seed: int, given: dict[str, Any]) -> None:
        self._rng, self._given = random.Random(seed), given

    def write(self, model: type[Base], n: int) -> int:
        """n rows, or as many as a hundred tries for each gave; returns how many."""
        table = model.__table__
        assert isinstance(table, Table)
        written = tries = 0
        while written < n and tries < 100 * n:
            # A transaction has room for some thousands of savepoints.
            with transaction() as session:
                for _ in range(min(TRIES_AT_ONCE, n - written)):
                    tries += 1
                    written += self._is_written(session, table)
        return written

    def _is_written(self, session: Session, table: Table) -> bool:
        try:
            with session.begin_nested():
                session.execute(insert(table).values(self._row(table)))
        except (IntegrityError, DataError):
            return False
        return True

    def _row(self, table: Table) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for column in table.columns:
            if column.identity is not None:
                continue
            given = self._given.get(f"{table.name}.{column.key}", self._given)
            if given is not self._given:
                row[column.key] = given(self._rng) if callable(given) else given
            elif column.nullable and self._rng.random() < 0.3:
                row[column.key] = None
            else:
                row[column.key] = self._value(column)
        return row

    def _value(self, column: Column[Any]) -> Any:
        kind, rng = column.type, self._rng
        if isinstance(kind, JSONB):
            return self._json(3)
        if isinstance(kind, DateTime):
            return text(f"'{rng.choice(TIMES)}'::timestamptz")
        if isinstance(kind, Boolean):
            return rng.random() < 0.5
        if isinstance(kind, Integer):
            return rng.choice(NUMBERS)
        if isinstance(kind, Float):
            return rng.choice((0.0, -1.0, 1e300, 0.5))
        if isinstance(kind, Uuid):
            return UUID(int=rng.getrandbits(128))
        if isinstance(kind, LargeBinary):
            return rng.randbytes(rng.randrange(40))
        if isinstance(kind, ARRAY):
            return []
        assert isinstance(kind, String), (column, kind)
        return self._text()[: kind.length]

    def _text(self) -> str:
        if self._rng.random() < 0.5:
            return self._rng.choice(TEXTS)
        return "".join(self._rng.choices(string.printable[:94], k=self._rng.randrange(30)))

    def _json(self, depth: int) -> Any:
        rng = self._rng
        plain: list[Any] = [None, True, 0, -1, 1.5, 10**30, self._text(), [], {}]
        if depth == 0 or rng.random() < 0.4:
            return rng.choice(plain)
        if rng.random() < 0.5:
            return [self._json(depth - 1) for _ in range(rng.randrange(4))]
        return {self._text(): self._json(depth - 1) for _ in range(rng.randrange(4))}


def before(now: datetime) -> Any:
    """A value for columns that say when something is due: all of it is."""
    return lambda rng: rng.choice(
        (text("'-infinity'::timestamptz"), text("'0044-03-15Z BC'::timestamptz"), now)
    )
