"""Database engine, session and declarative base.

One transaction per request or job: routes get a session from `app.core.web.DatabaseSession`, jobs
and commands open `transaction()`. Services never commit.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.pq import ConnStatus
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    DateTime,
    Engine,
    MetaData,
    QueuePool,
    Text,
    cast,
    create_engine,
    event,
    func,
    literal,
    text,
)
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from sqlalchemy.types import Uuid
from uuid_utils.compat import uuid7

from app.core.errors import LikewiseError
from app.core.settings import get_settings
from app.core.timestamps import read_all_times

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Base of all tables; `datetime` columns keep their time zone."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: DateTime(timezone=True), UUID: Uuid()}  # noqa: RUF012


# Connections that requests may hold at once: those of annotators at work (app/core/quick.py), of
# others who open annotators' pages, and of requesters. The pool has ten more for live events.
QUICK_CONNECTIONS, ANNOTATOR_CONNECTIONS, REQUESTER_CONNECTIONS = 10, 4, 10
REQUEST_CONNECTIONS = QUICK_CONNECTIONS + ANNOTATOR_CONNECTIONS + REQUESTER_CONNECTIONS
POOL_SIZE = 10
_serves_annotators = True
# Connections for downloads. They have their own pool, so that someone who uses all of them only
# delays other downloads.
DOWNLOAD_CONNECTIONS = 6
# In milliseconds. An idle transaction still holds its locks, so one that waits for a platform or a
# training is a bug, and is ended.
TIMEOUTS = (
    "-c statement_timeout=60000 -c lock_timeout=30000 -c idle_in_transaction_session_timeout=300000"
)
# What a pooler allows: no options, and no statements that one connection prepares and another one
# executes (docs/decisions/0035).
_THROUGH_POOLER: dict[str, Any] = {"connect_timeout": 10, "prepare_threshold": None}

Table = TypeVar("Table", bound=Base)


class UnknownPooler(LikewiseError):
    """There is a pooler in front of PostgreSQL, and the settings do not say so."""

    code = "unknown_pooler"
    status = 503


class Identified:
    """Mixin: a UUIDv7 primary key (sortable by time) and the time of creation."""

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


@lru_cache
def get_engine() -> Engine:
    """Return the process-wide engine. It survives a restart of PostgreSQL (`_notice_the_end`)."""
    return _engine(POOL_SIZE, REQUEST_CONNECTIONS if _serves_annotators else REQUESTER_CONNECTIONS)


def serve_no_annotators() -> None:
    """Give up the connections reserved for annotators in this process; call it before any is
    opened."""
    global _serves_annotators
    _serves_annotators = False


@lru_cache
def _downloads() -> Engine:
    # SQLAlchemy treats a pool of size 0 as one without a limit.
    return _engine(1, DOWNLOAD_CONNECTIONS - 1)


def get_direct_engine() -> Engine:
    """Return an engine whose connections are sessions of PostgreSQL even if there is a pooler: for
    migrations, backups, and everything else that outlasts a transaction."""
    return _past_the_pooler() if get_settings().direct_database_url else get_engine()


@lru_cache
def _past_the_pooler() -> Engine:
    return _engine(1, 3, get_settings().direct_database_url)


def _engine(pool_size: int, max_overflow: int, direct: str = "") -> Engine:
    has_pooler = bool(get_settings().direct_database_url) and not direct
    engine = create_engine(
        direct or get_settings().database_url,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=max_overflow,
        pool_timeout=10,
        # Errors are logged, and parameters would reveal people's ids and hashes of tokens.
        hide_parameters=True,
        connect_args=_THROUGH_POOLER
        if has_pooler
        else {"connect_timeout": 10, "options": TIMEOUTS},
    )
    if has_pooler:
        event.listen(engine, "begin", _set_timeouts)
    event.listen(engine, "checkout", _notice_the_end)
    event.listen(engine, "connect", read_all_times)
    event.listen(engine, "handle_error", _without_row_values)
    event.listen(engine, "handle_error", _explain_pooler)
    return engine


def _set_timeouts(connection: Connection) -> None:
    """Set TIMEOUTS for this transaction, in one round trip: the next one may get another session,
    and this session serves another client."""
    connection.exec_driver_sql(TIMEOUTS.replace("-c ", "; SET LOCAL ").lstrip("; "))


def _notice_the_end(connection: psycopg.Connection[Any], *_: object) -> None:
    """Refuse a connection from the pool that PostgreSQL has closed in the meantime, so that all of
    its age are replaced. SQLAlchemy's pre-ping would ask PostgreSQL each time; the end of a
    connection has arrived here by itself."""
    arrived = select.poll()
    arrived.register(connection.pgconn.socket, select.POLLIN)
    try:
        # PostgreSQL's last words come before the end.
        while arrived.poll(0):
            connection.pgconn.consume_input()
    except psycopg.OperationalError as error:
        raise InvalidatePoolError from error
    if connection.pgconn.status != ConnStatus.OK:
        raise InvalidatePoolError


def _without_row_values(context: ExceptionContext) -> None:
    """Keep only the first line of PostgreSQL's error. DETAIL and CONTEXT quote rows, and errors are
    logged and stored as reasons of jobs. `orig.diag` still has them."""
    error, wrapped = context.original_exception, context.sqlalchemy_exception
    if not isinstance(error, psycopg.Error) or error.diag.message_primary is None:
        return
    whole, first = str(error), error.diag.message_primary
    error.args = (first,)
    if wrapped is not None:
        wrapped.args = tuple(
            part.replace(whole, first) if isinstance(part, str) else part for part in wrapped.args
        )


def _explain_pooler(context: ExceptionContext) -> None:
    """Say what to do if a pooler refused our options."""
    if context.connection is None and "unsupported startup parameter" in str(
        context.original_exception
    ):
        raise UnknownPooler(
            "A pooler answers where PostgreSQL itself is expected. Set DATABASE_URL to the "
            "pooler's address and LIKEWISE_DIRECT_DATABASE_URL to that of PostgreSQL "
            "(docs/operations.md, A pooler)."
        )


@lru_cache
def session_factory() -> sessionmaker[Session]:
    return sessionmaker(get_engine(), expire_on_commit=False)


@contextmanager
def transaction() -> Iterator[Session]:
    """Open a session whose transaction commits at the end of the block, or rolls back on any
    error."""
    with session_factory().begin() as session:
        yield session


@contextmanager
def snapshot(engine: Engine | None = None) -> Iterator[Session]:
    """Open a read-only session that sees the database as it is now, however long reading takes.

    Times are UTC, no statement times out, and its connection is not from the pool of requests,
    unless an engine is given. If you send what you read to a client, spool it (app/core/spool.py).
    """
    with Session(engine or _downloads(), expire_on_commit=False) as session, session.begin():
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        session.connection(execution_options=options)
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        session.execute(text("SET LOCAL timezone = 'UTC'"))
        yield session


def locked(session: Session, table: type[Table], identity: object) -> Table:
    """Return the row with this primary key, read again under a row lock (FOR NO KEY UPDATE).

    "No key" because child rows are inserted at the same time, and their foreign keys need only a
    share lock on the parent's key. Raises `sqlalchemy.exc.NoResultFound`.
    """
    return session.get_one(
        table, identity, with_for_update={"key_share": True}, populate_existing=True
    )


def advisory_lock(identity: UUID, line: int = 0) -> ColumnElement[None]:
    """Return SQL that waits until all earlier requests for this row's queue have ended their
    transactions. Use it before the row lock of rows that many transactions change at once. A row
    can have several queues, by number.

    PostgreSQL does not keep the order of transactions that wait for a changing row: one that waited
    finds a new version of the row and queues again behind newcomers, sometimes for seconds.
    Advisory locks keep their order.
    """
    return func.pg_advisory_xact_lock(literal(advisory_key(identity, line), BigInteger))


def advisory_key(identity: UUID, line: int = 0) -> int:
    """Return the number of a row's queue. The last half of a UUIDv7 is random."""
    return int.from_bytes(identity.bytes[8:], signed=True) ^ line


def advisory_key_of(identity: ColumnElement[UUID]) -> ColumnElement[int]:
    """SQL: the number of a row's first queue."""
    half = func.replace(func.right(cast(identity, Text), 17), "-", "")
    return cast(cast(literal("x").concat(half), BIT(64)), BigInteger)
