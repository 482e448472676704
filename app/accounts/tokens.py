"""Personal API tokens: for programs, hashed, scoped, revocable."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account, ApiToken
from app.accounts.service import record_audit
from app.core.errors import InvalidInput, LikewiseError, NotFound
from app.core.security import hash_token, new_token

START = "lw_"
SHOWN = len(START) + 6
SCOPES = ("read", "write")
# The time of last use is for people; writing it at every call would cost more than it is worth.
USE_NOTED_EVERY = timedelta(minutes=1)


class BadToken(LikewiseError):
    """The token is unknown, revoked or expired."""

    code = "bad_token"
    status = 401


class ScopeTooSmall(LikewiseError):
    """A read-only token was used to change something."""

    code = "scope_too_small"
    status = 403


def create_token(
    session: Session, account: Account, name: str, scope: str, days: int | None
) -> tuple[ApiToken, str]:
    """Create a token, and return it with its text, which is shown only once. Raises
    InvalidInput."""
    name = name.strip()
    if not 1 <= len(name) <= 100:
        raise InvalidInput("Give the token a name of 1 to 100 characters.", code="bad_name")
    if scope not in SCOPES:
        raise InvalidInput(f"The scope must be one of {', '.join(SCOPES)}, not {scope!r}.")
    if days is not None and not 1 <= days <= 3650:
        raise InvalidInput(f"A token can be valid for 1 to 3650 days, not {days}.", code="bad_days")
    text = START + new_token()
    token = ApiToken(
        account_id=account.id,
        name=name,
        scope=scope,
        prefix=text[:SHOWN],
        token_hash=hash_token(text),
        expires_at=datetime.now(UTC) + timedelta(days=days) if days else None,
    )
    session.add(token)
    session.flush()
    record_audit(session, account.id, "token.created", "api_token", token.id, scope=scope)
    return token, text


def list_tokens(session: Session, account: Account) -> list[ApiToken]:
    query = select(ApiToken).where(ApiToken.account_id == account.id)
    return list(session.scalars(query.order_by(ApiToken.created_at)))


def revoke_token(session: Session, account: Account, token_id: UUID) -> None:
    token = session.get(ApiToken, token_id)
    if token is None or token.account_id != account.id:
        raise NotFound("This token does not exist.")
    if token.revoked_at is None:
        token.revoked_at = datetime.now(UTC)
        record_audit(session, account.id, "token.revoked", "api_token", token.id)


def account_of_token(session: Session, text: str, *, writes: bool) -> Account:
    """Return the account of a token; raises BadToken, or ScopeTooSmall if it `writes` with a
    read-only one."""
    query = (
        select(ApiToken, Account)
        .join(Account, ApiToken.account_id == Account.id)
        .where(
            ApiToken.token_hash == hash_token(text),
            ApiToken.revoked_at.is_(None),
            Account.disabled_at.is_(None),
        )
    )
    row = session.execute(query).one_or_none()
    now = datetime.now(UTC)
    if row is None or (row[0].expires_at is not None and row[0].expires_at < now):
        raise BadToken(
            "This API token is unknown, revoked or expired. Create a new one under Account."
        )
    token, account = row
    if writes and token.scope != "write":
        raise ScopeTooSmall("This API token is read-only. Create one with the scope write.")
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY:
        _note_use(session, token, now)
    return account


def _note_use(session: Session, token: ApiToken, now: datetime) -> None:
    """Note the time of use, unless another request is doing so, because that would wait for it to
    end."""
    free = select(ApiToken.id).where(ApiToken.id == token.id).with_for_update(skip_locked=True)
    session.execute(
        update(ApiToken)
        .where(ApiToken.id.in_(free))
        .values(last_used_at=now)
        .execution_options(synchronize_session=False)
    )
