"""Signing in without passwords: one-time links, then a session cookie."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account, AuditEvent, BrowserSession, SignInLink
from app.core.errors import InvalidInput, LikewiseError, NotFound, SignInRequired
from app.core.security import hash_token, new_token

LINK_LIFETIME = timedelta(hours=24)
SESSION_LIFETIME = timedelta(days=14)
FIRST_EMAIL = "admin@localhost"


class BadSignInLink(LikewiseError):
    """The link is unknown, used or too old."""

    code = "bad_sign_in_link"
    status = 403


def record_audit(
    session: Session,
    account_id: UUID | None,
    action: str,
    subject_type: str,
    subject_id: UUID | None = None,
    **details: Any,
) -> None:
    """Append one audit event; `details` must be JSON and free of secrets."""
    session.add(
        AuditEvent(
            account_id=account_id,
            action=action,
            subject_type=subject_type,
            subject_id=subject_id,
            details=details,
        )
    )


def create_account(session: Session, email: str, role: str = "requester") -> Account:
    """A new account; raises InvalidInput for a bad address, a bad role or a taken address."""
    email = email.strip().lower()
    if "@" not in email or len(email) > 320:
        raise InvalidInput(f"{email!r} is not an e-mail address.", code="bad_email")
    if role not in ("requester", "admin"):
        raise InvalidInput(f"The role is 'requester' or 'admin', not {role!r}.", code="bad_role")
    if session.scalar(select(Account.id).where(Account.email == email)):
        raise InvalidInput(f"There is already an account for {email}.", code="email_taken")
    account = Account(email=email, role=role)
    session.add(account)
    session.flush()
    record_audit(session, None, "account.created", "account", account.id, role=role)
    return account


def account_by_email(session: Session, email: str) -> Account:
    account = session.scalar(select(Account).where(Account.email == email.strip().lower()))
    if account is None:
        raise NotFound(f"There is no account for {email}; see `likewise user list`.")
    return account


def create_sign_in_link(session: Session, account: Account, base_url: str) -> str:
    """A one-time address that signs `account` in, valid for 24 hours."""
    token = new_token()
    session.add(
        SignInLink(
            account_id=account.id,
            token_hash=hash_token(token),
            expires_at=datetime.now(UTC) + LINK_LIFETIME,
        )
    )
    return f"{base_url.rstrip('/')}/sign-in/{token}"


def ensure_first_account(session: Session, base_url: str) -> str | None:
    """Create the first (admin) account and return its sign-in link; None if one exists."""
    if session.scalar(select(Account.id).limit(1)):
        return None
    account = create_account(session, FIRST_EMAIL, role="admin")
    return create_sign_in_link(session, account, base_url)


def use_sign_in_link(session: Session, token: str) -> str:
    """Spend a one-time link; returns the new session's cookie value. Raises BadSignInLink."""
    spent = session.execute(
        update(SignInLink)
        .where(
            SignInLink.token_hash == hash_token(token),
            SignInLink.used_at.is_(None),
            SignInLink.expires_at > datetime.now(UTC),
        )
        .values(used_at=datetime.now(UTC))
        .returning(SignInLink.account_id)
    ).scalar()
    account = session.get(Account, spent) if spent else None
    if account is None or account.disabled_at is not None:
        raise BadSignInLink(
            "This sign-in link was used already or has run out. "
            "Print a new one with `likewise user link EMAIL`."
        )
    record_audit(session, account.id, "account.signed_in", "account", account.id)
    return start_session(session, account)


def start_session(session: Session, account: Account) -> str:
    cookie = new_token()
    session.add(
        BrowserSession(
            account_id=account.id,
            token_hash=hash_token(cookie),
            expires_at=datetime.now(UTC) + SESSION_LIFETIME,
        )
    )
    return cookie


def account_of_session(session: Session, cookie: str | None) -> Account:
    """The account signed in with `cookie`; raises SignInRequired."""
    account = None
    if cookie:
        account = session.scalar(
            select(Account)
            .join(BrowserSession, BrowserSession.account_id == Account.id)
            .where(
                BrowserSession.token_hash == hash_token(cookie),
                BrowserSession.expires_at > datetime.now(UTC),
                Account.disabled_at.is_(None),
            )
        )
    if account is None:
        raise SignInRequired("Sign in first: open the link that `likewise user link` prints.")
    return account


def end_session(session: Session, cookie: str | None) -> None:
    if cookie:
        session.execute(
            delete(BrowserSession).where(BrowserSession.token_hash == hash_token(cookie))
        )
