"""Row-level security: the second barrier between requesters, in the database (docs/decisions/0023).

A requester's request switches to a role that does not own the tables, so that their policies apply
to it. Whatever condition a service forgets, rows of other accounts are invisible. All others
(annotators, workers, the dispatcher, the command line) work as the owner, whom no policy restricts.
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
# Tables without policies, and what the role is allowed to do with them.
OUTSIDE = {
    "outbox": ("INSERT", "Requests only write messages for workers here; they never read any."),
    "discard": ("INSERT", "Requests only note objects to be removed here; they never read any."),
}
# Columns that no request may change, whatever the policies of the row allow.
FIXED = {"campaign": ("id", "owner_id"), "collection": ("id", "owner_id")}
_SCOPE = "scope"
# Messages of PostgreSQL when two sessions create or grant a role at the same moment.
AT_ONCE = ("already exists", "duplicate key value", "tuple concurrently updated")

# If a schema has the user's name, "$user" means another schema once the role is set.
_STAY = text(
    "SELECT set_config('search_path', concat_ws(', ', quote_ident(current_schema()), "
    "nullif(current_setting('search_path'), '')), true)"
)
_TAKE_ON = text(
    "SELECT set_config('likewise.account_id', :account, true), "
    "set_config('likewise.admin', :admin, true), set_config('role', :role, true)"
)
_PUT_OFF = text("SELECT set_config('role', 'none', true)")
# Policies for visitors (migration 0034) come in addition: without `seen`, accounts see nothing.
_TABLES = text(
    "SELECT relname, relrowsecurity, "
    "EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polcmd IN ('r', '*') "
    "AND polname <> 'visited') "
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
# Archives are read through temporary tables, and vectors have operators. Everyone may use both
# unless an administrator has revoked it.
_LACKING = text(
    "SELECT format('GRANT TEMPORARY ON DATABASE %I TO ' || :role, current_database()) "
    "WHERE NOT has_database_privilege(:role, current_database(), 'TEMPORARY') "
    "UNION ALL SELECT format('GRANT USAGE ON SCHEMA %I TO ' || :role, nspname) "
    "FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
    "WHERE extname = 'vector' AND NOT has_schema_privilege(:role, n.oid, 'USAGE')"
)
# From PostgreSQL 16 on, the creator of a role is its member, but may still not be allowed to switch
# to it.
_MAY_TAKE_ON = text(
    "SELECT pg_has_role(current_user, :role, CASE WHEN "
    "current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)"
)
_POWERS = text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = :role")


# SQLSTATEs for setting a role that does not exist, or that this user may not use.
_NO_ROLE = ("22023", "42501")


class NoRowSecurity(LikewiseError):
    """The role of requesters is not set up correctly; the message says what to do."""

    code = "no_wall"
    status = 503


def scope_to_account(session: Session, account_id: UUID, *, admin: bool = False) -> None:
    """Restrict this session to the rows of an account until its transaction ends. A session has one
    transaction (app.core.database.transaction).

    admin: the account manages accounts; campaigns of others are as invisible to it as to anyone.
    Raises NoRowSecurity if the database has no such role.
    """
    session.info[_SCOPE] = {
        "account": str(account_id),
        "admin": "on" if admin else "off",
        "role": ROLE,
    }
    session.execute(_STAY)
    try:
        session.execute(_TAKE_ON, session.info[_SCOPE])
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _NO_ROLE:
            raise
        raise NoRowSecurity(
            f"The database role {ROLE}, which keeps requesters' data apart, is missing or "
            "not granted. The administrator of this server can create it with `likewise "
            "migrate` and check it with `likewise doctor`."
        ) from error


@contextmanager
def bypass_row_security(session: Session) -> Iterator[None]:
    """Lift the restriction of a session within the block, for effects of one account's action on
    others, such as notifying their webhooks. Each use says why, and asks for no more than it needs.

    A nested block changes nothing: the outer one ends it.
    """
    scope = session.info.pop(_SCOPE, None)
    if scope is None:
        yield
        return
    session.flush()
    session.execute(_PUT_OFF)
    try:
        yield
        session.flush()
    finally:
        session.info[_SCOPE] = scope
        # A transaction that failed is rolled back to a point before the role was reset.
        if raw(session).info.transaction_status == TransactionStatus.INTRANS:
            session.execute(_TAKE_ON, scope)


def install_row_security(connection: Connection) -> None:
    """Create the role if it does not exist, and grant it access to every table with policies.

    This runs after every migration and every restored backup, and does nothing as long as there are
    no policies. Raises NoRowSecurity if the database user is not allowed to do it, with the
    commands for an administrator.
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
    """Return the columns that may be changed, if that is not all of them."""
    if table not in FIXED:
        return ""
    columns = connection.scalars(_COLUMNS, {"table": table}).all()
    return "({})".format(
        ", ".join(f'"{column}"' for column in columns if column not in FIXED[table])
    )


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
        raise NoRowSecurity(
            f"The database role {ROLE} is a superuser or bypasses row-level security, so it "
            f"would see everything. Ask a PostgreSQL administrator to run: ALTER ROLE {ROLE} "
            "NOSUPERUSER NOBYPASSRLS;"
        )
    may = not missing and connection.scalar(_MAY_TAKE_ON, {"role": ROLE})
    if not may and (missing or not _done(connection, grant)):
        missing.append(grant)
    if missing:
        raise NoRowSecurity(
            f"The database user {user} is not allowed to set up the role {ROLE}, which keeps "
            "requesters' data apart. Ask a PostgreSQL administrator to run this once, then "
            "try again: " + "".join(f"{statement}; " for statement in missing).strip()
        )


