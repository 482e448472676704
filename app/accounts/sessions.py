"""Sessions of browsers: they end of themselves, are listed, ended, and confirmed.

Times are settings: LIKEWISE_SESSION_IDLE_HOURS, LIKEWISE_SESSION_HOURS, LIKEWISE_CONFIRM_MINUTES.
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

# Writing the time at every request would cost more than it says.
SEEN_NOTED_EVERY = timedelta(minutes=1)
CODE_WITHIN = timedelta(minutes=10)
BROWSERS = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Windows", "Windows"),
    ("Mac OS", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


class CodeRequired(SignInRequired):
    """The password was right; the code of the second factor is still to come."""

    code = "code_required"


class ConfirmationRequired(LikewiseError):
    """Too long ago that this browser proved who sits there, for something that matters."""

    code = "confirmation_required"
    status = 403


def lifetime() -> timedelta:
    return timedelta(hours=get_settings().session_hours)


def start_session(
    session: Session, account: Account, *, by_link: bool = False, browser: str = ""
) -> str:
    """The new session's cookie; with a second factor it is good for its code alone.

    browser: the header User-Agent, of which the kind is kept.
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
    """`Firefox, Linux`: what a person tells sessions by, and no more."""
    found = [
        next((name for mark, name in names if re.search(mark, user_agent)), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(part for part in found if part) or "another program"


def session_of(session: Session, cookie: str | None) -> BrowserSession | None:
    """The live session behind a cookie, also one that awaits its code."""
    if not cookie:
        return None
    query = select(BrowserSession).where(BrowserSession.token_hash == hash_token(cookie))
    return session.scalar(query.where(_is_live()))


def _is_live() -> ColumnElement[bool]:
    now = datetime.now(UTC)
    idle = timedelta(hours=get_settings().session_idle_hours)
    return (BrowserSession.expires_at > now) & (BrowserSession.seen_at > now - idle)


def account_of_session(session: Session, cookie: str | None) -> Account:
    """The account signed in with `cookie`; raises SignInRequired, or CodeRequired."""
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
    """Not where another request is noting it: that would wait for the other's end."""
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
    """Whether whoever sits there proved lately who they are."""
    within = timedelta(minutes=get_settings().confirm_minutes)
    # A proof of the future is of before the clock was set back: nobody knows how old it is.
    return here is not None and -AHEAD < datetime.now(UTC) - here.confirmed_at < within


def require_confirmed(session: Session, cookie: str | None) -> None:
    """Raises ConfirmationRequired when it is too long ago that they proved who they are."""
    if not is_confirmed(session_of(session, cookie)):
        raise ConfirmationRequired("Confirm that it is you: open /account/confirm, then try again.")


def renew(
    session: Session, old: BrowserSession, account: Account, *, proved: bool, by_link: bool = True
) -> str:
    """A new cookie for this browser in the place of the old one, fully signed in.

    proved: all factors that the account has were given just now; else the proof is as old as it was
    by_link: that it was begun by a one-time link goes on to count
    Raises SignInRequired where the session was ended meanwhile.
    """
    _alone(session, account)
    # Ended by another browser while this request went on: it must not rise from the dead.
    found = select(BrowserSession.id).where(BrowserSession.id == old.id).with_for_update()
    if session.scalar(found) is None:
        raise SignInRequired("This session has ended. Sign in again.")
    cookie, now = new_token(), datetime.now(UTC)
    session.add(
        BrowserSession(
            account_id=account.id,
            token_hash=hash_token(cookie),
            # Confirming does not make a session longer; giving the code begins it.
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
    """Sessions are ended and replaced one after the other: a deletion that waited for a session to
    be replaced would not see the one in its place."""
    row = select(Account.id).where(Account.id == account.id)
    session.execute(row.with_for_update(key_share=True))


def list_sessions(session: Session, account: Account) -> list[BrowserSession]:
    """Where the account is signed in, the last seen first."""
    query = select(BrowserSession).where(
        BrowserSession.account_id == account.id, _is_live(), BrowserSession.awaits_code.is_(False)
    )
    return list(session.scalars(query.order_by(BrowserSession.seen_at.desc())))


def end_session(session: Session, cookie: str | None) -> None:
    if cookie:
        here = BrowserSession.token_hash == hash_token(cookie)
        session.execute(delete(BrowserSession).where(here))


def end_one(session: Session, account: Account, session_id: UUID) -> None:
    """Sign one of the account's browsers out; raises NotFound."""
    _alone(session, account)
    found = session.get(BrowserSession, session_id)
    if found is None or found.account_id != account.id:
        raise NotFound("This session does not exist.")
    session.delete(found)


def end_all(session: Session, account: Account, but: BrowserSession | None = None) -> None:
    """Sign all of the account's browsers out, or all but one."""
    _alone(session, account)
    own = delete(BrowserSession).where(BrowserSession.account_id == account.id)
    session.execute(own.where(BrowserSession.id != but.id) if but is not None else own)


def forget_old_sessions(session: Session) -> None:
    """Delete sessions that are over."""
    idle = datetime.now(UTC) - timedelta(hours=get_settings().session_idle_hours)
    over = or_(BrowserSession.expires_at < datetime.now(UTC), BrowserSession.seen_at < idle)
    session.execute(delete(BrowserSession).where(over).execution_options(synchronize_session=False))
