"""Signed study addresses: `prolific_token` and the keys to verify it."""

import secrets
import time
from functools import cached_property
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from emulators.prolific.objects import Submission

ISSUER = "https://www.prolific.com"
LIFE_SECONDS = 120


class Signer:
    """One RSA key. It uses real time, because clients compare it with their own clock."""

    def __init__(self) -> None:
        self.kid = secrets.token_hex(8)

    @cached_property
    def _key(self) -> RSAKey:
        return _new_key(self.kid)

    @cached_property
    def _other(self) -> RSAKey:
        """Another key with the id of the real one, to forge tokens."""
        return _new_key(self.kid)

    def keys(self) -> dict[str, object]:
        public = self._key.as_dict(private=False)
        return {
            "keys": [
                {
                    "kty": "RSA",
                    "kid": self.kid,
                    "alg": "RS256",
                    "n": public["n"],
                    "e": public["e"],
                    "use": "sig",
                    "key_ops": ["verify"],
                }
            ]
        }

    def token(self, submission: Submission, url: str, wrong: str | None = None) -> str:
        """A token. wrong: None, `forged`, `expired` or `foreign` (another submission's)."""
        now = int(time.time()) - (3600 if wrong == "expired" else 0)
        query = dict(parse_qsl(urlsplit(url).query))
        claims = {
            "iss": ISSUER,
            "iat": now,
            "exp": now + LIFE_SECONDS,
            "aud": url,
            "sub": secrets.token_hex(12) if wrong == "foreign" else submission.id,
            "prolific": {**query, "workspace_id": submission.study.workspace.id},
        }
        header = {"alg": "RS256", "kid": self.kid, "typ": "JWT"}
        key = self._other if wrong == "forged" else self._key
        return jwt.encode(header, claims, key, algorithms=["RS256"])


def _new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid}, private=True)


def study_address(submission: Submission, signer: Signer, wrong: str | None = None) -> str:
    """The study's address for a participant, with its placeholders filled in."""
    values = {
        "PROLIFIC_PID": submission.participant.id,
        "STUDY_ID": submission.study.id,
        "SESSION_ID": submission.id,
    }
    url = submission.study.settings.external_study_url
    for name, value in values.items():
        for written in (f"{{{{%{name}%}}}}", quote(f"{{{{%{name}%}}}}")):
            url = url.replace(written, value)
    if not submission.study.settings.is_external_study_url_secure:
        return url
    parts = urlsplit(url)
    token = "prolific_token=" + signer.token(submission, url, wrong)
    query = f"{parts.query}&{token}" if parts.query else token
    return urlunsplit(parts._replace(query=query))
