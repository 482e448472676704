"""Turns errors into responses: problem+json for programs, a page for people."""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.routing import iter_route_contexts
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.core import openapi
from app.core.bodies import BodyRefused
from app.core.errors import NO_ROOM, LikewiseError, NoRoom, SignInRequired
from app.core.headers import headers_of
from app.core.logs import request_id
from app.core.outages import passes_by_itself
from app.core.quick import QuickRoute
from app.core.requests import HEADER, route_of
from app.core.storage import StorageUnavailable, is_full, storage_reason
from app.core.web import BriefRoute, cookie_name, templates, wants_page

logger = logging.getLogger(__name__)
RETRY_SECONDS = 2
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
DISK_FULL = "53100"
# A commit may have succeeded although its confirmation was lost.
UNCERTAIN = (
    "The database cannot be reached at the moment, so we don't know whether this request "
    "took effect. Send the same request again in a few seconds, with the same "
    "Idempotency-Key if it had one."
)
UNREAD = (
    "The database cannot be reached at the moment. Nothing is lost. Try again in a few seconds."
)
# Links to the pages where people can do what the error asks for.
SENT_ON = {"confirmation_required": "/account/confirm", "second_factor_required": "/account"}
# Maximum number of reported errors of an invalid request: nobody reads more, and a small request
# may have thousands.
MOST_ERRORS = 100
LONGEST_PLACE = 300
NOTHING_HERE = "There is nothing at this address. Check that you copied all of it."


# SQLSTATEs for values that cannot be stored: NUL, bytes that are not text, too long, or out of
# range for a number or a date. None: the driver refuses to send the value.
UNSTORABLE_STATES = (None, "22001", "22003", "22008", "22021", "22P02", "22P05")


# Makes a page of a request, status, code and detail.
ErrorPage = Callable[[Request, int, str, str], Response]
_pages: dict[str, ErrorPage] = {}


def error_page(prefix: str) -> Callable[[ErrorPage], ErrorPage]:
    """Show people errors at addresses with this prefix on a page of their own."""

    def install(page: ErrorPage) -> ErrorPage:
        _pages[prefix] = page
        return page

    return install


def install_error_handlers(app: FastAPI) -> None:
    """Respond to every error of the hierarchy, of validation and of routing in one format."""
    app.add_exception_handler(LikewiseError, _on_likewise_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(DataError, _on_data_error)
    app.add_exception_handler(OperationalError, _on_database_trouble)
    app.add_exception_handler(PoolTimeout, _on_database_trouble)
    app.add_exception_handler(StorageUnavailable, _on_storage_trouble)
    app.add_exception_handler(UnicodeEncodeError, _on_data_error)
    app.add_exception_handler(ClientDisconnect, _on_lost_client)
    app.add_exception_handler(Exception, _on_unexpected_error)


def problem(request: Request, status: int, code: str, detail: str, **extra: Any) -> Response:
    """Return the error as a page or as RFC 9457 problem details."""
    title = HTTPStatus(status).phrase
    if wants_page(request):
        for prefix, page in _pages.items():
            if request.url.path.startswith(prefix):
                return page(request, status, code, detail)
        context = {"status": status, "title": title, "detail": detail, "role_here": _role(request)}
        return templates.TemplateResponse(request, "error.html", context, status_code=status)
    body = {"type": "about:blank", "title": title, "status": status, "code": code}
    return JSONResponse(
        {**body, "detail": detail, **extra},
        status_code=status,
        media_type="application/problem+json",
    )


def _role(request: Request) -> str | None:
    """Return the role of the person who sees an error's page, for its navigation. At an address
    that does not exist nobody has looked who they are, only whether they may have signed in."""
    known: str | None = getattr(request.state, "role", None)
    return known or ("requester" if cookie_name() in request.cookies else None)


def _on_likewise_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, LikewiseError)
    if isinstance(error, SignInRequired) and wants_page(request):
        page = "/sign-in/code" if error.code == "code_required" else "/sign-in"
        return RedirectResponse(page, status_code=303)
    if error.code in SENT_ON and wants_page(request):
        return RedirectResponse(SENT_ON[error.code], status_code=303)
    response = problem(request, error.status, error.code, str(error), **error.details)
    response.headers.update(error.headers)
    return response


