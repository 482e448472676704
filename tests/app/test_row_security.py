"""Row-level security: what one requester's request reaches of another's, whatever services forget.

The first wall, services that ask for what is the account's own, is walked in test_permissions.py.
"""

import uuid
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import RowMapping, func, insert, inspect, select, text, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.schema import Table

from app.accounts.models import Account, AuditEvent
from app.campaigns import service
from app.campaigns.models import Campaign, Grid, Share
from app.campaigns.service import get_campaign
from app.collections.models import Collection, Image
from app.core.database import transaction
from app.core.errors import NotFound
from app.core.row_security import OUTSIDE, ROLE, bypass_row_security, row_security_problems
from app.results.live import progress_json
from app.tables import metadata
from testbed.builders import a_campaign, an_account, an_api_token, sign_in
from tests.support.everything import an_account_with_everything
from tests.support.row_security import as_requester

Keys = dict[str, set[tuple[Any, ...]]]
WALLED = [table for table in metadata.sorted_tables if table.name not in OUTSIDE]
VISITED = (
    "campaign", "collection", "image", "feature_set", "feature_shard", "asked_image", "round",
    "grid", "annotator", "assignment", "answer", "job", "model", "feature_alignment", "embedding",
    "clustering",
)  # fmt: skip


def keys_in(session: Session) -> Keys:
    """Primary keys of all rows that there are for this session, without any filter."""
    return {
        table.name: {tuple(row) for row in session.execute(select(*table.primary_key.columns))}
        for table in WALLED
    }


def all_keys() -> Keys:
    with transaction() as session:
        return keys_in(session)


def versions(keys: Keys) -> dict[str, set[Any]]:
    """The versions of these rows, each of which is another after any change."""
    with transaction() as session:
        return {
            table.name: {
                str(row)
                for row in session.execute(
                    select(text("xmin, ctid"))
                    .select_from(table)
                    .where(tuple_(*table.primary_key.columns).in_(keys[table.name]))
                )
            }
            for table in WALLED
        }


def less(keys: Keys, others: Keys) -> Keys:
    return {name: rows - others[name] for name, rows in keys.items()}


def test_every_table_stands_behind_the_wall_or_says_why_not(environment: dict[str, str]) -> None:
    with transaction() as session:
        assert row_security_problems(session, metadata) == []
        secured = session.scalars(
            text("SELECT relname FROM pg_class WHERE relrowsecurity AND relkind = 'r'")
        )
        assert set(secured) == {table.name for table in WALLED}
        commands = session.execute(
            text(
                "SELECT relname, string_agg(polcmd::text, '' ORDER BY polcmd) "
                "FROM pg_policy JOIN pg_class c ON c.oid = polrelid "
                "WHERE polname <> 'visited' GROUP BY relname"
            )
        )
        # Removed, added, seen, changed.
        assert dict(commands.all()) == {table.name: "adrw" for table in WALLED}
        visited = session.execute(
            text(
                "SELECT relname, polcmd::text FROM pg_policy JOIN pg_class c ON c.oid = polrelid "
                "WHERE polname = 'visited'"
            )
        )
        # Visitors with a read-only link only read, and nothing about people or money.
        assert dict(visited.all()) == dict.fromkeys(VISITED, "r")
    assert all(len(reason) > 20 for _, reason in OUTSIDE.values())


def test_a_breach_is_named(environment: dict[str, str]) -> None:
    with transaction() as session:
        session.execute(text("ALTER TABLE answer DISABLE ROW LEVEL SECURITY"))
        session.execute(text("CREATE TABLE forgotten (id integer)"))
        session.execute(text(f"GRANT SELECT ON outbox TO {ROLE}"))
        known = metadata.tables["answer"].metadata
        assert row_security_problems(session, known) == [
            "answer has no row-level security",
            f"outbox can be read by {ROLE}",
        ]
        session.execute(text("DROP POLICY seen ON grid"))
        assert "grid has no row-level security" in row_security_problems(session, known)
        session.rollback()