def _grant_the_usual(connection: Connection) -> None:
    for statement in connection.scalars(_LACKING, {"role": ROLE}).all():
        _done(connection, statement)
    # PostgreSQL only issues a warning about what could not be granted.
    if missing := connection.scalars(_LACKING, {"role": ROLE}).all():
        raise NoRowSecurity(
            f"The database role {ROLE} lacks permissions that the application needs. Ask a "
            "PostgreSQL administrator to run this once, then try again: "
            + " ".join(f"{grant};" for grant in missing)
        )


def _done(connection: Connection, statement: str) -> bool:
    """Tell whether it succeeded; also if another database's migration was faster."""
    try:
        with connection.begin_nested():
            connection.execute(text(statement))
    except DBAPIError as error:
        if isinstance(error.orig, InsufficientPrivilege):
            return False
        # Roles belong to the whole server: someone else created it at the same moment.
        if not any(phrase in str(error.orig) for phrase in AT_ONCE):
            raise
    return True


def row_security_active(session: Session) -> bool:
    """Tell whether the role exists and this user may switch to it."""
    exists = session.scalar(_POWERS, {"role": ROLE}) is not None
    return exists and bool(session.scalar(_MAY_TAKE_ON, {"role": ROLE}))


def row_security_problems(session: Session, metadata: MetaData) -> list[str]:
    """List the problems of the role and the policies; empty if there are none."""
    powers = session.scalar(_POWERS, {"role": ROLE})
    if powers is None:
        return [f"there is no role {ROLE}"]
    problems = [f"the role {ROLE} bypasses row-level security"] if powers else []
    if not session.scalar(_MAY_TAKE_ON, {"role": ROLE}):
        problems.append(f"the database user is not allowed to switch to the role {ROLE}")
    problems += [f"missing: {grant}" for grant in session.scalars(_LACKING, {"role": ROLE})]
    rows = {name: (secured, policies) for name, secured, policies in session.execute(_TABLES)}
    for name in sorted(metadata.tables):
        is_secured = all(rows.get(name, (False, False)))
        reads = session.scalar(
            text("SELECT has_table_privilege(:role, quote_ident(:name), 'SELECT')"),
            {"role": ROLE, "name": name},
        )
        if name not in OUTSIDE and not is_secured:
            problems.append(f"{name} has no row-level security")
        if bool(reads) != (name not in OUTSIDE):
            problems.append(f"{name} can{'' if reads else 'not'} be read by {ROLE}")
    return problems
