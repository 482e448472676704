"""Databases that tests use one after the other: emptied, as long as they are as they were made."""

import time

import psycopg

BUSY_SECONDS = 30.0

# By rows, as a test leaves few: TRUNCATE makes new files for each table and index, for a fifth of a
# second. But for large ones: the next test would go through the places of all that was deleted.
EMPTY = """
DO $$
DECLARE one record;
BEGIN
  SET LOCAL session_replication_role = replica;
  -- Who is connected still writes to no table that has been emptied while the others are.
  EXECUTE (SELECT 'LOCK TABLE ' || string_agg(format('public.%I', tablename), ', ')
    || ' IN SHARE ROW EXCLUSIVE MODE' FROM pg_tables WHERE schemaname = 'public');
  FOR one IN SELECT format('public.%I', tablename) AS name FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'alembic_version'
  LOOP
    IF pg_relation_size(one.name::regclass) > 1000000 THEN
      EXECUTE 'TRUNCATE ' || one.name || ' CASCADE';
    ELSE
      EXECUTE 'DELETE FROM ' || one.name;
    END IF;
  END LOOP;
  FOR one IN SELECT format('public.%I', sequencename) AS name FROM pg_sequences
    WHERE schemaname = 'public' AND last_value IS NOT NULL
  LOOP
    EXECUTE 'ALTER SEQUENCE ' || one.name || ' RESTART';
  END LOOP;
END $$
"""

OTHERS = """
SELECT count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend'
"""

# What tests do to a database that emptying does not undo: tables, columns, constraints, defaults,
# policies, triggers, functions, schemas, extensions, whom they belong to and who may use them,
# settings.
SHAPE = """
SELECT md5(string_agg(what, '|' ORDER BY what)) FROM (
  SELECT format('%s %s %s %s %s %s %s', oid, relname, relnamespace, relowner, relacl,
                relrowsecurity, relforcerowsecurity)
    FROM pg_class WHERE relkind IN ('r', 'i', 'S', 'v') AND relpersistence <> 't'
    AND relnamespace <> 'pg_toast'::regnamespace
  UNION ALL
  SELECT format('%s %s %s %s %s %s', attrelid, attname, atttypid, attnotnull, attisdropped, attacl)
    FROM pg_attribute WHERE attrelid > 16383 AND attrelid NOT IN
      (SELECT oid FROM pg_class WHERE relnamespace = 'pg_toast'::regnamespace)
  UNION ALL SELECT format('%s %s %s', oid, conname, convalidated) FROM pg_constraint
  UNION ALL SELECT format('%s %s', adrelid, adbin) FROM pg_attrdef
  UNION ALL SELECT format('%s %s %s %s %s %s', polname, polrelid, polcmd, polroles, polqual,
                          polwithcheck) FROM pg_policy
  UNION ALL SELECT format('%s %s %s', tgname, tgrelid, tgenabled) FROM pg_trigger
  UNION ALL SELECT format('%s %s %s %s', oid, proowner, proacl,
                          md5(concat(prosrc, prosqlbody))) FROM pg_proc
    WHERE oid > 16383
  UNION ALL SELECT format('%s %s %s', nspname, nspowner, nspacl) FROM pg_namespace
    WHERE nspname !~ '^pg_(toast_)?temp_'
  UNION ALL SELECT format('%s %s', extname, extversion) FROM pg_extension
  UNION ALL SELECT format('%s %s', datdba, datacl) FROM pg_database
    WHERE datname = current_database()
  UNION ALL SELECT format('%s %s', setrole, setconfig) FROM pg_db_role_setting
    JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()
  UNION ALL SELECT version_num FROM alembic_version
) AS parts (what)
"""


def connect(url: str) -> psycopg.Connection:
    """url: as SQLAlchemy has it."""
    address = url.replace("postgresql+psycopg://", "postgresql://")
    return psycopg.connect(address, autocommit=True)


def shape(connection: psycopg.Connection) -> str:
    """The same for two states of a database that differ in rows alone."""
    row = connection.execute(SHAPE).fetchone()
    assert row is not None
    return str(row[0])


def others(connection: psycopg.Connection) -> tuple[int, int]:
    """(connections, of these busy) to the same database, but for this one."""
    row = connection.execute(OTHERS).fetchone()
    assert row is not None
    return row[0], row[1]


def empty_once_nobody_is_busy(connection: psycopg.Connection) -> None:
    """A page that was closed may have sent its last words, which the server still writes down."""
    connection.execute("SET lock_timeout = '5s'")
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            if others(connection)[1] == 0:
                connection.execute(EMPTY)
                return
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, "somebody keeps a transaction open"
        time.sleep(0.02)
