"""Statements that go to the driver as text: their rows, their objects, and what goes wrong."""

import uuid
from typing import cast

import psycopg
import pytest
from sqlalchemy import Table, bindparam, func, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import aliased

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.prepared import Prepared
from testbed.builders import a_campaign, an_account
from testbed.servers import Servers

BY_ID = Prepared(
    select(Campaign, Account, func.upper(Campaign.name))
    .join(Account, Account.id == Campaign.owner_id)
    .where(Campaign.id == bindparam("campaign_id"))
)
TABLE = cast(Table, Campaign.__table__)
pytestmark = pytest.mark.usefixtures("client")


def test_entities_are_objects_of_the_session_and_their_changes_are_written() -> None:
    campaign = a_campaign(name="Birds")
    with transaction() as session:
        row = BY_ID.first(session, campaign_id=campaign.id)
        assert row is not None
        found, owner, name = row
        assert (type(found), type(owner), name) == (Campaign, Account, "BIRDS")
        assert found is session.get_one(Campaign, campaign.id)
        as_read_by_sqlalchemy = {
            each.key: getattr(campaign, each.key) for each in Campaign.__mapper__.column_attrs
        }
        assert {key: getattr(found, key) for key in as_read_by_sqlalchemy} == as_read_by_sqlalchemy
        found.name = "Fish"
    with transaction() as session:
        assert session.get_one(Campaign, campaign.id).name == "Fish"


def test_what_is_pending_is_written_first_and_known_objects_are_brought_up_to_date() -> None:
    campaign = a_campaign(name="Birds")
    elsewhere = update(TABLE).where(TABLE.c.id == campaign.id)
    with transaction() as session:
        found = session.get_one(Campaign, campaign.id)
        found.question = "Which belong together?"
        row = BY_ID.first(session, campaign_id=campaign.id)
        assert row is not None
        assert row[0] is found
        assert found.question == "Which belong together?"
        session.execute(elsewhere.values(name="Fish", rounds=7))
        assert found.name == "Birds"
        BY_ID.rows(session, campaign_id=campaign.id)
        assert (found.name, found.rounds, found.question) == ("Fish", 7, "Which belong together?")
        assert found not in session.dirty


def test_an_outer_join_without_a_row_is_none_and_no_row_is_none() -> None:
    account = an_account()
    of_account = Prepared(
        select(Account, Campaign)
        .outerjoin(Campaign, Campaign.owner_id == Account.id)
        .where(Account.id == bindparam("account_id"))
    )
    with transaction() as session:
        ((found, none),) = of_account.rows(session, account_id=account.id)
        assert found.id == account.id
        assert none is None
        assert of_account.first(session, account_id=uuid.uuid4()) is None


def test_changes_return_columns_or_the_entity() -> None:
    campaign = a_campaign()
    rename = update(TABLE).where(TABLE.c.id == bindparam("campaign_id")).values(
        name=bindparam("to")
    )  # fmt: skip
    with transaction() as session:
        about = {"campaign_id": campaign.id}
        assert Prepared(rename).rows(session, **about, to="a") == []
        assert Prepared(rename.returning(TABLE.c.name)).rows(session, **about, to="b") == [("b",)]
        (row,) = Prepared(rename.returning(*TABLE.c), Campaign).rows(session, **about, to="c")
        assert row == (session.get_one(Campaign, campaign.id),)
        assert row[0].name == "c"


def test_errors_are_sqlalchemys_and_quote_no_row() -> None:
    campaign = a_campaign()
    broken = Prepared(
        update(TABLE).where(TABLE.c.id == bindparam("campaign_id")).values(budget=bindparam("to"))
    )
    with pytest.raises(IntegrityError) as caught, transaction() as session:
        broken.rows(session, campaign_id=campaign.id, to=-1)
    assert isinstance(caught.value.orig, psycopg.errors.CheckViolation)
    assert "Failing row" not in str(caught.value)
    assert str(campaign.id) not in str(caught.value)


def test_a_lost_connection_leaves_the_pool(servers: Servers) -> None:
    campaign = a_campaign()
    with transaction() as session:
        own = session.scalar(text("SELECT pg_backend_pid()"))
        with psycopg.connect(servers.postgres.uri, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (own,))
        with pytest.raises(OperationalError) as caught:
            BY_ID.rows(session, campaign_id=campaign.id)
        session.rollback()
    assert isinstance(caught.value, DBAPIError)
    assert caught.value.connection_invalidated
    with transaction() as session:
        assert BY_ID.first(session, campaign_id=campaign.id) is not None


def test_a_number_of_parameters_that_varies_is_refused() -> None:
    other = aliased(Campaign)
    varying = Prepared(select(other.id).where(other.id.in_(bindparam("ids", expanding=True))))
    with transaction() as session, pytest.raises(TypeError, match="fixed number"):
        varying.rows(session, ids=[uuid.uuid4()])


def test_a_value_that_is_missing_is_not_null() -> None:
    with transaction() as session, pytest.raises(TypeError, match="campaign_id"):
        BY_ID.rows(session)


def test_an_entity_under_another_name_is_refused() -> None:
    with transaction() as session, pytest.raises(TypeError, match="own names"):
        Prepared(select(aliased(Campaign))).rows(session)
