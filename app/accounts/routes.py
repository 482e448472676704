"""Pages for signing in and out, and the dependencies that identify the account."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.types import Scope

from app.accounts import factors, hooks, service, sessions
from app.accounts.models import VISITOR, Account
from app.accounts.tokens import account_of_token
from app.core.database import transaction
from app.core.errors import LikewiseError, SignInRequired
from app.core.row_security import scope_to_account
from app.core.settings import get_settings
from app.core.visits import require_allowed_route, visit_of
from app.core.web import DatabaseSession, cookie_name, templates, wants_page

router = APIRouter(include_in_schema=False)
READING = ("GET", "HEAD")
# Someone who must set up a second factor first is sent here.
WITHOUT_FACTOR = ("/account", "/account/confirm", "/account/password", "/sign-out")
FACTOR = "/account/factor"
# Addresses that need no account.
OF_ANNOTATORS = ("/api/v1/annotate/", "/a/", "/static/")


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(cookie_name())


def address_of(request: Request) -> str:
    """Return the address of the client, as uvicorn reports it; trusted proxies may set it."""
    return request.client.host if request.client else "unknown"


def _by_token(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    is_token = scheme.lower() == "bearer" and request.url.path.startswith("/api/")
    return token if is_token else None


def _signed_in(request: Request, session: DatabaseSession) -> Account:
    """Return the account of the cookie or, on the API, of a personal token. From here on, the
    request's transaction can only reach this account's rows."""
    require_allowed_route(request.scope)
    account = _account_of(request, session)
    scope_to_account(session, account.id, admin=account.role == "admin")
    # An error's page is made after the transaction has ended.
    if account.role != VISITOR:
        request.state.role = account.role
    return account


def _account_of(request: Request, session: Session) -> Account:
    visit = visit_of(request.scope)
    if visit is not None:
        return hooks.visitor(session, visit)
    token = _by_token(request)
    if token is not None:
        return account_of_token(session, token, writes=request.method not in READING)
    account = sessions.account_of_session(session, cookie_of(request))
    path = request.url.path
    if path not in WITHOUT_FACTOR and not path.startswith(FACTOR):
        factors.require_for_all(account)
    return account


def who_may_send_much(scope: Scope) -> UUID:
    """Return the account that `SignedIn` would return, in a separate transaction, before the
    request's body is read. Raises SignInRequired and similar errors."""
    with transaction() as session:
        return _account_of(Request(scope), session).id


def credential_of(scope: Scope) -> str | None:
    """Return the token or cookie of a request; None for those of annotators and for requests
    without any."""
    if scope["path"].startswith(OF_ANNOTATORS):
        return None
    visit = visit_of(scope)
    if visit is not None:
        return visit.cookie
    request = Request(scope)
    return _by_token(request) or cookie_of(request)


def owner_of_credential(scope: Scope) -> UUID | None:
    """Return the account of a request's token or cookie; None if there is none or it cannot be
    looked up, because the route then meets the same error and reports it."""
    try:
        return who_may_send_much(scope)
    except (LikewiseError, SQLAlchemyError):
        return None


SignedIn = Annotated[Account, Depends(_signed_in, scope="function")]


def _confirmed(request: Request, session: DatabaseSession, account: SignedIn) -> Account:
    """Require that the person has recently confirmed their identity. A token was created by someone
    who had."""
    if _by_token(request) is None:
        sessions.require_confirmed(session, cookie_of(request))
    return account


Confirmed = Annotated[Account, Depends(_confirmed, scope="function")]


def _paying(account: Confirmed) -> Account:
    factors.require_for_payers(account)
    return account


# For everything that spends money or gives access to it.
Paying = Annotated[Account, Depends(_paying, scope="function")]


@router.get("/sign-in", response_class=HTMLResponse)
def sign_in_page(request: Request) -> Response:
    return templates.TemplateResponse(request, "accounts/sign_in.html")


@router.post("/sign-in", response_class=HTMLResponse)
def sign_in_by_password(
    request: Request,
    session: DatabaseSession,
    email: Annotated[str, Form(max_length=320)],
    password: Annotated[str, Form(max_length=1000)],
) -> Response:
    address, browser = address_of(request), request.headers.get("user-agent", "")
    try:
        cookie = service.sign_in_by_password(session, email, password, address, browser)
    except LikewiseError as error:
        context = {"error": error, "email": email}
        page = "accounts/sign_in.html"
        return templates.TemplateResponse(request, page, context, status_code=error.status)
    # Signing in again ends the previous session.
    sessions.end_session(session, cookie_of(request))
    return with_cookie(cookie, "/")


@router.get("/sign-in/code", response_class=HTMLResponse)
def code_page(request: Request) -> Response:
    """The second step of signing in."""
    return templates.TemplateResponse(request, "accounts/code.html")


@router.post("/sign-in/code", response_class=HTMLResponse)
def sign_in_by_code(
    request: Request, session: DatabaseSession, code: Annotated[str, Form(max_length=100)]
) -> Response:
    try:
        with session.begin_nested():
            cookie = service.give_code(session, cookie_of(request), code)
    except LikewiseError as error:
        context, page = {"error": error}, "accounts/code.html"
        return templates.TemplateResponse(request, page, context, status_code=error.status)
    return with_cookie(cookie, "/")


@router.get("/sign-in/{token}", response_class=HTMLResponse)
def confirm_sign_in(request: Request, token: str) -> Response:
    """Ask for a click, because link previews in e-mail and chat open addresses and must not use up
    the link."""
    return templates.TemplateResponse(request, "accounts/confirm.html", {"token": token})


@router.post("/sign-in/{token}")
def sign_in(request: Request, session: DatabaseSession, token: str) -> Response:
    browser = request.headers.get("user-agent", "")
    cookie = service.use_sign_in_link(session, token, browser)
    sessions.end_session(session, cookie_of(request))
    return with_cookie(cookie, "/")


@router.get("/account/confirm", response_class=HTMLResponse)
def confirm_page(request: Request, account: SignedIn) -> Response:
    """Ask people to confirm their identity before an important action."""
    return templates.TemplateResponse(request, "accounts/again.html", {"account": account})


@router.post("/account/confirm", response_class=HTMLResponse)
def confirm(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    password: Annotated[str, Form(max_length=1000)] = "",
    code: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    try:
        with session.begin_nested():
            renewed = service.confirm(session, account, cookie_of(request), password, code)
    except SignInRequired:
        raise
    except LikewiseError as error:
        if not wants_page(request):
            raise
        context, page = {"error": error, "account": account}, "accounts/again.html"
        return templates.TemplateResponse(request, page, context, status_code=error.status)
    return with_cookie(renewed, "/account")


def with_cookie(cookie: str, to: str) -> Response:
    """Redirect the browser, with a session's cookie."""
    response = RedirectResponse(to, status_code=303)
    response.set_cookie(
        cookie_name(),
        cookie,
        max_age=int(sessions.lifetime().total_seconds()),
        httponly=True,
        samesite="lax",
        secure=get_settings().secure_cookies,
        path="/",
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request, session: DatabaseSession) -> Response:
    sessions.end_session(session, cookie_of(request))
    return signed_out()


def signed_out() -> Response:
    """Redirect to the sign-in page, and delete the cookie and the browser's cached pages.

    The browser's storage is kept, because it contains annotators' work that was not sent yet.
    """
    response = RedirectResponse("/sign-in", status_code=303)
    secure = get_settings().secure_cookies
    response.delete_cookie(cookie_name(), secure=secure, httponly=True, samesite="lax")
    response.headers["Clear-Site-Data"] = '"cache"'
    return response