def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [
        {"where": ".".join(map(str, item["loc"]))[:LONGEST_PLACE], "message": item["msg"]}
        for item in error.errors()[:MOST_ERRORS]
    ]
    if wants_page(request) and any(item["loc"][:1] == ("path",) for item in error.errors()):
        return problem(request, 404, "not_found", NOTHING_HERE)
    detail = "; ".join(f"{item['where']}: {item['message']}" for item in errors[:5])
    return problem(request, 422, "invalid_request", detail, errors=errors)


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.__cause__ is not None and is_full(error.__cause__):
        # The folder for incoming bodies failed, which is not the request's fault.
        return _on_full_disk(request, error.__cause__)
    named = HTTPStatus(error.status_code).name.lower()
    code = error.code if isinstance(error, BodyRefused) else named
    detail = str(error.detail)
    if detail == HTTPStatus(error.status_code).phrase and request.url.path.startswith("/api/"):
        detail = f"{request.method} {request.url.path}: {detail}. See {openapi.ADDRESS}."
    response = problem(request, error.status_code, code, detail)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods_at(request))
    return response


def _methods_at(request: Request) -> list[str]:
    """Return the methods that routes accept at an address; the framework only reports those of the
    first matching route. If one route has a fixed name where another has a parameter, only the
    first one counts."""
    by_n_parameters: dict[int, set[str]] = {}
    for route in iter_route_contexts(request.app.routes):
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(request.url.path):
            # Only static files are mounted.
            methods = route.methods or {"GET", "HEAD"}
            by_n_parameters.setdefault(pattern.groups, set()).update(methods)
    return sorted(by_n_parameters[min(by_n_parameters)])


def _on_lost_client(request: Request, error: Exception) -> Response:
    """The client disconnected within the body. This is not our error, and nobody reads the
    response."""
    return problem(
        request,
        400,
        "body_cut_off",
        "The connection was lost before the whole request body had arrived.",
    )


def _on_data_error(request: Request, error: Exception) -> Response:
    # Handle values that JSON allows and PostgreSQL cannot store: NUL characters, unpaired
    # surrogates.
    if getattr(getattr(error, "orig", None), "sqlstate", None) not in UNSTORABLE_STATES:
        return _on_unexpected_error(request, error)
    logger.warning("the database rejected data at %s", route_of(request.scope), exc_info=error)
    detail = (
        "The request contains characters or numbers that cannot be stored, such as NUL. Remove "
        "them and try again."
    )
    return problem(request, 422, "cannot_be_stored", detail)


def _on_database_trouble(request: Request, error: Exception) -> Response:
    """Handle temporary errors, after which the same request can be sent again."""
    if isinstance(error, OperationalError) and not passes_by_itself(error):
        return _on_unexpected_error(request, error)
    logger.warning("database not reachable at %s: %s", route_of(request.scope), error)
    code, detail = "database_unavailable", UNCERTAIN
    if getattr(getattr(error, "orig", None), "sqlstate", None) == DISK_FULL:
        # This is 503 and not 507, because annotators' pages then send their waiting answers again
        # automatically.
        code, detail = NoRoom.code, NO_ROOM
    elif request.method in SAFE_METHODS:
        detail = UNREAD
    response = problem(request, 503, code, detail)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _on_storage_trouble(request: Request, error: Exception) -> Response:
    logger.warning(
        "storage not reachable at %s: %s", route_of(request.scope), storage_reason(error)
    )
    detail = (
        "The storage of images and models cannot be reached at the moment. Try again in a few "
        "seconds."
    )
    response = problem(request, 503, "storage_unavailable", detail)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _on_full_disk(request: Request, error: BaseException) -> Response:
    logger.error("disk full at %s: %s", route_of(request.scope), error)
    return _on_likewise_error(request, NoRoom())


def _on_unexpected_error(request: Request, error: Exception) -> Response:
    if is_full(error):
        return _on_full_disk(request, error)
    logger.error("unexpected error at %s", route_of(request.scope), exc_info=error)
    detail = "Something went wrong on the server. Nothing was saved. Please try again."
    if isinstance(request.scope.get("route"), (BriefRoute, QuickRoute)):
        detail = (
            "Something went wrong on the server, possibly after everything was saved. Check "
            "before you try again."
        )
    response = problem(request, 500, "internal_error", detail)
    # The context that set it has already been left.
    response.headers[HEADER] = request_id.get()
    kind = response.headers.get("content-type", "")
    nonce = getattr(request.state, "nonce", "")
    response.headers.update(headers_of(request.url.path, kind, nonce))
    response.headers["Cache-Control"] = "no-store"
    return response
