"""Platform accounts. Their credentials are encrypted and sent only to the platform."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.core.database import transaction
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.core.row_security import bypass_row_security, scope_to_account
from app.core.security import decrypt, encrypt
from app.recruitment.channel import (
    Channel,
    ChannelError,
    ChannelUnavailable,
    Checked,
)
from app.recruitment.channels.registry import all_channels, get_channel, open_channel
from app.recruitment.channels.spec import ChannelSpec, Credentials
from app.recruitment.models import ChannelAccount, ChannelCall, Payment, Recruitment

PURPOSE = "channel-account"


class BadAccount(InvalidInput):
    """The account cannot be added with these values."""

    code = "bad_channel_account"


class EncryptedWithOtherKey(Conflict):
    """The credentials were encrypted with another LIKEWISE_SECRET_KEY."""

    code = "sealed_elsewhere"


def add_account(
    session: Session,
    account: Account,
    *,
    channel: str,
    name: str,
    environment: str,
    secret: dict[str, str] | None,
    profile: str = "",
) -> ChannelAccount:
    """Store credentials. If `secret` is None, the server's own credentials are used, which only
    admins can do.

    Raises BadAccount.
    """
    _require_sound(account, channel, environment, secret)
    added = ChannelAccount(
        account_id=account.id,
        channel=channel,
        name=name.strip() or channel,
        environment=environment,
        source="environment" if secret is None else "stored",
        profile=profile.strip() if secret is None else "",
        secret=None if secret is None else _encrypted(channel, secret),
    )
    session.add(added)
    session.flush()
    record_audit(session, account.id, "channel_account.added", "channel_account", added.id)
    return added


def _require_sound(
    account: Account, channel: str, environment: str, secret: dict[str, str] | None
) -> None:
    spec = _known(channel)
    known = spec.environments()
    if environment not in known:
        raise BadAccount(f"For {channel}, choose the environment {' or '.join(known)}.")
    if secret is None and not (spec.uses_server_credentials and account.role == "admin"):
        able = [each.title for each in all_channels() if each.uses_server_credentials]
        raise BadAccount(
            "Only admins can use the server's own credentials, and only for "
            f"{' and '.join(able)}. Enter your own."
        )
    missing = [field for field in spec.secrets if secret is not None and not secret.get(field, "")]
    if missing:
        raise BadAccount(f"Missing: {', '.join(missing).replace('_', ' ')}.")


def _known(channel: str) -> ChannelSpec:
    names = [each.name for each in all_channels()]
    if channel not in names:
        raise BadAccount(f"There is no platform {channel}. Choose {' or '.join(names)}.")
    return get_channel(channel)


def _encrypted(channel: str, secret: dict[str, str]) -> bytes:
    kept = {field: secret[field].strip() for field in get_channel(channel).secrets}
    return encrypt(PURPOSE, json.dumps(kept).encode())


def list_accounts(session: Session, account: Account) -> list[ChannelAccount]:
    query = select(ChannelAccount).where(ChannelAccount.account_id == account.id)
    return list(session.scalars(query.order_by(ChannelAccount.id)))


def get_account(session: Session, account: Account, channel_account_id: UUID) -> ChannelAccount:
    """Return the requester's own account. Raises NotFound for anyone else's."""
    channel_account = session.get(ChannelAccount, channel_account_id)
    if channel_account is None or channel_account.account_id != account.id:
        raise NotFound("You have no such platform account.")
    return channel_account


class NotYourMoney(LikewiseError):
    """Someone else's platform account would pay."""

    code = "not_your_money"
    status = 403


def require_payer(session: Session, account: Account, recruitment: Recruitment) -> None:
    """Raise NotYourMoney unless the recruitment is paid from this requester's platform account.
    Everyone who can edit a campaign can stop its recruiting, but only the owner of the paying
    account can spend money."""
    if recruitment.channel_account_id is None:
        return
    payer = session.get_one(ChannelAccount, recruitment.channel_account_id).account_id
    if payer != account.id:
        raise NotYourMoney(
            "Someone else's platform account pays for this. Ask its owner, or recruit with your "
            "own account."
        )


