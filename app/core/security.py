"""Signatures, hashes, seals. All keys derive from `LIKEWISE_SECRET_KEY` with a salt per purpose."""

import base64
import hashlib
import hmac
import secrets
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from itsdangerous import BadData, URLSafeSerializer, URLSafeTimedSerializer

from app.core.settings import get_settings


def _key() -> str:
    return get_settings().secret_key.get_secret_value()


def new_token() -> str:
    """An unguessable URL-safe token of 256 bits."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored of a token: SHA-256 in hex. Tokens carry 256 bits, so no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def pseudonym(purpose: str, value: str) -> str:
    """Keyed hash of an identity in hex: equal values match, the value cannot be read back."""
    message = f"{purpose}\0{value}".encode()
    return hmac.new(_key().encode(), message, hashlib.sha256).hexdigest()


def sign(purpose: str, value: Any) -> str:
    """`value` (JSON) as a URL-safe signed text, valid for `purpose` only."""
    return str(URLSafeSerializer(_key(), salt=purpose).dumps(value))


def unsign(purpose: str, text: str) -> Any | None:
    """The signed value, or None when the signature does not fit."""
    try:
        return URLSafeSerializer(_key(), salt=purpose).loads(text)
    except BadData:
        return None


def sign_timed(purpose: str, value: Any) -> str:
    """Like `sign`, with the time of signing inside."""
    return str(URLSafeTimedSerializer(_key(), salt=purpose).dumps(value))


def unsign_timed(purpose: str, text: str, max_age_seconds: int) -> Any | None:
    """The signed value, or None when the signature does not fit or is too old."""
    try:
        return URLSafeTimedSerializer(_key(), salt=purpose).loads(text, max_age=max_age_seconds)
    except BadData:
        return None


def signature(purpose: str, value: str) -> str:
    """A short (128 bit) keyed signature of `value`, for addresses of images."""
    return pseudonym(purpose, value)[:32]


def signature_fits(purpose: str, value: str, given: str) -> bool:
    # Compared as bytes: compare_digest takes no text beyond ASCII. What came as halves of surrogate
    # pairs fits nothing.
    return hmac.compare_digest(
        signature(purpose, value).encode(), given.encode(errors="surrogatepass")
    )


def _fernet(purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(bytes.fromhex(pseudonym("seal", purpose))))


def seal(purpose: str, data: bytes) -> bytes:
    """Encrypted and authenticated, for what must be read again but not from the database alone."""
    return _fernet(purpose).encrypt(data)


def unseal(purpose: str, sealed: bytes) -> bytes | None:
    """What was sealed, or None when it was sealed with another key."""
    try:
        return _fernet(purpose).decrypt(sealed)
    except InvalidToken:
        return None
