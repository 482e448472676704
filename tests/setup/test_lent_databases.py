"""Databases that tests have one after the other are as new ones."""

from pathlib import Path

import pytest
from psycopg.errors import LockNotAvailable
from sqlalchemy import func, select

from app.core.database import transaction
from app.core.outbox import OutboxMessage
from app.tables import metadata
from testbed.builders import an_account
from testbed.databases import EMPTY, connect
from testbed.servers import Servers
from testbed.settings import used_here
from tests.conftest import settings_over
from tests.support.everything import an_account_with_everything

CHANGES = [
    "DROP TABLE outbox",
    "ALTER TABLE campaign ADD COLUMN more int",
    "ALTER TABLE campaign ALTER COLUMN n_answers DROP NOT NULL",
    "ALTER TABLE campaign DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE answer DROP CONSTRAINT fk_answer_grid_id_grid",
    "ALTER TABLE answer DISABLE TRIGGER ALL",
    "DROP FUNCTION likewise_admin CASCADE",
    "ALTER TABLE campaign ALTER COLUMN n_answers SET DEFAULT 7",
    """DO $$ DECLARE one record; BEGIN
    SELECT policyname, tablename INTO one FROM pg_policies WHERE with_check IS NOT NULL LIMIT 1;
    EXECUTE format('ALTER POLICY %I ON %I WITH CHECK (true)', one.policyname, one.tablename);
    END $$""",
    "CREATE OR REPLACE FUNCTION likewise_admin() RETURNS boolean LANGUAGE sql STABLE RETURN true",
    "GRANT SELECT ON account TO public",
    "GRANT UPDATE (email) ON account TO public",
    "CREATE SCHEMA another",
    "CREATE INDEX another ON campaign (n_answers)",
    "UPDATE alembic_version SET version_num = '0001'",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$",
    "DO $$ BEGIN EXECUTE format('REVOKE TEMP ON DATABASE %I FROM PUBLIC', current_database()); "
    "END $$",
]


def n_rows() -> dict[str, int]:
    with transaction() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.tables.values()
        }


def next_number() -> int:
    with transaction() as session:
        session.add(message := OutboxMessage(task="one", arguments={}))
        session.flush()
        return message.id


def test_nothing_is_left_of_the_test_before(servers: Servers, tmp_path: Path) -> None:
    with servers.lent_database() as first, used_here(settings_over(servers, first, tmp_path)):
        an_account("bob@example.org")
        an_account_with_everything("ada@example.org", shared_with="bob@example.org")
        assert sum(map(bool, n_rows().values())) > 30
        assert next_number() > 1
    with servers.lent_database() as second, used_here(settings_over(servers, second, tmp_path)):
        assert second == first
        assert not any(n_rows().values())
        assert next_number() == 1


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_as_it_was_made_is_not_used_again(servers: Servers, change: str) -> None:
    with servers.lent_database() as first, connect(first) as connection:
        connection.execute(change)
    with servers.lent_database() as second:
        assert second != first


def test_nor_what_somebody_is_connected_to(servers: Servers) -> None:
    with servers.lent_database() as first:
        connection = connect(first)
    with servers.lent_database() as second:
        assert second != first
    connection.close()


def test_what_a_connected_server_writes_meanwhile_is_in_the_tables_emptied_or_waits(
    servers: Servers,
) -> None:
    """A row beneath one that is just being deleted would stay without it."""
    url = servers.new_database()
    with connect(url) as writer, connect(url) as emptier:
        emptier.execute("BEGIN")
        emptier.execute(EMPTY)
        writer.execute("SET lock_timeout = '100ms'")
        with pytest.raises(LockNotAvailable):
            writer.execute("INSERT INTO outbox (task, arguments) VALUES ('late', '{}')")
        emptier.execute("COMMIT")
    servers.drop_database(url)