def test_a_request_sees_all_of_its_accounts_rows_and_none_of_others(
    environment: dict[str, str],
) -> None:
    an_account("friend@example.org")
    before = all_keys()
    ada, _ = an_account_with_everything("ada@example.org", "friend@example.org")
    of_ada = less(all_keys(), before)
    bob, campaign = an_account_with_everything("bob@example.org", "friend@example.org")
    of_bob = less(less(all_keys(), before), of_ada)
    assert [name for name, keys in of_bob.items() if not keys] == []
    with transaction() as session:
        # Accounts are made by nobody in particular.
        ownerless = select(AuditEvent.id).where(AuditEvent.account_id.is_(None))
        unowned = {tuple(row) for row in session.execute(ownerless)}

    with as_requester(ada) as session:
        seen = keys_in(session)
    assert {name: keys & of_bob[name] for name, keys in seen.items() if keys & of_bob[name]} == {}
    of_ada["audit_event"] -= unowned
    # What browsers reported is nobody's.
    of_ada["csp_violation"].clear()
    assert [name for name, keys in seen.items() if of_ada[name] - keys] == []
    # An admin manages accounts, and sees no more of campaigns.
    with as_requester(ada, admin=True) as session:
        seen = keys_in(session)
    assert {name for name, keys in seen.items() if keys & of_bob[name]} == {
        "account", "sign_in_link", "browser_session", "recovery_code", "audit_event",
        "csp_violation",
    }  # fmt: skip

    before_changes = versions(of_bob)
    with as_requester(ada) as session:
        changed = {table.name: _change_all(session, table) for table in WALLED}
        # Rows of Ada's own are changed, or the test would say nothing.
        assert changed["campaign"] == 1
        assert changed["answer"] == 1
    with as_requester(ada) as session:
        session.execute(text("UPDATE answer SET state = 'returned'"))
        for table in reversed(WALLED):
            session.execute(table.delete())
        assert session.scalar(select(func.count()).select_from(Grid)) == 0
    assert versions(of_bob) == before_changes

    with transaction() as session:
        rows = {table.name: _first_row(session, table, of_bob) for table in WALLED}
    with as_requester(ada) as session:
        for table in WALLED:
            with pytest.raises(DBAPIError, match=f'policy for table "{table.name}"'):
                _insert(session, table, rows[table.name])
    assert get_campaign_as(bob, campaign.id).id == campaign.id


def _change_all(session: Session, table: Table) -> int:
    """Give every row the value that it has; returns how many rows that were."""
    column = next(column for column in reversed(table.columns.values()) if column.identity is None)
    return session.connection().execute(table.update().values({column: column})).rowcount


def _first_row(session: Session, table: Table, keys: Keys) -> RowMapping:
    first = min(keys[table.name])
    query = select(table).where(tuple_(*table.primary_key.columns).in_([first]))
    return session.execute(query).mappings().one()


def _insert(session: Session, table: Table, row: RowMapping) -> None:
    """A row as it is there already: policies are asked before uniqueness."""
    given = {name: value for name, value in row.items() if table.c[name].identity is None}
    with session.begin_nested():
        session.execute(insert(table).values(given))


def get_campaign_as(account: Account, campaign_id: UUID) -> Campaign:
    with as_requester(account) as session:
        return get_campaign(session, account, campaign_id)


