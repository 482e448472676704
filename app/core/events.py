"""Live events: "something changed in this campaign", distributed through Redis.

Nothing in Redis is precious: readers look at PostgreSQL after each event, and also every few
seconds without one, so a lost event only delays a page.
"""

import logging
import threading
from functools import lru_cache
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import event
from sqlalchemy.orm import Session

from app.core.settings import get_settings

logger = logging.getLogger(__name__)
_CHANGED = "changed_campaigns"
MOMENT_SECONDS = 0.2


def channel_of(campaign_id: UUID | str) -> str:
    """Return the Redis channel of a campaign's events."""
    return f"likewise:campaign:{campaign_id}"


@lru_cache
def _redis() -> Redis:
    return Redis.from_url(get_settings().redis_url, socket_timeout=0.5, socket_connect_timeout=0.5)


def write_to_redis() -> None:
    """Write to Redis; raises RedisError unless it responds at once and accepts the value."""
    _redis().set("likewise:asked", "", ex=60)


def campaign_changed(session: Session, campaign_id: UUID) -> None:
    """Notify the live pages of a campaign once this transaction has committed."""
    session.info.setdefault(_CHANGED, set()).add(campaign_id)


class _Announcements:
    """Sends an event for a campaign at once, and for the changes that follow within a moment one
    event at its end. Under load, an event for each answer costs more than what the pages show."""

    def __init__(self, moment: float = MOMENT_SECONDS) -> None:
        self._moment = moment
        self._lock = threading.Lock()
        # Campaigns whose moment has not ended, and whether something has changed in it.
        self._open: dict[UUID, bool] = {}

    def announce(self, campaign_id: UUID) -> None:
        client = _redis()
        with self._lock:
            if campaign_id in self._open:
                self._open[campaign_id] = True
                return
            self._begin(client, campaign_id)
        _send(client, campaign_id)

    def _begin(self, client: Redis, campaign_id: UUID) -> None:
        timer = threading.Timer(self._moment, self._end, (client, campaign_id))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as error:
            # No more threads can be started now. Without a moment, the next change is sent at once.
            logger.warning("live events are not bundled: %s", error)
        else:
            self._open[campaign_id] = False

    def _end(self, client: Redis, campaign_id: UUID) -> None:
        with self._lock:
            has_changed = self._open.pop(campaign_id)
            if has_changed:
                self._begin(client, campaign_id)
        if has_changed:
            _send(client, campaign_id)


def _send(client: Redis, campaign_id: UUID) -> None:
    try:
        client.publish(channel_of(campaign_id), "changed")
    except RedisError as error:
        logger.warning("could not send a live event, pages will poll instead: %s", error)


_announcements = _Announcements()


def _publish(session: Session) -> None:
    # SQLAlchemy also calls this for savepoints, when the transaction has not committed yet.
    if session.in_nested_transaction():
        return
    campaigns: set[UUID] = session.info.pop(_CHANGED, set())
    for campaign_id in campaigns:
        _announcements.announce(campaign_id)


def _forget(session: Session) -> None:
    if not session.in_nested_transaction():
        session.info.pop(_CHANGED, None)


event.listen(Session, "after_commit", _publish)
event.listen(Session, "after_rollback", _forget)
