"""Live events: "something changed in this campaign", distributed through Redis.

Nothing in Redis is precious: readers look at PostgreSQL after each event, and also every few
seconds without one, so a lost event only delays a page.
"""

import logging
from functools import lru_cache
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import event
from sqlalchemy.orm import Session

from app.core.settings import get_settings

logger = logging.getLogger(__name__)
_CHANGED = "changed_campaigns"


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


def _publish(session: Session) -> None:
    # SQLAlchemy also calls this for savepoints, when the transaction has not committed yet.
    if session.in_nested_transaction():
        return
    campaigns: set[UUID] = session.info.pop(_CHANGED, set())
    for campaign_id in campaigns:
        try:
            _redis().publish(channel_of(campaign_id), "changed")
        except RedisError as error:
            logger.warning("could not send a live event, pages will poll instead: %s", error)
            return


def _forget(session: Session) -> None:
    if not session.in_nested_transaction():
        session.info.pop(_CHANGED, None)


event.listen(Session, "after_commit", _publish)
event.listen(Session, "after_rollback", _forget)
