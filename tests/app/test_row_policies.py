"""Row-level security where accounts meet: shared campaigns, webhooks, credentials, audit log."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from app.accounts.models import Account
from app.accounts.service import create_account, record_audit
from app.campaigns.models import Campaign
from app.campaigns.service import finish_campaign
from app.campaigns.sharing import end_share, share_campaign
from app.collections.models import Image
from app.core.database import transaction
from app.core.errors import Conflict
from app.core.outbox import OutboxMessage, send_after_commit
from app.recruitment.accounts import remove_account, renew_secret
from app.recruitment.models import ChannelAccount, Payment, Recruitment
from app.webhooks.models import Delivery
from testbed.builders import (
    a_campaign,
    a_payment,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
)
from tests.support.row_security import as_requester


def test_shared_campaigns_are_seen_and_changed_as_shared(environment: dict[str, str]) -> None:
    ada, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(ada)
    renamed = text("UPDATE campaign SET name = 'Renamed'")
    taken = text("UPDATE campaign SET owner_id = :account").bindparams(account=friend.id)
    with as_requester(ada) as session:
        share_campaign(session, ada, session.get_one(Campaign, campaign.id), friend.email, "view")
    with as_requester(friend) as session:
        assert session.get(Campaign, campaign.id) is not None
        assert session.scalar(select(func.count()).select_from(Image)) == 30
        assert session.scalars(select(Account.email).order_by(Account.email)).all() == [
            ada.email,
            friend.email,
        ]
        assert session.connection().execute(renamed).rowcount == 0
        assert session.connection().execute(text("UPDATE grid SET number = number")).rowcount == 0
    with as_requester(ada) as session:
        share_campaign(session, ada, session.get_one(Campaign, campaign.id), friend.email, "edit")
    with as_requester(friend) as session:
        assert session.connection().execute(renamed).rowcount == 1
        with pytest.raises(DBAPIError, match="permission denied"), session.begin_nested():
            session.execute(taken)
        assert session.connection().execute(text("UPDATE image SET position = 0")).rowcount == 0
        assert session.connection().execute(text("DELETE FROM share")).rowcount == 0
    with as_requester(ada) as session:
        end_share(session, ada, session.get_one(Campaign, campaign.id), friend.id)
    with as_requester(friend) as session:
        assert session.get(Campaign, campaign.id) is None
        assert session.connection().execute(renamed).rowcount == 0


def test_nobody_raises_themselves(environment: dict[str, str]) -> None:
    ada = an_account()
    for change in ("role = 'admin'", "disabled_at = now()"):
        with (
            pytest.raises(DBAPIError, match='policy for table "account"'),
            as_requester(ada) as session,
        ):
            session.execute(text(f"UPDATE account SET {change}"))  # noqa: S608
    with as_requester(ada, admin=True) as session:
        assert session.connection().execute(text("UPDATE account SET role = 'admin'")).rowcount == 1


def test_webhooks_of_others_are_told_of_what_a_requester_does(environment: dict[str, str]) -> None:
    ada, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(ada)
    a_webhook(friend)
    with as_requester(ada) as session:
        share_campaign(session, ada, session.get_one(Campaign, campaign.id), friend.email, "view")
        finish_campaign(session, ada, campaign.id)
    with as_requester(ada) as session:
        assert session.scalar(select(func.count()).select_from(Delivery)) == 0
    with as_requester(friend) as session:
        [event_name] = session.scalars(select(Delivery.event))
    assert event_name == "campaign.finished"


def test_credentials_are_kept_and_renewed_for_campaigns_no_longer_shared(
    environment: dict[str, str],
) -> None:
    """The friend's account on the platform owes money there, although the campaign is gone."""
    ada, friend = an_account(), an_account("friend@example.org")
    campaign = a_campaign(ada)
    with as_requester(ada) as session:
        share_campaign(session, ada, session.get_one(Campaign, campaign.id), friend.email, "edit")
    recruitment = a_recruitment(friend, campaign)
    payment = a_payment(recruitment, a_submission(recruitment))
    with transaction() as session:
        waiting = session.get_one(Payment, payment.id)
        waiting.state, waiting.due_at = "due", datetime.now(UTC) + timedelta(days=1)
    with as_requester(ada) as session:
        # Whose account it is may be seen by whom it recruits for, not used.
        assert session.get(ChannelAccount, recruitment.channel_account_id) is not None
        assert session.connection().execute(text("DELETE FROM channel_account")).rowcount == 0
        end_share(session, ada, session.get_one(Campaign, campaign.id), friend.id)
    account_id = recruitment.channel_account_id
    assert account_id is not None
    with as_requester(friend) as session:
        assert session.get(Recruitment, recruitment.id) is None
        with pytest.raises(Conflict):
            remove_account(session, friend, account_id)
        renew_secret(session, friend, account_id, {"access_key_id": "a", "secret_access_key": "b"})
        assert session.get(Recruitment, recruitment.id) is None
    with transaction() as session:
        assert session.get_one(Payment, payment.id).due_at <= datetime.now(UTC)


def test_messages_are_left_and_never_read(environment: dict[str, str]) -> None:
    ada = an_account()
    with as_requester(ada) as session:
        send_after_commit(session, "likewise.test", {})
    with pytest.raises(DBAPIError, match="permission denied"), as_requester(ada) as session:
        session.execute(select(OutboxMessage.id))
    with transaction() as session:
        assert session.scalars(select(OutboxMessage.task)).all() == ["likewise.test"]


def test_what_was_done_is_only_ever_added_to(environment: dict[str, str]) -> None:
    ada, bob = an_account(), an_account("bob@example.org")
    with as_requester(ada) as session:
        record_audit(session, ada.id, "test", "account", ada.id)
        session.flush()
        for statement in ("UPDATE audit_event SET action = 'x'", "DELETE FROM audit_event"):
            assert session.connection().execute(text(statement)).rowcount == 0
    with pytest.raises(DBAPIError, match="audit_event"), as_requester(ada) as session:
        record_audit(session, bob.id, "test", "account", bob.id)
    with (
        pytest.raises(DBAPIError, match='policy for table "account"'),
        as_requester(ada) as session,
    ):
        create_account(session, "eve@example.org")
    with as_requester(ada, admin=True) as session:
        create_account(session, "eve@example.org")