def remove_account(session: Session, account: Account, channel_account_id: UUID) -> None:
    """Delete credentials. Raises Conflict if a recruitment refers to the account."""
    channel_account = get_account(session, account, channel_account_id)
    query = (
        select(Recruitment.id).where(Recruitment.channel_account_id == channel_account.id).limit(1)
    )
    # This includes campaigns that are no longer shared with the account.
    with bypass_row_security(session):
        used = session.scalar(query)
    if used is not None:
        raise Conflict(
            "Campaigns have recruited with this account, and their ledgers refer to it. Enter new "
            "credentials for it instead.",
            code="channel_account_in_use",
        )
    record_audit(
        session, account.id, "channel_account.removed", "channel_account", channel_account.id
    )
    session.delete(channel_account)


def renew_secret(
    session: Session, account: Account, channel_account_id: UUID, secret: dict[str, str]
) -> ChannelAccount:
    """Replace the credentials of an account. Raises BadAccount."""
    channel_account = get_account(session, account, channel_account_id)
    _require_sound(account, channel_account.channel, channel_account.environment, secret)
    channel_account.source, channel_account.profile, channel_account.secret = (
        "stored",
        "",
        _encrypted(channel_account.channel, secret),
    )
    channel_account.checked = channel_account.checked_at = None
    # This includes campaigns that are no longer shared, because money may still be owed there.
    with bypass_row_security(session):
        _try_again(session, channel_account)
    record_audit(
        session, account.id, "channel_account.renewed", "channel_account", channel_account.id
    )
    return channel_account


def _try_again(session: Session, channel_account: ChannelAccount) -> None:
    """Make everything that was waiting for working credentials due now."""
    mine = select(Recruitment.id).where(Recruitment.channel_account_id == channel_account.id)
    now = datetime.now(UTC)
    for table in (ChannelCall, Payment):
        session.execute(
            update(table)
            .where(table.recruitment_id.in_(mine), table.state == "due")
            .values(due_at=now)
        )
    session.execute(
        update(Recruitment)
        .where(Recruitment.id.in_(mine), Recruitment.poll_at.is_not(None))
        .values(poll_at=now)
    )


def credentials_of(channel_account: ChannelAccount) -> Credentials:
    """Return the credentials that the channel needs. Raises EncryptedWithOtherKey."""
    if channel_account.secret is None:
        return Credentials(channel_account.environment, None, channel_account.profile)
    opened = decrypt(PURPOSE, channel_account.secret)
    if opened is None:
        raise EncryptedWithOtherKey(
            f"The credentials of “{channel_account.name}” were encrypted with another "
            "LIKEWISE_SECRET_KEY. Enter them again."
        )
    return Credentials(channel_account.environment, json.loads(opened))


def check_account(account_id: UUID, channel_account_id: UUID) -> dict[str, Any]:
    """Ask the platform whether the account works, between two transactions, and return the result.

    Raises NotFound, EncryptedWithOtherKey.
    """
    with transaction() as session:
        account = session.get_one(Account, account_id)
        scope_to_account(session, account_id)
        channel_account = get_account(session, account, channel_account_id)
        channel, credentials = channel_account.channel, credentials_of(channel_account)
    try:
        result = open_channel(channel, credentials).check()
    except ChannelError as error:
        result = Checked(None, "", "", problems=(str(error),))
    with transaction() as session:
        scope_to_account(session, account_id)
        channel_account = get_account(
            session, session.get_one(Account, account_id), channel_account_id
        )
        channel_account.checked, channel_account.checked_at = asdict(result), datetime.now(UTC)
        return channel_account.checked


@dataclass(frozen=True)
class ChannelClient:
    """Opens the channel of an account with its credentials."""

    account_id: UUID
    channel: str
    credentials: Credentials

    def open(self) -> Channel:
        return open_channel(self.channel, self.credentials)


def channel_client(session: Session, recruitment: Recruitment) -> ChannelClient:
    """Return what opens the recruitment's channel. Raises ChannelUnavailable while the credentials
    cannot be decrypted."""
    account = session.get_one(ChannelAccount, recruitment.channel_account_id)
    try:
        return ChannelClient(account.account_id, recruitment.channel, credentials_of(account))
    except EncryptedWithOtherKey as error:
        raise ChannelUnavailable(str(error)) from error
