"""Events about campaigns, as live pages receive them."""

import threading
import time
import uuid

import pytest
from redis import Redis

from app.core.database import transaction
from app.core.events import MOMENT_SECONDS, campaign_changed, channel_of
from app.core.settings import get_settings

N_CHANGES = 60
pytestmark = pytest.mark.usefixtures("client")


def a_change(campaign_id: uuid.UUID) -> None:
    with transaction() as session:
        campaign_changed(session, campaign_id)


def test_a_change_is_announced_at_once_and_the_next_ones_together() -> None:
    campaign_id = uuid.uuid4()
    with Redis.from_url(get_settings().redis_url) as client, client.pubsub() as messages:
        messages.subscribe(channel_of(campaign_id))
        assert messages.get_message(timeout=5) is not None

        def is_announced(seconds: float) -> bool:
            return messages.get_message(timeout=seconds) is not None

        a_change(campaign_id)
        assert is_announced(5)
        began = time.monotonic()
        for _ in range(N_CHANGES):
            a_change(campaign_id)
        moments = (time.monotonic() - began) / MOMENT_SECONDS
        assert is_announced(5)
        n_announced = 1
        while is_announced(3 * MOMENT_SECONDS):
            n_announced += 1
        assert n_announced <= moments + 2
        # The moment has passed, so that a change is announced by itself again.
        a_change(campaign_id)
        assert is_announced(5)


def test_changes_of_many_campaigns_are_announced_by_one_thread() -> None:
    campaigns = [uuid.uuid4() for _ in range(N_CHANGES)]
    channels = {channel_of(campaign_id) for campaign_id in campaigns}
    with Redis.from_url(get_settings().redis_url) as client, client.pubsub() as messages:
        messages.subscribe(*channels)
        for _ in channels:
            assert messages.get_message(timeout=5) is not None
        before = threading.active_count()
        for campaign_id in campaigns:
            a_change(campaign_id)
        assert threading.active_count() <= before + 1
        announced: set[str] = set()
        while announced != channels:
            message = messages.get_message(timeout=5)
            assert message is not None
            announced.add(message["channel"].decode())


def test_what_is_rolled_back_is_not_announced() -> None:
    campaign_id = uuid.uuid4()
    with Redis.from_url(get_settings().redis_url) as client, client.pubsub() as messages:
        messages.subscribe(channel_of(campaign_id))
        assert messages.get_message(timeout=5) is not None
        with transaction() as session:
            campaign_changed(session, campaign_id)
            session.rollback()
        assert messages.get_message(timeout=3 * MOMENT_SECONDS) is None
