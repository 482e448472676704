"""Signatures, hashes, encryption. All keys derive from `LIKEWISE_SECRET_KEY` with a salt per
purpose.

`LIKEWISE_OLD_SECRET_KEYS` are accepted for reading: what they signed and encrypted stays valid.
People's identities are hashed with the oldest key, so that they are recognised after a change of
keys.
"""

import base64
import hashlib
import hmac
import secrets
import time
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from itsdangerous import BadData, URLSafeSerializer

from app.core.settings import get_settings

# Links signed with SHA-1 by earlier versions stay valid.
SIGNING: dict[str, Any] = {
    "signer_kwargs": {"digest_method": hashlib.sha256},
    "fallback_signers": [{"digest_method": hashlib.sha1}],
}


def _keys() -> list[str]:
    """The newest key comes first and writes; all of them read."""
    settings = get_settings()
    old = settings.old_secret_keys.get_secret_value().split()
    return [settings.secret_key.get_secret_value(), *old]


def new_token() -> str:
    """Return an unguessable URL-safe token of 256 bits."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token in hex, which is what we store. Tokens have 256 bits, so no
    salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def pseudonym(purpose: str, value: str) -> str:
    """Return the keyed hash of an identity in hex: equal values match, and the value cannot be
    recovered."""
    return _keyed_hash(_keys()[-1], purpose, value)


def _keyed_hash(key: str, purpose: str, value: str) -> str:
    message = f"{purpose}\0{value}".encode()
    return hmac.new(key.encode(), message, hashlib.sha256).hexdigest()


def sign(purpose: str, value: Any) -> str:
    """Return `value` (JSON) as a URL-safe signed text, valid for `purpose` only."""
    return str(URLSafeSerializer(_signers(), salt=purpose, **SIGNING).dumps(value))


def unsign(purpose: str, text: str) -> Any | None:
    """Return the signed value, or None if the signature does not match."""
    try:
        return URLSafeSerializer(_signers(), salt=purpose, **SIGNING).loads(text)
    except BadData:
        return None


def _signers() -> list[str]:
    """Return the keys in the order of itsdangerous, where the last one signs."""
    return _keys()[::-1]


def signature(purpose: str, value: str) -> str:
    """Return a short (128 bit) keyed signature of `value`, for addresses of images."""
    return _signature(_keys()[0], purpose, value)


# A campaign's images are shown again and again.
@lru_cache(maxsize=20_000)
def _signature(key: str, purpose: str, value: str) -> str:
    return _keyed_hash(key, purpose, value)[:32]


def signature_fits(purpose: str, value: str, given: str) -> bool:
    """Tell whether it is the signature of `value` by any of the keys."""
    fitting = (_keyed_hash(key, purpose, value)[:32] for key in _keys())
    # Compare bytes, because compare_digest does not accept text beyond ASCII. Text with unpaired
    # surrogates matches nothing.
    given_bytes = given.encode(errors="surrogatepass")
    return any([hmac.compare_digest(candidate.encode(), given_bytes) for candidate in fitting])


def _fernet(purpose: str, keys: list[str] | None = None) -> MultiFernet:
    return _made_fernet(purpose, tuple(keys or _keys()))


# Every request of an annotator needs one.
@lru_cache(maxsize=64)
def _made_fernet(purpose: str, keys: tuple[str, ...]) -> MultiFernet:
    derived = (bytes.fromhex(_keyed_hash(key, "seal", purpose)) for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in derived])


def encrypt(purpose: str, data: bytes) -> bytes:
    """Encrypt and authenticate a value that must be read again, but not from the database alone."""
    return _fernet(purpose).encrypt(data)


def decrypt(purpose: str, encrypted: bytes) -> bytes | None:
    """Return the decrypted value, or None if it was encrypted with another key."""
    try:
        return _fernet(purpose).decrypt(encrypted)
    except InvalidToken:
        return None


def encrypt_timed(purpose: str, data: bytes) -> str:
    """Encrypt like `encrypt`, as URL-safe text with the time of encryption, which is readable
    without a key."""
    return encrypt(purpose, data).decode()


def decrypt_timed(purpose: str, text: str, max_age_seconds: int) -> bytes | None:
    """Return the decrypted value, or None if it was encrypted with another key or is too old.

    This does not use Fernet's own `ttl`, which refuses values from the future: a clock that is set
    back by an hour would lock out everyone who is working, for an hour.
    """
    fernet = _fernet(purpose)
    try:
        age = time.time() - fernet.extract_timestamp(text)
        return fernet.decrypt(text) if age <= max_age_seconds else None
    except (InvalidToken, ValueError):
        return None


def is_encrypted_with_newest_key(purpose: str, encrypted: bytes) -> bool:
    """Tell whether the newest key alone can decrypt it, so that the old ones are not needed."""
    try:
        _fernet(purpose, _keys()[:1]).decrypt(encrypted)
    except InvalidToken:
        return False
    return True
