"""Pages for signing in and out, and who is signed in."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from app.accounts import service
from app.accounts.models import Account
from app.accounts.tokens import account_of_token
from app.core.errors import LikewiseError
from app.core.settings import get_settings
from app.core.wall import confine
from app.core.web import DatabaseSession, templates

router = APIRouter(include_in_schema=False)
READING = ("GET", "HEAD")


def cookie_name() -> str:
    """`__Host-` ties the cookie to this host, but browsers take it over https only."""
    return "__Host-likewise" if get_settings().secure_cookies else "likewise"


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(cookie_name())


def _signed_in(request: Request, session: DatabaseSession) -> Account:
    """By cookie, or on the API by a personal token; from here on the request's transaction reaches
    what is this account's alone."""
    account = _account_of(request, session)
    confine(session, account.id, admin=account.role == "admin")
    return account


def _account_of(request: Request, session: Session) -> Account:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and request.url.path.startswith("/api/"):
        return account_of_token(session, token, writes=request.method not in READING)
    return service.account_of_session(session, cookie_of(request))


SignedIn = Annotated[Account, Depends(_signed_in, scope="function")]


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
    address = request.client.host if request.client else "unknown"
    try:
        cookie = service.sign_in_by_password(session, email, password, address)
    except LikewiseError as error:
        context = {"error": error, "email": email}
        page = "accounts/sign_in.html"
        return templates.TemplateResponse(request, page, context, status_code=error.status)
    return _with_cookie(cookie)


@router.get("/sign-in/{token}", response_class=HTMLResponse)
def confirm_sign_in(request: Request, token: str) -> Response:
    """Ask for a click: link previews in mail and chat fetch addresses, and must not spend one."""
    return templates.TemplateResponse(request, "accounts/confirm.html", {"token": token})


@router.post("/sign-in/{token}")
def sign_in(session: DatabaseSession, token: str) -> Response:
    return _with_cookie(service.use_sign_in_link(session, token))


def _with_cookie(cookie: str) -> Response:
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        cookie_name(),
        cookie,
        max_age=int(service.SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=get_settings().secure_cookies,
        path="/",
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request, session: DatabaseSession) -> Response:
    service.end_session(session, cookie_of(request))
    response = RedirectResponse("/sign-in", status_code=303)
    response.delete_cookie(cookie_name())
    return response
