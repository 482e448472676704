"""`prolific_token`: a signed token that tells who arrives, in workspaces that have it switched on.

It is an RS256 JWT signed with Prolific's published keys and valid for two minutes
(docs.prolific.com, Create a draft study, `is_external_study_url_secure`).
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet, KeySetSerialization

from app.core.errors import LikewiseError
from app.recruitment.channel import ChannelUnavailable

ISSUER = "https://www.prolific.com"
LEEWAY_SECONDS = 10
REOPEN = "Open the study on Prolific again."
# "Clients should cache these keys and update them at least daily."
KEYS_SECONDS = 12 * 3600
# A token may name a key that was added since. This limits how often someone can make us fetch keys.
KEYS_AGAIN_SECONDS = 60


class BadToken(LikewiseError):
    """The signed token is forged, expired, or meant for someone else."""

    code = "bad_prolific_token"
    status = 403


@dataclass(frozen=True)
class TokenClaims:
    """The identity of the person, signed by Prolific."""

    session_id: str
    participant: str
    study: str
    workspace: str


class TokenKeys:
    """Prolific's public keys, fetched when needed. Threads can share them."""

    def __init__(self, fetch: Callable[[], object]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._fetched_at = 0.0

    def newer_than(self, seconds: float) -> KeySet:
        """Return keys that were fetched within so many seconds. Raises ChannelUnavailable if that
        is impossible."""
        with self._lock:
            if self._keys is None or time.monotonic() - self._fetched_at > seconds:
                try:
                    key_set = cast(KeySetSerialization, self._fetch())
                    self._keys = KeySet.import_key_set(key_set)
                except (JoseError, KeyError, TypeError, ValueError) as error:
                    raise ChannelUnavailable("Prolific's keys can't be read.") from error
                self._fetched_at = time.monotonic()
            return self._keys


def token_claims(
    token: str, audience: str, keys: TokenKeys, now: float | None = None
) -> TokenClaims:
    """Return the claims of a `prolific_token` after checking its signature and time.

    audience: the address of our page; Prolific adds the parameters that it filled in.
    now: seconds since 1970.

    Raises BadToken, and ChannelUnavailable if Prolific's keys cannot be fetched.
    """
    try:
        claims = _decoded(token, keys)
        jwt.JWTClaimsRegistry(
            now=int(time.time() if now is None else now),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": ISSUER},
            aud={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
        ).validate(claims)
    except (JoseError, ValueError) as error:
        raise BadToken(f"Prolific's signed token is not valid or has expired. {REOPEN}") from error
    return _checked_claims(claims, audience)


def _decoded(token: str, keys: TokenKeys) -> dict[str, object]:
    try:
        return jwt.decode(token, keys.newer_than(KEYS_SECONDS), algorithms=["RS256"]).claims
    except InvalidKeyIdError:
        return jwt.decode(token, keys.newer_than(KEYS_AGAIN_SECONDS), algorithms=["RS256"]).claims


def _checked_claims(claims: dict[str, object], audience: str) -> TokenClaims:
    named = claims.get("prolific")
    values = named if isinstance(named, dict) else {}
    prolific_claims = TokenClaims(
        session_id=str(values.get("SESSION_ID", "")),
        participant=str(values.get("PROLIFIC_PID", "")),
        study=str(values.get("STUDY_ID", "")),
        workspace=str(values.get("workspace_id", "")),
    )
    if _page(str(claims.get("aud", ""))) != _page(audience):
        raise BadToken(f"Prolific's signed token is for another page. {REOPEN}")
    if not (prolific_claims.session_id and prolific_claims.participant and prolific_claims.study):
        raise BadToken(f"Prolific's signed token does not say who you are. {REOPEN}")
    if claims.get("sub") != prolific_claims.session_id:
        raise BadToken(f"Prolific's signed token contradicts itself. {REOPEN}")
    return prolific_claims


def _page(address: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", "", ""
    return parts.scheme, parts.netloc.lower(), parts.path
