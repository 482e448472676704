"""Reads times from the database, including those that Python cannot represent.

PostgreSQL's times range from 4713 BC to the year 294276 and to infinity; Python's from the year 1
to 9999. psycopg raises an error for a time out of range, which would break the whole sweep or page
that reads the row. Here such a time is read as the nearest one that Python has.
"""

from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import adapters
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_OID = adapters.types["timestamptz"].oid


class NearestTime(Loader):
    """Loads timestamptz from text, with psycopg's own loader."""

    format = Format.TEXT

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        known = adapters.get_loader(_OID, Format.TEXT)
        assert known is not None
        self._known = known(oid, context)

    def load(self, data: Buffer) -> Any:
        """Return the time, or the earliest or latest one that Python has."""
        try:
            return self._known.load(data)
        except psycopg.DataError:
            text = bytes(data)
            return EARLIEST if text.startswith(b"-") or text.endswith(b"BC") else LATEST


def read_all_times(connection: psycopg.Connection[Any], _: object = None) -> None:
    """Make a connection read every possible time; a listener of SQLAlchemy's "connect"."""
    connection.adapters.register_loader("timestamptz", NearestTime)
