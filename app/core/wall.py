"""The second wall between requesters, in the database (docs/decisions/0023).

A requester's request takes on a role that does not own the tables, so that their policies hold for
it: whatever a service forgets to ask for, rows of other accounts are not there. Everybody else
(annotators, workers, the dispatcher, the command line) works as the owner, past all policies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from psycopg.errors import InsufficientPrivilege
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.core.copying import raw
from app.core.errors import LikewiseError

ROLE = "likewise_requester"
# Tables without policies, and what the role may do with them.
OUTSIDE = {
    "outbox": ("INSERT", "Requests only write messages for workers here; they never read any."),
    "discard": ("INSERT", "Requests only note objects to be removed here; they never read any."),
}
# Columns that no request changes, whatever a policy says of the row.
FIXED = {"campaign": ("id", "owner_id"), "collection": ("id", "owner_id")}
_CONFINED = "confined_to"
# What PostgreSQL says of roles that two sessions make, or grant, at the same moment.
AT_ONCE = ("already exists", "duplicate key value", "tuple concurrently updated")

# Where a schema has the user's name, "$user" is another one once the role is taken on.
_STAY = text(
    "SELECT set_config('search_path', concat_ws(', ', quote_ident(current_schema()), "
    "nullif(current_setting('search_path'), '')), true)"
)
_TAKE_ON = text(
    "SELECT set_config('likewise.account_id', :account, true), "
    "set_config('likewise.admin', :admin, true), set_config('role', :role, true)"
)
_PUT_OFF = text("SELECT set_config('role', 'none', true)")
_TABLES = text(
    "SELECT relname, relrowsecurity, "
    "EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polcmd IN ('r', '*')) "
    "FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') "
    "AND pg_has_role(current_user, relowner, 'USAGE')"
)
_COLUMNS = text(
    "SELECT attname FROM pg_attribute WHERE attrelid = quote_ident(:table)::regclass "
    "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_SEQUENCES = text(
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind = 'S' AND pg_has_role(current_user, relowner, 'USAGE')"
)
# Archives are read through temporary tables, vectors have operators; both are everybody's unless an
# administrator took them away.
_LACKING = text(
    "SELECT format('GRANT TEMPORARY ON DATABASE %I TO ' || :role, current_database()) "
    "WHERE NOT has_database_privilege(:role, current_database(), 'TEMPORARY') "
    "UNION ALL SELECT format('GRANT USAGE ON SCHEMA %I TO ' || :role, nspname) "
    "FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
    "WHERE extname = 'vector' AND NOT has_schema_privilege(:role, n.oid, 'USAGE')"
)
# From PostgreSQL 16 on who made a role is its member, and may yet not take it on.
_MAY_TAKE_ON = text(
    "SELECT pg_has_role(current_user, :role, CASE WHEN "
    "current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)"
)
_POWERS = text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = :role")


# SQLSTATE where a role is taken on that does not exist, or is not for this user.
_NO_ROLE = ("22023", "42501")


class NoWall(LikewiseError):
    """The role of requesters is not as it must be; the message says what to do."""

    code = "no_wall"
    status = 503


def confine(session: Session, account_id: UUID, *, admin: bool = False) -> None:
    """Until its transaction ends, this session reaches what this account may reach, and no more.
    A session has one transaction (app.core.database.transaction).

    admin: the account manages accounts; campaigns of others stay as closed to it as to anybody
    Raises NoWall where the database has no such role.
    """
    session.info[_CONFINED] = {
        "account": str(account_id),
        "admin": "on" if admin else "off",
        "role": ROLE,
    }
    session.execute(_STAY)
    try:
        session.execute(_TAKE_ON, session.info[_CONFINED])
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _NO_ROLE:
            raise
        raise NoWall(
            f"The database role {ROLE}, which keeps requesters' data apart, is missing or "
            "not granted. The administrator of this server can create it with `likewise "
            "migrate` and check it with `likewise doctor`."
        ) from error


@contextmanager
def beyond_the_wall(session: Session) -> Iterator[None]:
    """Within the block a confined session reaches everything: for what one account's doing means to
    others, as telling their webhooks. Each use says why, and asks for no more than it needs.

    A block within a block changes nothing: the outer one ends it."""
    confined = session.info.pop(_CONFINED, None)
    if confined is None:
        yield
        return
    session.flush()
    session.execute(_PUT_OFF)
    try:
        yield
        session.flush()
    finally:
        session.info[_CONFINED] = confined
        # What ended in an error is rolled back, to before the role was put off.
        if raw(session).info.transaction_status == TransactionStatus.INTRANS:
            session.execute(_TAKE_ON, confined)


def raise_wall(connection: Connection) -> None:
    """Make the role if there is none, and let it reach every table that has policies.

    Called after every migration and after a restored backup; does nothing before there are
    policies. Raises NoWall when the database's user may not do it, with what an administrator does.
    """
    tables = connection.execute(_TABLES).all()
    if not any(secured for _, secured, _ in tables):
        return
    _ensure_role(connection)
    connection.execute(text(f"GRANT USAGE ON SCHEMA {_schema(connection)} TO {ROLE}"))
    for name, secured, _ in tables:
        allowed, _ = OUTSIDE.get(name, ("", ""))
        connection.execute(text(f'REVOKE ALL ON "{name}" FROM {ROLE}'))
        if secured:
            allowed = f"SELECT, INSERT, DELETE, UPDATE{_changeable(connection, name)}"
        if allowed:
            connection.execute(text(f'GRANT {allowed} ON "{name}" TO {ROLE}'))
    # Rows of archives get their numbers before they are inserted.
    for name in connection.scalars(_SEQUENCES).all():
        connection.execute(text(f'GRANT USAGE ON "{name}" TO {ROLE}'))
    _grant_the_usual(connection)


def _changeable(connection: Connection, table: str) -> str:
    """The columns that may be changed, where those are not all."""
    if table not in FIXED:
        return ""
    columns = connection.scalars(_COLUMNS, {"table": table}).all()
    return "({})".format(", ".join(f'"{one}"' for one in columns if one not in FIXED[table]))


def _schema(connection: Connection) -> str:
    return str(connection.scalar(text("SELECT quote_ident(current_schema())")))


def _ensure_role(connection: Connection) -> None:
    user = str(connection.scalar(text("SELECT quote_ident(current_user)")))
    create, grant = f"CREATE ROLE {ROLE} NOLOGIN", f"GRANT {ROLE} TO {user}"
    missing: list[str] = []
    powers = connection.scalar(_POWERS, {"role": ROLE})
    if powers is None and not _done(connection, create):
        missing.append(create)
    if powers:
        raise NoWall(
            f"The database role {ROLE} is a superuser or bypasses row-level security, so it "
            f"would see everything. Ask a PostgreSQL administrator to run: ALTER ROLE {ROLE} "
            "NOSUPERUSER NOBYPASSRLS;"
        )
    may = not missing and connection.scalar(_MAY_TAKE_ON, {"role": ROLE})
    if not may and (missing or not _done(connection, grant)):
        missing.append(grant)
    if missing:
        raise NoWall(
            f"The database user {user} is not allowed to set up the role {ROLE}, which keeps "
            "requesters' data apart. Ask a PostgreSQL administrator to run this once, then "
            "try again: " + "".join(f"{one}; " for one in missing).strip()
        )


def _grant_the_usual(connection: Connection) -> None:
    for statement in connection.scalars(_LACKING, {"role": ROLE}).all():
        _done(connection, statement)
    # PostgreSQL only warns of what could not be granted.
    if missing := connection.scalars(_LACKING, {"role": ROLE}).all():
        raise NoWall(
            f"The database role {ROLE} lacks permissions that the application needs. Ask a "
            "PostgreSQL administrator to run this once, then try again: "
            + " ".join(f"{one};" for one in missing)
        )


def _done(connection: Connection, statement: str) -> bool:
    """Whether it could be done; also where another database's migration was quicker."""
    try:
        with connection.begin_nested():
            connection.execute(text(statement))
    except DBAPIError as error:
        if isinstance(error.orig, InsufficientPrivilege):
            return False
        # Roles are the whole server's: somebody else made it at the same moment.
        if not any(one in str(error.orig) for one in AT_ONCE):
            raise
    return True