def test_a_campaign_cannot_be_pointed_at_somebody_elses_collection(
    environment: dict[str, str],
) -> None:
    """Whoever may see a campaign sees its images."""
    ada, bob = an_account(), an_account("bob@example.org")
    campaign, foreign = a_campaign(ada), a_campaign(bob)
    refused = 'policy for table "campaign"'
    with pytest.raises(DBAPIError, match=refused), as_requester(ada) as session:
        session.get_one(Campaign, campaign.id).collection_id = foreign.collection_id
    given = {
        column.key: getattr(campaign, column.key)
        for column in inspect(Campaign).column_attrs
        if column.key not in ("id", "link_token", "collection_id")
    }
    with pytest.raises(DBAPIError, match=refused), as_requester(ada) as session:
        session.add(Campaign(**given, link_token="x", collection_id=foreign.collection_id))
    with as_requester(ada) as session:
        session.add(Campaign(**given, link_token="x", collection_id=campaign.collection_id))


def test_a_service_that_forgets_its_filter_finds_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = an_account(), an_account("bob@example.org")
    own, foreign = a_campaign(ada), a_campaign(bob)
    with as_requester(ada) as session:
        assert session.get(Campaign, own.id) is not None
        assert session.get(Campaign, foreign.id) is None
        assert session.get(Collection, foreign.collection_id) is None
        assert list(session.scalars(select(Campaign.id))) == [own.id]
        assert session.scalar(select(func.count()).select_from(Image)) == 30
    # The service takes every campaign that it finds for the account's own.
    monkeypatch.setattr(service, "access_of", lambda *_: "own")
    with transaction() as session:
        assert get_campaign(session, ada, foreign.id).name == "Campaign"
    sign_in(client, ada)
    addresses = [f"/api/v1/campaigns/{campaign.id}" for campaign in (own, foreign)]
    assert [client.get(address).status_code for address in addresses] == [200, 404]
    assert client.post(f"{addresses[1]}/actions/pause").status_code == 404
    assert client.get(f"{addresses[1]}/export/answers.csv").status_code == 404
    client.cookies.clear()
    bearer = {"Authorization": f"Bearer {an_api_token(ada)}"}
    assert [client.get(address, headers=bearer).status_code for address in addresses] == [200, 404]
    assert progress_json(own.id, ada.id) is not None
    assert progress_json(foreign.id, ada.id) is None


def test_the_role_ends_with_its_transaction(environment: dict[str, str]) -> None:
    ada = an_account()
    a_campaign(an_account("bob@example.org"))
    who = text(
        "SELECT pg_backend_pid(), current_user, current_setting('likewise.account_id', true)"
    )
    with transaction() as session:
        process, owner, _ = session.execute(who).one()
    with as_requester(ada) as session:
        assert tuple(session.execute(who).one()) == (process, ROLE, str(ada.id))
        assert session.scalar(select(func.count()).select_from(Campaign)) == 0
    with transaction() as session:
        assert tuple(session.execute(who).one()) == (process, owner, "")
        assert session.scalar(select(func.count()).select_from(Campaign)) == 1
    with pytest.raises(DBAPIError, match="division by zero"), as_requester(ada) as session:
        session.execute(text("SELECT 1 / 0"))
    with transaction() as session:
        assert tuple(session.execute(who).one()) == (process, owner, "")


def test_beyond_the_wall_is_left_again_whatever_happens(environment: dict[str, str]) -> None:
    ada = an_account()
    a_campaign(an_account("bob@example.org"))
    count = select(func.count()).select_from(Campaign)
    with as_requester(ada) as session:
        with bypass_row_security(session):
            with bypass_row_security(session):
                assert session.scalar(count) == 1
            assert session.scalar(count) == 1
        assert session.scalar(count) == 0
        with pytest.raises(NotFound), bypass_row_security(session):
            raise NotFound("Not there.")
        assert session.scalar(count) == 0
        with pytest.raises(DBAPIError), session.begin_nested(), bypass_row_security(session):
            session.execute(text("SELECT 1 / 0"))
        assert session.scalar(count) == 0
        # What is under way is written as the requester that asked for it.
        session.add(Share(campaign_id=uuid.uuid4(), account_id=ada.id, access="view"))
        with (
            pytest.raises(DBAPIError, match='policy for table "share"'),
            bypass_row_security(session),
        ):
            pass
        session.rollback()
