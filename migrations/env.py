"""Alembic environment: the database of the settings, the tables of all capabilities."""

from alembic import context

from app.core.database import get_direct_engine
from app.core.row_security import install_row_security
from app.tables import metadata


def run() -> None:
    """Run migrations in one transaction, under a lock that lets one process migrate at a time.

    New tables that have policies are opened to requesters in the same transaction.
    """
    with get_direct_engine().connect() as connection:
        context.configure(connection=connection, target_metadata=metadata)
        with context.begin_transaction():
            # A replica waits for another's migration, however long that takes.
            context.execute("SET LOCAL lock_timeout = 0")
            context.execute("SET LOCAL statement_timeout = 0")
            context.execute("SELECT pg_advisory_xact_lock(7259104)")
            context.run_migrations()
            install_row_security(connection)


if context.is_offline_mode():
    raise SystemExit("Migrations run against a live database only.")
run()
