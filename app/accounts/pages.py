"""Pages of a requester's own account, and for admins of all accounts."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import factors, hooks, service, sessions, tokens
from app.accounts.models import Account, AuditEvent
from app.accounts.routes import Confirmed, SignedIn, cookie_of, signed_out, with_cookie
from app.core.errors import InvalidInput, LikewiseError, SignInRequired
from app.core.mail import can_send, send_mail
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates

router = APIRouter(include_in_schema=False)
SHOWN_EVENTS = 100


# What was done, by its name in the address that a form leads to.
DONE = {
    "password": "Your password has been set.",
    "factor-removed": "Your second factor has been removed.",
}
Done = Annotated[str, Query(max_length=40)]


@router.get("/account", response_class=HTMLResponse)
def account_page(
    request: Request, session: DatabaseSession, account: SignedIn, done: Done = ""
) -> Response:
    return account_page_of(request, session, account, message=DONE.get(done, ""))


@router.post("/account/password", response_class=HTMLResponse)
def choose_password(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    new: Annotated[str, Form(max_length=1000)],
    old: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    try:
        with session.begin_nested():
            renewed = service.set_password(session, account, cookie_of(request), old, new)
    except (sessions.ConfirmationRequired, SignInRequired):
        # Browsers are redirected to the page where they can do so.
        raise
    except LikewiseError as error:
        return account_page_of(request, session, account, error=error)
    return keeping(RedirectResponse("/account?done=password", status_code=303), renewed)


@router.post("/account/sessions/{session_id}/end")
def end_session(
    request: Request, session: DatabaseSession, account: SignedIn, session_id: UUID
) -> Response:
    sessions.end_session_by_id(session, account, session_id)
    service.record_audit(session, account.id, "account.session_ended", "account", account.id)
    return RedirectResponse("/account", status_code=303)


@router.post("/account/sessions/end")
def end_all_sessions(session: DatabaseSession, account: SignedIn) -> Response:
    """Sign out here and everywhere else."""
    service.sign_out_everywhere(session, account, account)
    return signed_out()


@router.post("/account/factor/{action}", response_class=HTMLResponse)
def change_factor(
    request: Request,
    session: DatabaseSession,
    account: Confirmed,
    action: Literal["begin", "finish", "remove", "codes"],
    code: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Set up a second factor in two steps, remove it, or create new recovery codes."""
    try:
        with session.begin_nested():
            shown, keep = _change_factor(request, session, account, action, code)
    except SignInRequired:
        raise
    except LikewiseError as error:
        return account_page_of(request, session, account, error=error)
    if action == "remove":
        return keeping(RedirectResponse("/account?done=factor-removed", status_code=303), keep)
    return keeping(account_page_of(request, session, account, **shown), keep)


def _change_factor(
    request: Request, session: Session, account: Account, action: str, code: str
) -> tuple[dict[str, Any], str | None]:
    """Return what the page shows next, and a new cookie if the old session ended."""
    if action == "begin":
        return {"seed": factors.begin(session, account)}, None
    cookie = cookie_of(request)
    if action == "finish":
        codes = factors.finish(session, account, code)
        return {"codes": codes}, service.factor_changed(session, account, cookie, "set")
    if action == "remove":
        factors.remove(session, account)
        kept = service.factor_changed(session, account, cookie, "removed")
        return {}, kept
    return {"codes": service.renew_recovery_codes(session, account)}, None


def keeping(response: Response, cookie: str | None) -> Response:
    """Return the response with the cookie of the session that replaced the old one."""
    if cookie is not None:
        response.headers["Set-Cookie"] = with_cookie(cookie, "/").headers["Set-Cookie"]
    return response


