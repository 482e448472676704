"""Verification that a webhook's message comes from Likewise (Standard Webhooks 1.0)."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from likewise.client.errors import BadSignature

START = "whsec_"
TOLERANCE_SECONDS = 300


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: str,
    tolerance: float = TOLERANCE_SECONDS,
) -> dict[str, Any]:
    """Return the message's JSON if it was signed with `secret` at most `tolerance` seconds ago.

    body: the request's body, unchanged. A message that is sent again has the same `webhook-id`
    header: store it to handle each message once. Raises BadSignature.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = given["webhook-id"], int(given["webhook-timestamp"])
        signatures = given["webhook-signature"].split()
    except (KeyError, ValueError) as error:
        raise BadSignature("The signature headers are missing or malformed.") from error
    if abs(time.time() - timestamp) > tolerance:
        raise BadSignature("The signature is too old, or the clocks differ.")
    data = body.encode() if isinstance(body, str) else body
    key = base64.b64decode(secret.removeprefix(START))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + data, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    if not any(
        hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures
    ):
        raise BadSignature("The signature does not match: the secret or the body differs.")
    payload: dict[str, Any] = json.loads(data)
    return payload
