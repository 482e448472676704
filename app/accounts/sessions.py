"""Browser sessions: they expire, are listed, ended, and confirmed.

The times are settings: LIKEWISE_SESSION_IDLE_HOURS, LIKEWISE_SESSION_HOURS,
LIKEWISE_CONFIRM_MINUTES.
"""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, delete, or_, select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account, BrowserSession
from app.core.clock import AHEAD
from app.core.errors import LikewiseError, NotFound, SignInRequired
from app.core.security import hash_token, new_token
from app.core.settings import get_settings

# Writing the time at every request would cost more than the precision is worth.
SEEN_NOTED_EVERY = timedelta(minutes=1)
CODE_WITHIN = timedelta(minutes=10)
BROWSERS = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Windows", "Windows"),
    ("Mac OS", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


class CodeRequired(SignInRequired):
    """The password was right, and the code of the second factor is still missing."""

    code = "code_required"


class ConfirmationRequired(LikewiseError):
    """The last confirmation of identity in this browser is too old for an important action."""

    code = "confirmation_required"
    status = 403


def lifetime() -> timedelta:
    return timedelta(hours=get_settings().session_hours)


def start_session(
    session: Session, account: Account, *, by_link: bool = False, browser: str = ""
) -> str:
    """Start a session and return its cookie. With a second factor, the cookie only allows entering
    the code.

    browser: the User-Agent header, of which only the kind is stored.
    """
    cookie, now = new_token(), datetime.now(UTC)
    awaits_code = account.totp_since is not None
    session.add(
        BrowserSession(
            account_id=account.id,
            token_hash=hash_token(cookie),
            expires_at=now + (CODE_WITHIN if awaits_code else lifetime()),
            seen_at=now,
            confirmed_at=now,
            by_link=by_link,
            awaits_code=awaits_code,
            browser=kind_of(browser),
        )
    )
    return cookie


def kind_of(user_agent: str) -> str:
    """Return e.g. `Firefox, Linux`, which is enough to distinguish sessions, and no more."""
    parts = [
        next((name for mark, name in names if re.search(mark, user_agent)), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(part for part in parts if part) or "another program"


def session_of(session: Session, cookie: str | None) -> BrowserSession | None:
    """Return the live session of a cookie, including one that still awaits its code."""
    if not cookie:
        return None
    query = select(BrowserSession).where(BrowserSession.token_hash == hash_token(cookie))
    return session.scalar(query.where(_is_live()))


def _is_live() -> ColumnElement[bool]:
    now = datetime.now(UTC)
    idle = timedelta(hours=get_settings().session_idle_hours)
    return (BrowserSession.expires_at > now) & (BrowserSession.seen_at > now - idle)


def account_of_session(session: Session, cookie: str | None) -> Account:
    """Return the account signed in with `cookie`; raises SignInRequired, or CodeRequired."""
    here = session_of(session, cookie)
    account = session.get(Account, here.account_id) if here is not None else None
    if here is None or account is None or account.disabled_at is not None:
        raise SignInRequired("Sign in first, with your password or a one-time link.")
    if here.awaits_code:
        raise CodeRequired("Enter your second-factor code first.")
    if datetime.now(UTC) - here.seen_at > SEEN_NOTED_EVERY:
        _note_seen(session, here)
    return account


def _note_seen(session: Session, here: BrowserSession) -> None:
    """Note the time of use, unless another request is doing so, because that would wait for it to
    end."""
    free = (
        select(BrowserSession.id)
        .where(BrowserSession.id == here.id)
        .with_for_update(skip_locked=True)
    )
    session.execute(
        update(BrowserSession)
        .where(BrowserSession.id.in_(free))
        .values(seen_at=datetime.now(UTC))
        .execution_options(synchronize_session=False)
    )


def is_confirmed(here: BrowserSession | None) -> bool:
    """Tell whether the person has recently confirmed their identity."""
    within = timedelta(minutes=get_settings().confirm_minutes)
    # A time in the future is from before the clock was set back, so its age is unknown.
    return here is not None and -AHEAD < datetime.now(UTC) - here.confirmed_at < within


def require_confirmed(session: Session, cookie: str | None) -> None:
    """Raise ConfirmationRequired if the last confirmation of identity is too old."""
    if not is_confirmed(session_of(session, cookie)):
        raise ConfirmationRequired("Confirm that it is you: open /account/confirm, then try again.")


def renew(
    session: Session, old: BrowserSession, account: Account, *, proved: bool, by_link: bool = True
) -> str:
    """Replace this browser's cookie by a new one, fully signed in.

    proved: all factors of the account were entered just now; otherwise the confirmation is as old
    as before
    by_link: whether it still counts as started by a one-time link
    Raises SignInRequired if the session was ended in the meantime.
    """
    _alone(session, account)
    # Another browser ended it while this request was in progress, so it must not be restored.
    query = select(BrowserSession.id).where(BrowserSession.id == old.id).with_for_update()
    if session.scalar(query) is None:
        raise SignInRequired("This session has ended. Sign in again.")
    cookie, now = new_token(), datetime.now(UTC)
    session.add(
        BrowserSession(
            account_id=account.id,
            token_hash=hash_token(cookie),
            # Confirming does not extend a session; entering the code starts it.
            expires_at=now + lifetime() if old.awaits_code else old.expires_at,
            seen_at=now,
            confirmed_at=now if proved else old.confirmed_at,
            by_link=old.by_link and by_link,
            browser=old.browser,
        )
    )
    session.delete(old)
    session.flush()
    return cookie


def _alone(session: Session, account: Account) -> None:
    """Lock the account's sessions, so that they are ended and replaced one after the other.
    Otherwise a deletion that waited for a session being replaced would not see the new one."""
    row = select(Account.id).where(Account.id == account.id)
    session.execute(row.with_for_update(key_share=True))


def list_sessions(session: Session, account: Account) -> list[BrowserSession]:
    """List the account's sessions, the most recently used first."""
    query = select(BrowserSession).where(
        BrowserSession.account_id == account.id, _is_live(), BrowserSession.awaits_code.is_(False)
    )
    return list(session.scalars(query.order_by(BrowserSession.seen_at.desc())))


def end_session(session: Session, cookie: str | None) -> None:
    if cookie:
        here = BrowserSession.token_hash == hash_token(cookie)
        session.execute(delete(BrowserSession).where(here))


def end_session_by_id(session: Session, account: Account, session_id: UUID) -> None:
    """Sign one of the account's browsers out; raises NotFound."""
    _alone(session, account)
    browser_session = session.get(BrowserSession, session_id)
    if browser_session is None or browser_session.account_id != account.id:
        raise NotFound("This session does not exist.")
    session.delete(browser_session)


def end_all(session: Session, account: Account, but: BrowserSession | None = None) -> None:
    """Sign all of the account's browsers out, or all but one."""
    _alone(session, account)
    own = delete(BrowserSession).where(BrowserSession.account_id == account.id)
    session.execute(own.where(BrowserSession.id != but.id) if but is not None else own)


def forget_old_sessions(session: Session) -> None:
    """Delete expired sessions."""
    idle = datetime.now(UTC) - timedelta(hours=get_settings().session_idle_hours)
    over = or_(BrowserSession.expires_at < datetime.now(UTC), BrowserSession.seen_at < idle)
    session.execute(delete(BrowserSession).where(over).execution_options(synchronize_session=False))
