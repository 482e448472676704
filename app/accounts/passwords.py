"""Passwords: Argon2id, and attempts that are counted."""

import logging
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

logger = logging.getLogger(__name__)
_hasher = PasswordHasher()
# Verified when there is no such account, so that the reply takes as long.
_NOBODY = _hasher.hash("nobody has this password")


class TooManyAttempts(LikewiseError):
    """Signing in was tried too often, for this account or from this address."""

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


def _hit(limit: RateLimitItem, key: str) -> bool:
    try:
        return SlidingWindowCounterRateLimiter(_storage()).hit(limit, "sign-in", key)
    except StorageError:
        # Without Valkey each web process counts for itself.
        logger.warning("sign-in attempts are counted in memory", exc_info=True)
        return SlidingWindowCounterRateLimiter(_memory()).hit(limit, "sign-in", key)


@lru_cache
def _storage() -> RedisStorage:
    return RedisStorage(get_settings().redis_url, wrap_exceptions=True, socket_timeout=0.5)


@lru_cache
def _memory() -> MemoryStorage:
    return MemoryStorage()
