"""A requester's own account, and for admins all accounts."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import service, tokens
from app.accounts.models import Account, AuditEvent
from app.accounts.routes import SignedIn, cookie_of
from app.core.errors import InvalidInput, LikewiseError
from app.core.mail import can_send, send_mail
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates

router = APIRouter(include_in_schema=False)
SHOWN_EVENTS = 100


@router.get("/account", response_class=HTMLResponse)
def account_page(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    return _account_page(request, session, account)


@router.post("/account/password", response_class=HTMLResponse)
def choose_password(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    new: Annotated[str, Form(max_length=1000)],
    old: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    try:
        service.set_password(session, account, cookie_of(request), old, new)
    except LikewiseError as error:
        return _account_page(request, session, account, error=error)
    return _account_page(request, session, account, said="Your password is set.")


@router.post("/account/tokens", response_class=HTMLResponse)
def make_token(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    name: Annotated[str, Form(max_length=200)],
    scope: Annotated[str, Form()],
    days: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    try:
        with session.begin_nested():
            lasting = _days(days)
            _, text = tokens.create_token(session, account, name, scope, lasting)
    except LikewiseError as error:
        return _account_page(request, session, account, error=error)
    return _account_page(request, session, account, token=text)


def _days(text: str) -> int | None:
    try:
        return int(text) if text.strip() else None
    except ValueError as error:
        raise InvalidInput(f"Days are a whole number, not {text!r}.", code="bad_days") from error


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(session: DatabaseSession, account: SignedIn, token_id: UUID) -> Response:
    tokens.revoke_token(session, account, token_id)
    return RedirectResponse("/account", status_code=303)


def _account_page(
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
        **shown,
    }
    status = error.status if error else 200
    page = "accounts/account.html"
    return templates.TemplateResponse(request, page, context, status_code=status)


@router.get("/accounts", response_class=HTMLResponse)
def accounts_page(request: Request, session: DatabaseSession, account: SignedIn) -> Response:
    service.require_admin(account)
    return _accounts_page(request, session, account)


@router.post("/accounts", response_class=HTMLResponse)
def invite(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    email: Annotated[str, Form(max_length=400)],
    role: Annotated[str, Form()] = "requester",
) -> Response:
    """A new account, with a link that signs its owner in once."""
    service.require_admin(account)
    try:
        with session.begin_nested():
            invited = service.create_account(session, email, role)
            return _with_link(request, session, account, invited, "You are invited to Likewise")
    except LikewiseError as error:
        return _accounts_page(request, session, account, error=error)


@router.post("/accounts/{account_id}/{deed}", response_class=HTMLResponse)
def change_account(
    request: Request, session: DatabaseSession, account: SignedIn, account_id: UUID, deed: str
) -> Response:
    """link, disable, enable, or a role."""
    service.require_admin(account)
    other = service.get_account(session, account_id)
    try:
        with session.begin_nested():
            if deed == "link":
                return _with_link(request, session, account, other, "Your link to Likewise")
            if deed in ("disable", "enable"):
                service.set_disabled(session, account, other, deed == "disable")
            else:
                service.set_role(session, account, other, deed)
    except LikewiseError as error:
        return _accounts_page(request, session, account, error=error)
    return RedirectResponse("/accounts", status_code=303)


def _with_link(
    request: Request, session: Session, admin: Account, account: Account, subject: str
) -> Response:
    """A one-time link by mail if mail is set up, else to be handed over by the admin."""
    link = service.create_sign_in_link(session, account, get_settings().base_url)
    service.record_audit(session, admin.id, "account.link", "account", account.id)
    if not can_send():
        return _accounts_page(request, session, admin, link=link, link_for=account.email)
    text = f"This link signs you in once, within a day:\n\n{link}\n\nThen choose a password.\n"
    send_mail(account.email, subject, text)
    said = f"A one-time link was sent to {account.email}."
    return _accounts_page(request, session, admin, said=said)


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
        **shown,
    }
    status = error.status if error else 200
    page = "accounts/accounts.html"
    return templates.TemplateResponse(request, page, context, status_code=status)
