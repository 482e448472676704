"""Live events: "something changed in this campaign", distributed through Redis.

Nothing in Redis is precious: readers look at PostgreSQL after each event, and also every few
seconds without one, so a lost event only delays a page.
"""

import atexit
import logging
import os
import threading
import time
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
    """Sends events from one thread: those of a moment together, and each campaign's once. Under
    load, an event for each answer costs more than what the pages show."""

    def __init__(self, moment: float = MOMENT_SECONDS) -> None:
        self._moment = moment
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._changed: set[UUID] = set()
        self._begun = threading.Event()
        self._client: Redis | None = None
        self._sender: threading.Thread | None = None

    def announce(self, campaigns: set[UUID]) -> None:
        client = _redis()
        with self._lock:
            is_first = not self._changed
            self._changed |= campaigns
            self._client = client
            is_running = (self._sender is not None and self._sender.is_alive()) or self._starts()
        if not is_running:
            self.send_all()
        elif is_first:
            self._begun.set()

    def _starts(self) -> bool:
        """Start the thread, which lasts as long as the process."""
        sender = threading.Thread(target=self._run, name="live-events", daemon=True)
        try:
            sender.start()
        except RuntimeError as error:
            # No more threads can be started now, so the thread that changed something sends it.
            logger.warning("live events are not bundled: %s", error)
            return False
        self._sender = sender
        return True

    def _run(self) -> None:
        while True:
            self._begun.wait()
            self._begun.clear()
            self.send_all()
            # What changes in the meantime is sent at the end of the moment.
            time.sleep(self._moment)

    def send_all(self) -> None:
        """Send what has changed since this was done the last time."""
        # Who calls this at the end of the process waits for what is being sent.
        with self._sending:
            with self._lock:
                client, changed, self._changed = self._client, self._changed, set()
            if client is not None and changed:
                _send(client, changed)


def _send(client: Redis, campaigns: set[UUID]) -> None:
    try:
        with client.pipeline(transaction=False) as pipeline:
            for campaign_id in campaigns:
                pipeline.publish(channel_of(campaign_id), "changed")
            pipeline.execute()
    except RedisError as error:
        logger.warning("could not send live events, pages will poll instead: %s", error)


_announcements = _Announcements()


def _renew_after_fork() -> None:
    """A forked process has none of its parent's threads."""
    global _announcements
    _announcements = _Announcements()


os.register_at_fork(after_in_child=_renew_after_fork)
# A process that ends takes its thread along.
atexit.register(lambda: _announcements.send_all())


def _publish(session: Session) -> None:
    # SQLAlchemy also calls this for savepoints, when the transaction has not committed yet.
    if session.in_nested_transaction():
        return
    campaigns: set[UUID] = session.info.pop(_CHANGED, set())
    if campaigns:
        _announcements.announce(campaigns)


def _forget(session: Session) -> None:
    if not session.in_nested_transaction():
        session.info.pop(_CHANGED, None)


event.listen(Session, "after_commit", _publish)
event.listen(Session, "after_rollback", _forget)
