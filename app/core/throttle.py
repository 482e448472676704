"""Rate limits, counted in Valkey for all web servers together."""

import logging
from collections.abc import Callable
from functools import lru_cache

from limits import RateLimitItem
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.core.clock import AHEAD
from app.core.settings import get_settings

logger = logging.getLogger(__name__)


def hit(limit: RateLimitItem, purpose: str, key: str) -> bool:
    """Count an attempt, and tell whether it is still within the limit."""
    return _limited(lambda limiter: _current(limiter, limit, purpose, key).hit(limit, purpose, key))


def may_try(limit: RateLimitItem, purpose: str, key: str) -> bool:
    """Tell whether another attempt would be within the limit, without counting one."""
    return _limited(
        lambda limiter: _current(limiter, limit, purpose, key).test(limit, purpose, key)
    )


def _current(
    limiter: SlidingWindowCounterRateLimiter, limit: RateLimitItem, purpose: str, key: str
) -> SlidingWindowCounterRateLimiter:
    """Discard a count from before the clock was set back. Valkey would keep it for that much
    longer, and the longer it keeps it the more weight it has, so a single attempt could lock
    someone out for an hour."""
    storage, window = limiter.storage, limit.get_expiry()
    assert isinstance(storage, RedisStorage | MemoryStorage)
    _, previous_left, _, left = storage.get_sliding_window(limit.key_for(purpose, key), window)
    if previous_left > window + AHEAD.seconds or left > 2 * window + AHEAD.seconds:
        limiter.clear(limit, purpose, key)
    return limiter


def _limited(ask: Callable[[SlidingWindowCounterRateLimiter], bool]) -> bool:
    try:
        return ask(SlidingWindowCounterRateLimiter(_storage()))
    except StorageError:
        # Without Valkey, each web process counts on its own.
        logger.warning("Redis is not reachable, attempts are counted in memory", exc_info=True)
        return ask(SlidingWindowCounterRateLimiter(_memory()))


@lru_cache
def _storage() -> RedisStorage:
    return RedisStorage(get_settings().redis_url, wrap_exceptions=True, socket_timeout=0.5)


@lru_cache
def _memory() -> MemoryStorage:
    return MemoryStorage()