@router.post("/account/tokens", response_class=HTMLResponse)
def make_token(
    request: Request,
    session: DatabaseSession,
    account: Confirmed,
    name: Annotated[str, Form(max_length=200)],
    scope: Annotated[str, Form()],
    days: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    try:
        with session.begin_nested():
            lasting = _days(days)
            _, text = tokens.create_token(session, account, name, scope, lasting)
    except LikewiseError as error:
        return account_page_of(request, session, account, error=error)
    return account_page_of(request, session, account, token=text)


def _days(text: str) -> int | None:
    try:
        return int(text) if text.strip() else None
    except ValueError as error:
        raise InvalidInput(
            f"The number of days must be a whole number, not {text!r}.", code="bad_days"
        ) from error


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(session: DatabaseSession, account: SignedIn, token_id: UUID) -> Response:
    tokens.revoke_token(session, account, token_id)
    return RedirectResponse("/account", status_code=303)


def account_page_of(
    request: Request,
    session: Session,
    account: Account,
    *,
    error: LikewiseError | None = None,
    **shown: Any,
) -> Response:
    context = {
        "account": account,
        "error": error,
        "tokens": tokens.list_tokens(session, account),
        "sessions": sessions.list_sessions(session, account),
        "here": sessions.session_of(session, cookie_of(request)),
        "begun": factors.pending_seed(account) is not None,
        "address_of": factors.address_of,
        "n_codes": factors.n_recovery_codes(session, account),
        **shown,
    }
    status = error.status if error else 200
    page = "accounts/account.html"
    return templates.TemplateResponse(request, page, context, status_code=status)


@router.get("/accounts", response_class=HTMLResponse)
def accounts_page(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    link_sent: UUID | None = None,
) -> Response:
    """`link_sent` is the account to which a one-time link was just sent."""
    service.require_admin(account)
    message = ""
    if link_sent is not None:
        other = service.get_account(session, link_sent)
        message = f"A one-time link was sent to {other.email}."
    return _accounts_page(request, session, account, message=message)


@router.post("/accounts", response_class=HTMLResponse)
def invite(
    request: Request,
    session: DatabaseSession,
    account: Confirmed,
    email: Annotated[str, Form(max_length=400)],
    role: Annotated[str, Form()] = "requester",
) -> Response:
    """Create an account and a link that signs its owner in once."""
    service.require_admin(account)
    try:
        with session.begin_nested():
            invited = service.create_account(session, email, role)
            return _with_link(request, session, account, invited, "You are invited to Likewise")
    except LikewiseError as error:
        return _accounts_page(request, session, account, error=error)


@router.post("/accounts/{account_id}/{action}", response_class=HTMLResponse)
def change_account(
    request: Request, session: DatabaseSession, account: Confirmed, account_id: UUID, action: str
) -> Response:
    """Run one action on an account: link, disable, enable, sign-out, factor, or a role."""
    service.require_admin(account)
    other = service.get_account(session, account_id)
    try:
        with session.begin_nested():
            if action == "link":
                return _with_link(request, session, account, other, "Your link to Likewise")
            if action in ("disable", "enable"):
                service.set_disabled(session, account, other, action == "disable")
            elif action == "sign-out":
                service.sign_out_everywhere(session, account, other)
            elif action == "factor":
                service.remove_second_factor(session, account, other)
            else:
                service.set_role(session, account, other, action)
    except LikewiseError as error:
        return _accounts_page(request, session, account, error=error)
    return RedirectResponse("/accounts", status_code=303)


def _with_link(
    request: Request, session: Session, admin: Account, account: Account, subject: str
) -> Response:
    """Send a one-time link by e-mail, or show it to the admin if e-mail is not configured."""
    link = service.create_sign_in_link(session, account, get_settings().base_url)
    service.record_audit(session, admin.id, "account.link", "account", account.id)
    if not can_send():
        return _accounts_page(request, session, admin, link=link, link_for=account.email)
    text = f"This link signs you in once, within one day:\n\n{link}\n\nThen choose a password.\n"
    send_mail(account.email, subject, text)
    return RedirectResponse(f"/accounts?link_sent={account.id}", status_code=303)


def _accounts_page(
    request: Request,
    session: Session,
    account: Account,
    *,
    error: LikewiseError | None = None,
    **shown: Any,
) -> Response:
    query = select(AuditEvent, Account.email).outerjoin(
        Account, AuditEvent.account_id == Account.id
    )
    events = session.execute(query.order_by(AuditEvent.id.desc()).limit(SHOWN_EVENTS)).all()
    context = {
        "account": account,
        "error": error,
        "accounts": service.list_accounts(session),
        "events": events,
        "violations": hooks.violations(session),
        **shown,
    }
    status = error.status if error else 200
    page = "accounts/accounts.html"
    return templates.TemplateResponse(request, page, context, status_code=status)
