"""Accounts: signing in by one-time link or password, and the session cookie that results."""

import logging
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts import factors
from app.accounts.models import Account, AuditEvent, SignInLink
from app.accounts.passwords import (
    count_attempt,
    count_proof,
    hash_again,
    hash_password,
    needs_new_hash,
    password_fits,
)
from app.accounts.sessions import (
    end_all,
    is_confirmed,
    renew,
    require_confirmed,
    session_of,
    start_session,
)
from app.core.database import transaction
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound, SignInRequired
from app.core.security import hash_token, new_token

LINK_LIFETIME = timedelta(hours=24)
FIRST_EMAIL = "admin@localhost"
ROLES = ("requester", "admin")
# Exactly one address: no line break that ends the header, no second recipient, no group.
ADDRESS = re.compile(r"""[^\s,;:<>()\[\]\\"@]+@[^\s,;:<>()\[\]\\"@]+""")

logger = logging.getLogger(__name__)


class BadCredentials(LikewiseError):
    """The e-mail address or the password is wrong."""

    code = "bad_credentials"
    status = 403


class BadSignInLink(LikewiseError):
    """The link is unknown, used or expired."""

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
    """Create an account; raises InvalidInput for an invalid address, an unknown role or a taken
    address."""
    email = email.strip().lower()
    if not ADDRESS.fullmatch(email) or not email.isprintable() or len(email) > 320:
        raise InvalidInput(f"{email!r} is not an e-mail address.", code="bad_email")
    if role not in ROLES:
        raise InvalidInput(
            f"The role must be one of {', '.join(ROLES)}, not {role!r}.", code="bad_role"
        )
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
        raise NotFound(f"There is no account for {email}. See `likewise user list`.")
    return account


def create_sign_in_link(session: Session, account: Account, base_url: str) -> str:
    """Create a one-time address that signs `account` in, valid for 24 hours."""
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


def use_sign_in_link(session: Session, token: str, browser: str = "") -> str:
    """Use up a one-time link, and return the new session's cookie value. Raises BadSignInLink."""
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
            "This sign-in link has already been used or has expired. Sign in with your password, "
            "ask an admin for a new link, or print one with `likewise user link EMAIL`."
        )
    _record_first_step(session, account, "link")
    return start_session(session, account, by_link=True, browser=browser)


def sign_in_by_password(
    session: Session, email: str, password: str, address: str, browser: str = ""
) -> str:
    """Return the new session's cookie value. `address` is where the attempt comes from, `browser`
    its User-Agent header.

    Raises BadCredentials (the same for a wrong address and a wrong password), TooManyAttempts.
    """
    email = email.strip().lower()
    count_attempt(email[:320], address)
    account = session.scalar(select(Account).where(Account.email == email))
    stored = account.password_hash if account else None
    if not password_fits(stored, password) or account is None or account.disabled_at is not None:
        logger.warning("sign-in refused: wrong password, unknown or disabled account")
        raise BadCredentials("The e-mail address or the password is wrong.")
    if stored is not None and needs_new_hash(stored):
        account.password_hash = hash_again(password)
    _record_first_step(session, account, "password")
    return start_session(session, account, browser=browser)


def _record_first_step(session: Session, account: Account, by: str) -> None:
    """Start the session, or with a second factor the step before it: a password alone does not sign
    in."""
    action = f"account.{by}_given" if account.totp_since is not None else "account.signed_in"
    record_audit(session, account.id, action, "account", account.id, by=by)


def give_code(session: Session, cookie: str | None, code: str) -> str:
    """Do the second step of signing in, and return the cookie of the session that begins now.

    Raises SignInRequired if there was no first step, BadCode, TooManyAttempts.
    """
    here = session_of(session, cookie)
    if here is None or not here.awaits_code:
        raise SignInRequired("Sign in first, with your password or a one-time link.")
    account = session.get_one(Account, here.account_id)
    if account.disabled_at is not None:
        raise SignInRequired("This account is disabled.")
    count_proof(account.id)
    factor = _spend_code(session, account, code, "sign_in")
    by = "link" if here.by_link else "password"
    record_audit(
        session, account.id, "account.signed_in", "account", account.id, by=by, factor=factor
    )
    return renew(session, here, account, proved=True)


def confirm(
    session: Session, account: Account, cookie: str | None, password: str, code: str
) -> str:
    """Confirm that the person is still the account's owner, by all factors that the account has.
    Returns the new cookie that replaces the old one.

    Raises BadCredentials, BadCode, TooManyAttempts.
    """
    here = session_of(session, cookie)
    if here is None:
        raise SignInRequired("Sign in first, with your password or a one-time link.")
    count_proof(account.id)
    if account.password_hash is None and account.totp_since is None:
        raise BadCredentials(
            "You have no password or second factor to confirm with. Sign in again with a new "
            "one-time link."
        )
    if account.password_hash:
        _require_password(account, password, "The password is wrong.")
    if account.totp_since is not None:
        _spend_code(session, account, code, "confirm")
    record_audit(session, account.id, "account.confirmed", "account", account.id)
    return renew(session, here, account, proved=True)