def is_manned(session: Session) -> bool:
    """Whether there is the role, and this user may take it on."""
    exists = session.scalar(_POWERS, {"role": ROLE}) is not None
    return exists and bool(session.scalar(_MAY_TAKE_ON, {"role": ROLE}))


def breaches(session: Session, metadata: MetaData) -> list[str]:
    """What is not as it must be, in words; empty when the wall stands."""
    powers = session.scalar(_POWERS, {"role": ROLE})
    if powers is None:
        return [f"there is no role {ROLE}"]
    found = [f"the role {ROLE} bypasses row-level security"] if powers else []
    if not session.scalar(_MAY_TAKE_ON, {"role": ROLE}):
        found.append(f"the database user is not allowed to switch to the role {ROLE}")
    found += [f"missing: {one}" for one in session.scalars(_LACKING, {"role": ROLE})]
    rows = {name: (secured, policies) for name, secured, policies in session.execute(_TABLES)}
    for name in sorted(metadata.tables):
        walled = all(rows.get(name, (False, False)))
        reads = session.scalar(
            text("SELECT has_table_privilege(:role, quote_ident(:name), 'SELECT')"),
            {"role": ROLE, "name": name},
        )
        if name not in OUTSIDE and not walled:
            found.append(f"{name} has no row-level security")
        if bool(reads) != (name not in OUTSIDE):
            found.append(f"{name} can{'' if reads else 'not'} be read by {ROLE}")
    return found
