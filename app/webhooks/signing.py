"""Symmetric signatures as defined by the Standard Webhooks specification 1.0:
`v1,<HMAC-SHA256>`."""

import base64
import hashlib
import hmac
import secrets

START = "whsec_"
KEY_BYTES = 32


def new_secret() -> str:
    return START + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`."""
    key = base64.b64decode(secret.removeprefix(START))
    content = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
