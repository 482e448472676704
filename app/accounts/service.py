"""Accounts: signing in by one-time link or password, and the session cookie that follows."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account, AuditEvent, BrowserSession, SignInLink
from app.accounts.passwords import count_attempt, hash_password, needs_new_hash, password_fits
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound, SignInRequired
from app.core.security import hash_token, new_token

LINK_LIFETIME = timedelta(hours=24)
SESSION_LIFETIME = timedelta(days=14)
FIRST_EMAIL = "admin@localhost"
ROLES = ("requester", "admin")


class BadCredentials(LikewiseError):
    """Address or password is wrong."""

    code = "bad_credentials"
    status = 403


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
    if role not in ROLES:
        raise InvalidInput(f"The role is one of {', '.join(ROLES)}, not {role!r}.", code="bad_role")
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
            "This sign-in link was used already or has run out. Sign in with your password, ask "
            "an admin for a new link, or print one with `likewise user link EMAIL`."
        )
    record_audit(session, account.id, "account.signed_in", "account", account.id)
    return start_session(session, account, by_link=True)


def sign_in_by_password(session: Session, email: str, password: str, address: str) -> str:
    """The new session's cookie value; `address` is where the attempt comes from.

    Raises BadCredentials (the same for a wrong address and a wrong password), TooManyAttempts.
    """
    email = email.strip().lower()
    count_attempt(email[:320], address)
    account = session.scalar(select(Account).where(Account.email == email))
    stored = account.password_hash if account else None
    if not password_fits(stored, password) or account is None or account.disabled_at is not None:
        raise BadCredentials("E-mail address and password do not fit together.")
    if stored is not None and needs_new_hash(stored):
        account.password_hash = hash_password(password, email)
    record_audit(session, account.id, "account.signed_in", "account", account.id)
    return start_session(session, account)


def set_password(
    session: Session, account: Account, cookie: str | None, old: str, new: str
) -> None:
    """Choose a password and sign every other browser out.

    The old one is asked for unless there is none, or this browser signed in by a one-time link.
    Raises BadCredentials, InvalidInput.
    """
    here = _session_of(session, cookie)
    by_link = here is not None and here.by_link
    if account.password_hash and not by_link and not password_fits(account.password_hash, old):
        raise BadCredentials("The old password is not right.")
    account.password_hash = hash_password(new, account.email)
    others = delete(BrowserSession).where(BrowserSession.account_id == account.id)
    session.execute(others.where(BrowserSession.id != here.id) if here else others)
    if here is not None:
        here.by_link = False
    record_audit(session, account.id, "account.password_set", "account", account.id)


def _session_of(session: Session, cookie: str | None) -> BrowserSession | None:
    if not cookie:
        return None
    query = select(BrowserSession).where(BrowserSession.token_hash == hash_token(cookie))
    return session.scalar(query)


def start_session(session: Session, account: Account, *, by_link: bool = False) -> str:
    cookie = new_token()
    session.add(
        BrowserSession(
            account_id=account.id,
            token_hash=hash_token(cookie),
            expires_at=datetime.now(UTC) + SESSION_LIFETIME,
            by_link=by_link,
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
        raise SignInRequired("Sign in first, with your password or a one-time link.")
    return account


def end_session(session: Session, cookie: str | None) -> None:
    if cookie:
        session.execute(
            delete(BrowserSession).where(BrowserSession.token_hash == hash_token(cookie))
        )


def list_accounts(session: Session) -> list[Account]:
    return list(session.scalars(select(Account).order_by(Account.email)))


def require_admin(account: Account) -> None:
    """Raises NotFound for everybody else: the page does not exist for them."""
    if account.role != "admin":
        raise NotFound("There is no such page.")


def get_account(session: Session, account_id: UUID) -> Account:
    found = session.get(Account, account_id)
    if found is None:
        raise NotFound("There is no such account.")
    return found


def set_disabled(session: Session, admin: Account, account: Account, disabled: bool) -> None:
    """Lock an account and end its sessions, or open it again. Raises Conflict for one's own."""
    if account.id == admin.id:
        raise Conflict("You cannot disable your own account.")
    account.disabled_at = datetime.now(UTC) if disabled else None
    if disabled:
        session.execute(delete(BrowserSession).where(BrowserSession.account_id == account.id))
    event = "account.disabled" if disabled else "account.enabled"
    record_audit(session, admin.id, event, "account", account.id)


def set_role(session: Session, admin: Account, account: Account, role: str) -> None:
    """Raises Conflict for one's own account, InvalidInput for a role that is none."""
    if account.id == admin.id:
        raise Conflict("You cannot change your own role.")
    if role not in ROLES:
        raise InvalidInput(f"The role is one of {', '.join(ROLES)}, not {role!r}.", code="bad_role")
    account.role = role
    record_audit(session, admin.id, "account.role", "account", account.id, role=role)
