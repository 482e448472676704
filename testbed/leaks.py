"""Secrets and ids of people in logs of processes: what a test's system must not have written."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import factors
from app.accounts.models import Account
from app.annotation.models import AnnotatorIdentity
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.core.security import decrypt
from app.core.settings import get_settings
from app.recruitment import accounts, calls
from app.recruitment.models import ChannelAccount, LinkParameters, Recruitment
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook

# Shorter ones would be found in words that mean something else.
SHORTEST = 6
# What processes make for themselves and keep hashes of alone, by how it looks. Nothing else here
# does: keys of rows and of files are in hex.
SHAPES = {
    "an API token": re.compile(r"\blw_[\w-]{20,}"),
    "a random token": re.compile(
        r"(?<![\w/.+=-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{43}(?![\w-])"
    ),
    "a signed token": re.compile(
        r"(?<![\w/-])[\w-]{16,}\.(?:[\w-]{6}\.)?(?:[\w-]{27}|[\w-]{43})(?![\w-])"
    ),
    "a sealed token": re.compile(r"\bgAAAA[\w-]{60,}={0,2}"),
    "a password in an address": re.compile(r"://[^\s:/@\[]*:(?!\[redacted\])[^\s/@]+@"),
    "a bearer token": re.compile(r"(?i)\bbearer\s+(?!\[redacted\])[\w.~+/=-]{16,}"),
    "a worker of MTurk": re.compile(r"\bA(?=[A-Z]*\d)[0-9A-Z]{11,20}\b"),
    "a participant of Prolific": re.compile(r"(?<![\w-])[0-9a-f]{24}(?![\w-])"),
}


def secrets_now() -> dict[str, str]:
    """What each secret is, by its text: of the settings in use, and of their database."""
    with transaction() as session:
        secrets = [*_of_settings(), *_of_database(session)]
    return {secret: what for what, secret in secrets if len(secret) >= SHORTEST}


def _of_settings() -> Iterator[tuple[str, str]]:
    settings = get_settings()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            yield f"setting {name}", value.get_secret_value()
    for address in (settings.database_url, settings.direct_database_url, settings.redis_url):
        yield "a server's password", urlsplit(address).password or ""


def _of_database(session: Session) -> Iterator[tuple[str, str]]:
    for table in (Campaign, Recruitment):
        for token in session.scalars(select(table.link_token)):
            yield "a link's token", token
    for person in session.scalars(select(AnnotatorIdentity.external_id)):
        yield "a worker's id", person or ""
    for values in session.scalars(select(LinkParameters.values)):
        for value in values.values():
            yield "a parameter of a link's address", value
    for seed in session.scalars(select(Account.totp_secret)):
        yield "a second factor", (decrypt(factors.PURPOSE, seed) or b"").decode() if seed else ""
    for encrypted in session.scalars(select(Webhook.secret)):
        yield "a webhook's secret", (decrypt(webhooks.PURPOSE, encrypted) or b"").decode()
    for account in session.scalars(select(ChannelAccount)):
        if account.hook_secret is not None:
            yield (
                "a platform's hook",
                (decrypt(calls.HOOK_PURPOSE, account.hook_secret) or b"").decode(),
            )
        kept = decrypt(accounts.PURPOSE, account.secret) if account.secret is not None else None
        for name, value in json.loads(kept or b"{}").items():
            yield f"a platform's {name}", value


def leaks_in(text: str, secrets: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each line that tells something."""
    for number, line in enumerate(text.splitlines(), 1):
        leaked = [what for secret, what in secrets.items() if secret in line]
        leaked += [what for what, shape in SHAPES.items() if shape.search(line)]
        if leaked:
            yield f"line {number} tells {', '.join(leaked)}: {line[:1000]}"


def leaks_in_logs(folder: Path, secrets: Mapping[str, str]) -> list[str]:
    """The same for every process's log in a folder, by its name."""
    return [
        f"{path.name}, {leak}"
        for path in sorted(folder.glob("*.log"))
        for leak in leaks_in(path.read_text(errors="replace"), secrets)
    ]
