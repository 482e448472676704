"""Pages for signing in and out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.accounts import service
from app.accounts.models import Account
from app.core.settings import get_settings
from app.core.web import DatabaseSession, templates

router = APIRouter(include_in_schema=False)


def cookie_name() -> str:
    """`__Host-` ties the cookie to this host, but browsers take it over https only."""
    return "__Host-likewise" if get_settings().secure_cookies else "likewise"


def _signed_in(request: Request, session: DatabaseSession) -> Account:
    return service.account_of_session(session, request.cookies.get(cookie_name()))


SignedIn = Annotated[Account, Depends(_signed_in, scope="function")]


@router.get("/sign-in", response_class=HTMLResponse)
def sign_in_page(request: Request) -> Response:
    return templates.TemplateResponse(request, "accounts/sign_in.html")


@router.get("/sign-in/{token}", response_class=HTMLResponse)
def confirm_sign_in(request: Request, token: str) -> Response:
    """Ask for a click: link previews in mail and chat fetch addresses, and must not spend one."""
    return templates.TemplateResponse(request, "accounts/confirm.html", {"token": token})


@router.post("/sign-in/{token}")
def sign_in(session: DatabaseSession, token: str) -> Response:
    cookie = service.use_sign_in_link(session, token)
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        cookie_name(),
        cookie,
        max_age=int(service.SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=get_settings().secure_cookies,
    )
    return response


@router.post("/sign-out")
def sign_out(request: Request, session: DatabaseSession) -> Response:
    service.end_session(session, request.cookies.get(cookie_name()))
    response = RedirectResponse("/sign-in", status_code=303)
    response.delete_cookie(cookie_name())
    return response