def set_password(
    session: Session, account: Account, cookie: str | None, old: str, new: str
) -> str | None:
    """Set a password, sign all other browsers out, and return this one's new cookie.

    The old password is required, unless there is none or this browser signed in by a one-time link.
    A first password needs no confirmation: there is nothing yet to confirm with, and without it
    nobody could sign in again.

    Raises BadCredentials, ConfirmationRequired, InvalidInput, TooManyAttempts.
    """
    here = session_of(session, cookie)
    by_link = here is not None and here.by_link and is_confirmed(here)
    if account.totp_since is not None:
        # Otherwise someone who finds the browser open could get past the second factor.
        require_confirmed(session, cookie)
    if account.password_hash and not by_link:
        count_proof(account.id)
        _require_password(account, old, "The old password is wrong.")
    account.password_hash = hash_password(new, account.email)
    end_all(session, account, but=here)
    record_audit(session, account.id, "account.password_set", "account", account.id)
    return renew(session, here, account, proved=False, by_link=False) if here else None


def _spend_code(session: Session, account: Account, code: str, step: str) -> str:
    """Check a code, and return which factor it was of. Raises BadCode for a wrong one, which is
    recorded in a separate transaction, because that of the request is rolled back."""
    try:
        return factors.spend_code(session, account, code)
    except factors.BadCode:
        logger.warning("code refused: wrong or already used, account %s", account.id)
        with transaction() as apart:
            event = "account.code_refused"
            record_audit(apart, account.id, event, "account", account.id, step=step)
        raise


def _require_password(account: Account, given: str, refusal: str) -> None:
    """Check the password; raises BadCredentials. The caller has counted the attempt."""
    if not password_fits(account.password_hash, given):
        logger.warning("proof refused: wrong password, account %s", account.id)
        raise BadCredentials(refusal)


def factor_changed(session: Session, account: Account, cookie: str | None, how: str) -> str | None:
    """Sign out all other browsers after the second factor was `set` or `removed`, and return this
    one's new cookie."""
    here = session_of(session, cookie)
    end_all(session, account, but=here)
    record_audit(session, account.id, f"account.second_factor_{how}", "account", account.id)
    return renew(session, here, account, proved=False) if here is not None else None


def renew_recovery_codes(session: Session, account: Account) -> list[str]:
    """Replace all recovery codes. Raises Conflict if there is no second factor."""
    codes = factors.renew_recovery_codes(session, account)
    record_audit(session, account.id, "account.recovery_codes_renewed", "account", account.id)
    return codes


def list_accounts(session: Session) -> list[Account]:
    return list(session.scalars(select(Account).order_by(Account.email)))


def require_admin(account: Account) -> None:
    """Raise NotFound for everyone but admins: for them the page does not exist."""
    if account.role != "admin":
        raise NotFound("This page does not exist.")


def get_account(session: Session, account_id: UUID) -> Account:
    account = session.get(Account, account_id)
    if account is None:
        raise NotFound("This account does not exist.")
    return account


def set_disabled(session: Session, admin: Account, account: Account, disabled: bool) -> None:
    """Disable an account and end its sessions, or enable it again. Raises Conflict for your own."""
    if account.id == admin.id:
        raise Conflict("You cannot disable your own account.")
    account.disabled_at = datetime.now(UTC) if disabled else None
    if disabled:
        end_all(session, account)
    event = "account.disabled" if disabled else "account.enabled"
    record_audit(session, admin.id, event, "account", account.id)


def set_role(session: Session, admin: Account, account: Account, role: str) -> None:
    """Change an account's role. Raises Conflict for your own account, InvalidInput for an unknown
    role."""
    if account.id == admin.id:
        raise Conflict("You cannot change your own role.")
    if role not in ROLES:
        raise InvalidInput(
            f"The role must be one of {', '.join(ROLES)}, not {role!r}.", code="bad_role"
        )
    account.role = role
    record_audit(session, admin.id, "account.role", "account", account.id, role=role)


def sign_out_everywhere(session: Session, admin: Account, account: Account) -> None:
    """End all sessions of an account, for an admin."""
    end_all(session, account)
    record_audit(session, admin.id, "account.signed_out", "account", account.id)


def remove_second_factor(session: Session, by: Account | None, account: Account) -> None:
    """Remove the second factor of someone who has lost it, by an admin or on the command line
    (None), and sign them out."""
    factors.remove(session, account)
    end_all(session, account)
    by_id = by.id if by is not None else None
    record_audit(session, by_id, "account.second_factor_removed", "account", account.id)
