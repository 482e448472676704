"""Times as the database has them, also those that Python has not.

PostgreSQL's times reach from 4713 BC to the year 294276, and to infinity; Python's from the year 1
to 9999. psycopg raises when it reads one beyond, and with it fails whatever read the row: a sweep,
a page. Here they are read as the nearest that Python has.
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
    """timestamptz in text, by psycopg's own loader."""

    format = Format.TEXT

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        known = adapters.get_loader(_OID, Format.TEXT)
        assert known is not None
        self._known = known(oid, context)

    def load(self, data: Buffer) -> Any:
        """The time; the earliest or the latest for one beyond."""
        try:
            return self._known.load(data)
        except psycopg.DataError:
            text = bytes(data)
            return EARLIEST if text.startswith(b"-") or text.endswith(b"BC") else LATEST


def read_all_times(connection: psycopg.Connection[Any], _: object = None) -> None:
    """Let a connection read every time there is; a listener of SQLAlchemy's "connect"."""
    connection.adapters.register_loader("timestamptz", NearestTime)
