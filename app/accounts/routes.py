"""Pages for signing in and out, and who is signed in."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.types import Scope

from app.accounts import factors, service, sessions
from app.accounts.models import Account
from app.accounts.tokens import account_of_token
from app.core.database import transaction
from app.core.errors import LikewiseError, SignInRequired
from app.core.settings import get_settings
from app.core.wall import confine
from app.core.web import DatabaseSession, templates, wants_page

router = APIRouter(include_in_schema=False)
READING = ("GET", "HEAD")
# Where somebody goes who has to set up a second factor first.
WITHOUT_FACTOR = ("/account", "/account/confirm", "/account/password", "/sign-out")
FACTOR = "/account/factor"
# Where no account is asked for.
OF_ANNOTATORS = ("/api/v1/annotate/", "/a/", "/static/")


def cookie_name() -> str:
    """`__Host-` ties the cookie to this host, but browsers take it over https only."""
    return "__Host-likewise" if get_settings().secure_cookies else "likewise"


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(cookie_name())


def address_of(request: Request) -> str:
    """Where a request comes from, as uvicorn has it: proxies that it trusts may say."""
    return request.client.host if request.client else "unknown"


def _by_token(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    is_token = scheme.lower() == "bearer" and request.url.path.startswith("/api/")
    return token if is_token else None


def _signed_in(request: Request, session: DatabaseSession) -> Account:
    """By cookie, or on the API by a personal token; from here on the request's transaction reaches
    what is this account's alone."""
    account = _account_of(request, session)
    confine(session, account.id, admin=account.role == "admin")
    return account


def _account_of(request: Request, session: Session) -> Account:
    token = _by_token(request)
    if token is not None:
        return account_of_token(session, token, writes=request.method not in READING)
    account = sessions.account_of_session(session, cookie_of(request))
    path = request.url.path
    if path not in WITHOUT_FACTOR and not path.startswith(FACTOR):
        factors.require_for_all(account)
    return account


def who_may_send_much(scope: Scope) -> UUID:
    """The account that would get past `SignedIn`, in a transaction of its own: before the request's
    body is read. Raises SignInRequired and its kin."""
    with transaction() as session:
        return _account_of(Request(scope), session).id


def credential_of(scope: Scope) -> str | None:
    """The token or cookie that a request comes with; None for annotators' and of nobody."""
    if scope["path"].startswith(OF_ANNOTATORS):
        return None
    request = Request(scope)
    return _by_token(request) or cookie_of(request)


def owner_of_credential(scope: Scope) -> UUID | None:
    """The account of a request's token or cookie; None where there is none, or it cannot be looked
    up: the route meets the same error and reports it."""
    try:
        return who_may_send_much(scope)
    except (LikewiseError, SQLAlchemyError):
        return None


SignedIn = Annotated[Account, Depends(_signed_in, scope="function")]


def _confirmed(request: Request, session: DatabaseSession, account: SignedIn) -> Account:
    """Signed in, and asked lately who they are. A token was made by somebody who was."""
    if _by_token(request) is None:
        sessions.require_confirmed(session, cookie_of(request))
    return account


Confirmed = Annotated[Account, Depends(_confirmed, scope="function")]


def _paying(account: Confirmed) -> Account:
    factors.require_for_payers(account)
    return account


# Of whatever commits money, or gives access to it.
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
    # Whoever signs in again leaves the session from before.
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
    """Ask for a click, because link previews in mail and chat open addresses and must not use one
    up.
    """
    return templates.TemplateResponse(request, "accounts/confirm.html", {"token": token})


@router.post("/sign-in/{token}")
def sign_in(request: Request, session: DatabaseSession, token: str) -> Response:
    browser = request.headers.get("user-agent", "")
    cookie = service.use_sign_in_link(session, token, browser)
    sessions.end_session(session, cookie_of(request))
    return with_cookie(cookie, "/")


@router.get("/account/confirm", response_class=HTMLResponse)
def confirm_page(request: Request, account: SignedIn) -> Response:
    """Ask who is there before an important action."""
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
    """Sends the browser on, with a session's cookie."""
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
    """To the page for signing in, without the cookie and what the browser has kept of pages.

    Not its storage: work of annotators that was not sent yet lies there.
    """
    response = RedirectResponse("/sign-in", status_code=303)
    secure = get_settings().secure_cookies
    response.delete_cookie(cookie_name(), secure=secure, httponly=True, samesite="lax")
    response.headers["Clear-Site-Data"] = '"cache"'
    return response
