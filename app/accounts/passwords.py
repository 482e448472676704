"""Passwords: Argon2id hashes and limits on attempts."""

import logging
import re
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from zxcvbn import zxcvbn

from app.core import throttle
from app.core.errors import InvalidInput, LikewiseError

SHORTEST, LONGEST = 10, 200
PER_ADDRESS = RateLimitItemPerMinute(20)
PER_ACCOUNT = RateLimitItemPerMinute(10)
PER_ACCOUNT_AND_HOUR = RateLimitItemPerHour(20)
# Limit of wrong passwords of a link from one address; a whole class may share an address.
WRONG_PER_MINUTE = RateLimitItemPerMinute(20)
WRONG_PER_HOUR = RateLimitItemPerHour(100)
SHORTEST_SHARED = 6
# Words that attackers of this site would try, in addition to common ones.
CONTEXT_WORDS = (
    "likewise", "admin", "administrator", "requester", "annotator", "localhost", "prolific",
    "mturk", "password", "campaign", "crowd",
)  # fmt: skip

# Rows of keyboards that zxcvbn does not know.
KEYBOARDS = (
    "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "йцукенгшщзхъ", "фывапролджэ",
)  # fmt: skip
# zxcvbn's score: 10^8 guesses or more, which take an attacker long against Argon2id.
LEAST_SCORE = 3
# The time of zxcvbn grows with the square of the length.
LONGEST_SCORED = 72

logger = logging.getLogger(__name__)

_hasher = PasswordHasher()
# This hash is verified if there is no such account, so that the response takes the same time.
_NOBODY = _hasher.hash("nobody has this password")


class TooManyAttempts(LikewiseError):
    """There were too many attempts for this account or from this address."""

    code = "too_many_attempts"
    status = 429


def hash_password(password: str, email: str) -> str:
    """Return the hash to store; raises InvalidInput for a password that is too short or too easy to
    guess."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"A password must have {SHORTEST} to {LONGEST} characters; this one has "
            f"{len(password)}.",
            code="bad_password",
        )
    if is_guessable(password, (email, *re.split(r"[@._+-]", email), *CONTEXT_WORDS)):
        raise InvalidInput(
            "This password is too easy to guess: it is a common password, or is made of this "
            "site's words or your address. Four random words make a good password.",
            code="bad_password",
        )
    return _hasher.hash(password)


def is_guessable(password: str, own: tuple[str, ...] = ()) -> bool:
    """Tell whether an attacker would soon have tried the password, without any network request.

    own: words connected with its owner and this site, which must not be what makes it long
    """
    words = [word.lower() for word in own if len(word) > 1]
    rest = re.sub("|".join(map(re.escape, words)) or "(?!)", "", password.lower())
    return min(_score(password, words), _score(rest, words)) < LEAST_SCORE


def _score(password: str, words: list[str]) -> int:
    if not password:
        return 0
    estimate = zxcvbn(password[:LONGEST_SCORED], user_inputs=[*words, *KEYBOARDS])
    return int(estimate["score"])


def password_fits(stored: str | None, given: str) -> bool:
    """Tell whether the password matches the stored hash, in the same time if none is stored."""
    try:
        fits = _hasher.verify(stored or _NOBODY, given[: LONGEST + 1])
    except (VerificationError, InvalidHashError):
        return False
    return fits and stored is not None


def hash_again(password: str) -> str:
    """Hash a password that was accepted before, with today's parameters."""
    return _hasher.hash(password)


def needs_new_hash(stored: str) -> bool:
    """Tell whether the hash was made with weaker parameters than today's."""
    return _hasher.check_needs_rehash(stored)


def count_attempt(email: str, address: str) -> None:
    """Count an attempt to sign in; raises TooManyAttempts above the limits."""
    checks = (
        (PER_ADDRESS, f"address/{address}"),
        (PER_ACCOUNT, f"account/{email}"),
        (PER_ACCOUNT_AND_HOUR, f"account/{email}"),
    )
    if not all(_hit(limit, key) for limit, key in checks):
        logger.warning("sign-in refused: too many attempts")
        raise TooManyAttempts("Too many sign-in attempts. Wait a while, or use a one-time link.")


def count_proof(account_id: UUID) -> None:
    """Count a password or code entered by someone who is past the first step of signing in; raises
    TooManyAttempts above the limits.

    This is separate from `count_attempt`, which anyone who knows the e-mail address can drive to
    its limit.
    """
    limits = (PER_ACCOUNT, PER_ACCOUNT_AND_HOUR)
    if not all(_hit(limit, f"proof/{account_id}") for limit in limits):
        logger.warning("proof refused: too many attempts for account %s", account_id)
        raise TooManyAttempts(
            "Too many attempts with a password or code. Wait up to an hour, then try again."
        )


def hash_shared(password: str) -> str:
    """Return the hash of a password that is shared with a group of people; raises InvalidInput."""
    if not SHORTEST_SHARED <= len(password) <= LONGEST:
        raise InvalidInput(
            f"A link's password must have {SHORTEST_SHARED} to {LONGEST} characters; this one has "
            f"{len(password)}.",
            code="bad_password",
        )
    return _hasher.hash(password)


def shared_fits(stored: str | None, given: str, place: str, address: str) -> bool:
    """Tell whether it is the password of `place`; raises TooManyAttempts after many wrong ones from
    an address. Correct ones are not counted, because many people may share an address."""
    limits = (WRONG_PER_MINUTE, WRONG_PER_HOUR)
    key = f"{place}/{address}"
    if not all(_may_try(limit, key) for limit in limits):
        raise TooManyAttempts(
            "Too many attempts with a wrong password. Wait a while, then try again."
        )
    if password_fits(stored, given):
        return True
    for limit in limits:
        _hit(limit, key)
    return False


def _hit(limit: RateLimitItem, key: str) -> bool:
    return throttle.hit(limit, "sign-in", key)


def _may_try(limit: RateLimitItem, key: str) -> bool:
    return throttle.may_try(limit, "sign-in", key)
