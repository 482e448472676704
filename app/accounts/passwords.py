"""Passwords: Argon2id, and attempts that are counted."""

import logging
from collections.abc import Callable
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.core.errors import InvalidInput, LikewiseError
from app.core.settings import get_settings

SHORTEST, LONGEST = 10, 200
PER_ADDRESS = RateLimitItemPerMinute(20)
PER_ACCOUNT = RateLimitItemPerHour(20)
# Of wrong passwords of a link, from one address: a class may come from one.
WRONG_PER_MINUTE = RateLimitItemPerMinute(20)
WRONG_PER_HOUR = RateLimitItemPerHour(100)
SHORTEST_SHARED = 6

logger = logging.getLogger(__name__)
_hasher = PasswordHasher()
# Verified when there is no such account, so that the reply takes as long.
_NOBODY = _hasher.hash("nobody has this password")


class TooManyAttempts(LikewiseError):
    """A password was tried too often, for this account or from this address."""

    code = "too_many_attempts"
    status = 429


def hash_password(password: str, email: str) -> str:
    """The hash to store; raises InvalidInput for a password that is too short or too plain."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"A password has {SHORTEST} to {LONGEST} characters; this one has {len(password)}.",
            code="bad_password",
        )
    if len(set(password)) < 4 or password.lower() in (email, email.split("@")[0]):
        raise InvalidInput("This password is too easy to guess.", code="bad_password")
    return _hasher.hash(password)


def password_fits(stored: str | None, given: str) -> bool:
    """Whether the password is the stored one; takes as long where none is stored."""
    try:
        fits = _hasher.verify(stored or _NOBODY, given[: LONGEST + 1])
    except (VerificationError, InvalidHashError):
        return False
    return fits and stored is not None


def needs_new_hash(stored: str) -> bool:
    """Whether the hash is from weaker parameters than today's."""
    return _hasher.check_needs_rehash(stored)


def count_attempt(email: str, address: str) -> None:
    """Count an attempt to sign in; raises TooManyAttempts beyond the limits."""
    checks = ((PER_ADDRESS, f"address/{address}"), (PER_ACCOUNT, f"account/{email}"))
    if not all(_hit(limit, key) for limit, key in checks):
        raise TooManyAttempts(
            "Signing in was tried too often. Wait a while, or use a one-time link."
        )


def hash_shared(password: str) -> str:
    """The same for a password that a group of people is told; raises InvalidInput."""
    if not SHORTEST_SHARED <= len(password) <= LONGEST:
        raise InvalidInput(
            f"The password of a link has {SHORTEST_SHARED} to {LONGEST} characters; this one has "
            f"{len(password)}.",
            code="bad_password",
        )
    return _hasher.hash(password)


def shared_fits(stored: str | None, given: str, place: str, address: str) -> bool:
    """Whether it is the password of `place`; raises TooManyAttempts after many wrong ones from an
    address. Right ones are not counted: many people may come from one address."""
    limits = (WRONG_PER_MINUTE, WRONG_PER_HOUR)
    key = f"{place}/{address}"
    if not all(_may_try(limit, key) for limit in limits):
        raise TooManyAttempts("A wrong password was tried too often. Wait a while, then try again.")
    if password_fits(stored, given):
        return True
    for limit in limits:
        _hit(limit, key)
    return False


def _hit(limit: RateLimitItem, key: str) -> bool:
    return _limited(lambda limiter: limiter.hit(limit, "sign-in", key))


def _may_try(limit: RateLimitItem, key: str) -> bool:
    return _limited(lambda limiter: limiter.test(limit, "sign-in", key))


def _limited(ask: Callable[[SlidingWindowCounterRateLimiter], bool]) -> bool:
    try:
        return ask(SlidingWindowCounterRateLimiter(_storage()))
    except StorageError:
        # Without Valkey each web process counts for itself.
        logger.warning("attempts are counted in memory", exc_info=True)
        return ask(SlidingWindowCounterRateLimiter(_memory()))


@lru_cache
def _storage() -> RedisStorage:
    return RedisStorage(get_settings().redis_url, wrap_exceptions=True, socket_timeout=0.5)


@lru_cache
def _memory() -> MemoryStorage:
    return MemoryStorage()
