"""Signatures, hashes, seals. All keys derive from `LIKEWISE_SECRET_KEY` with a salt per purpose.

`LIKEWISE_OLD_SECRET_KEYS` are accepted for reading: what they signed and sealed is good still. Who
somebody is, is hashed with the oldest of all keys, so that people are known again.
"""

import base64
import hashlib
import hmac
import secrets
import time
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from itsdangerous import BadData, URLSafeSerializer

from app.core.settings import get_settings

# Links that were signed with SHA-1, as before, are good still.
SIGNING: dict[str, Any] = {
    "signer_kwargs": {"digest_method": hashlib.sha256},
    "fallback_signers": [{"digest_method": hashlib.sha1}],
}


def _keys() -> list[str]:
    """The newest first: it writes, all read."""
    settings = get_settings()
    old = settings.old_secret_keys.get_secret_value().split()
    return [settings.secret_key.get_secret_value(), *old]


def new_token() -> str:
    """An unguessable URL-safe token of 256 bits."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored of a token: SHA-256 in hex. Tokens carry 256 bits, so no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def pseudonym(purpose: str, value: str) -> str:
    """Keyed hash of an identity in hex: equal values match, the value cannot be read back."""
    return _keyed_hash(_keys()[-1], purpose, value)


def _keyed_hash(key: str, purpose: str, value: str) -> str:
    message = f"{purpose}\0{value}".encode()
    return hmac.new(key.encode(), message, hashlib.sha256).hexdigest()


def sign(purpose: str, value: Any) -> str:
    """`value` (JSON) as a URL-safe signed text, valid for `purpose` only."""
    return str(URLSafeSerializer(_signers(), salt=purpose, **SIGNING).dumps(value))


def unsign(purpose: str, text: str) -> Any | None:
    """The signed value, or None when the signature does not fit."""
    try:
        return URLSafeSerializer(_signers(), salt=purpose, **SIGNING).loads(text)
    except BadData:
        return None


def _signers() -> list[str]:
    """In the order of itsdangerous: the last one signs."""
    return _keys()[::-1]


def signature(purpose: str, value: str) -> str:
    """A short (128 bit) keyed signature of `value`, for addresses of images."""
    return _keyed_hash(_keys()[0], purpose, value)[:32]


def signature_fits(purpose: str, value: str, given: str) -> bool:
    """Whether it is the signature of `value` by any of the keys."""
    fitting = (_keyed_hash(key, purpose, value)[:32] for key in _keys())
    # Compared as bytes: compare_digest takes no text beyond ASCII. What came as halves of surrogate
    # pairs fits nothing.
    told = given.encode(errors="surrogatepass")
    return any([hmac.compare_digest(one.encode(), told) for one in fitting])


def _fernet(purpose: str, keys: list[str] | None = None) -> MultiFernet:
    derived = (bytes.fromhex(_keyed_hash(key, "seal", purpose)) for key in keys or _keys())
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in derived])


def seal(purpose: str, data: bytes) -> bytes:
    """Encrypted and authenticated, for what must be read again but not from the database alone."""
    return _fernet(purpose).encrypt(data)


def unseal(purpose: str, sealed: bytes) -> bytes | None:
    """What was sealed, or None when it was sealed with another key."""
    try:
        return _fernet(purpose).decrypt(sealed)
    except InvalidToken:
        return None


def seal_timed(purpose: str, data: bytes) -> str:
    """Like `seal`, as URL-safe text with the time of sealing, which alone can be read."""
    return seal(purpose, data).decode()


def unseal_timed(purpose: str, text: str, max_age_seconds: int) -> bytes | None:
    """What was sealed, or None when it was sealed with another key or is too old.

    Not with Fernet's own `ttl`, which refuses what was sealed in the future: a clock that is put
    back by an hour would shut out everybody who is at work, for an hour.
    """
    sealed = _fernet(purpose)
    try:
        age = time.time() - sealed.extract_timestamp(text)
        return sealed.decrypt(text) if age <= max_age_seconds else None
    except (InvalidToken, ValueError):
        return None


def is_sealed_newly(purpose: str, sealed: bytes) -> bool:
    """Whether the newest key alone reads it: then it needs none of the old ones."""
    try:
        _fernet(purpose, _keys()[:1]).decrypt(sealed)
    except InvalidToken:
        return False
    return True
