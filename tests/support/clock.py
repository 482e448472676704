"""A clock that jumps: what is stored moves the other way, which is the same to whoever compares.

No process keeps a time of day in its memory: what they wait for is measured by a clock that only
goes on. So rows and tokens are all that a jump can be noticed by.
"""

import time

import psycopg
from psycopg import sql

from app.annotation.sessions import TOKEN
from app.core.security import _fernet
from tests.support.databases import connect

HOUR = 3600
TIMES = """
SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
JOIN information_schema.tables USING (table_schema, table_name)
WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
AND data_type = 'timestamp with time zone' GROUP BY table_name
"""


def jump(url: str, seconds: float) -> None:
    """As if the clock of all processes and of PostgreSQL went on by so much at once; below zero: as
    if it was put back."""
    with connect(url) as connection, connection.transaction():
        # Nobody sees some of it moved and some not.
        connection.execute("SET LOCAL session_replication_role = replica")
        rows = connection.execute(TIMES).fetchall()
        tables = sql.SQL(", ").join(sql.Identifier(table) for table, _ in rows)
        connection.execute(sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(tables))
        for table, columns in rows:
            _move(connection, table, columns, seconds)


def _move(connection: psycopg.Connection, table: str, columns: list[str], seconds: float) -> None:
    moved = sql.SQL(", ").join(
        sql.SQL("{0} = {0} - make_interval(secs => {1})").format(sql.Identifier(name), seconds)
        for name in columns
    )
    connection.execute(sql.SQL("UPDATE {} SET {}").format(sql.Identifier(table), moved))


def jumped(token: str, seconds: float) -> str:
    """An annotator's token that was sealed just now, after such a jump."""
    keys = _fernet(TOKEN)
    sealed_at = int(time.time() - seconds)
    return keys.encrypt_at_time(keys.decrypt(token), sealed_at).decode()
