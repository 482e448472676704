"""Middleware that adds security headers to every response and refuses forbidden requests, such as
cross-site writes."""

import asyncio
import logging
import time
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.headers import (
    LOCAL,
    REPORTS,
    headers_of,
    is_plain,
    is_private,
    own_origin,
    plain_headers_of,
)
from app.core.openapi import release
from app.core.security import new_token
from app.core.settings import get_settings

ANNOTATION = "/api/v1/annotate/"
OPEN = (ANNOTATION, "/static/", REPORTS)
# The container's health check, load balancers and Prometheus use these paths.
WATCHED = ("/healthz", "/readyz", "/metrics")
# The value of Origin that a frame without an origin sends.
NO_ORIGIN = "null"
RELEASE = release()
logger = logging.getLogger(__name__)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class SecurityHeaders:
    """Adds Content-Security-Policy and related headers, and a nonce for the scripts of a page.

    A page that other sites may frame sets their origins as `request.state.framed_by`, and a page
    whose form goes to other sites sets theirs as `request.state.forms`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        nonce = new_token()
        # Templates read this as `request.state.nonce`.
        scope.setdefault("state", {})["nonce"] = nonce

        async def send_with_headers(message: Message) -> None:
            # A response from the process for heavy requests already has all of these headers.
            is_complete = scope["state"].get("is_complete", False)
            if message["type"] == "http.response.start" and not is_complete:
                self._add(scope, message, nonce)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _add(self, scope: Scope, message: Message, nonce: str) -> None:
        headers, path = MutableHeaders(scope=message), scope["path"]
        kind = headers.get("content-type", "")
        if is_plain(kind):
            added = plain_headers_of(path)
            names = {name for name, _ in added}
            headers.raw[:] = [sent for sent in headers.raw if sent[0] not in names] + added
        else:
            framed_by = scope["state"].get("framed_by", "")
            forms = scope["state"].get("forms", "")
            # In a frame without an origin, WebKit does not treat anything as the page's own.
            own = f"'self' {own_origin()}" if framed_by else "'self'"
            headers.update(headers_of(path, kind, nonce, framed_by=framed_by, forms=forms, own=own))
        if is_private(path):
            headers.setdefault("Cache-Control", "no-store")
        if path.startswith("/api/"):
            headers["Likewise-Version"] = RELEASE


# In bytes per second; every connection that people upload through is faster.
SLOWEST = 5_000


class PatientBodies:
    """Ends requests whose body stops or slows to a crawl. Otherwise a few clients that send a byte
    now and then could hold all places.

    The application then sees a disconnected client. seconds: how long nothing may arrive, and how
    long a body may take beyond the time that SLOWEST allows.
    """

    def __init__(self, app: ASGIApp, seconds: float = 30.0) -> None:
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_whole, read, waited = False, 0, 0.0

        async def receive_in_time() -> Message:
            nonlocal is_whole, read, waited
            if is_whole:
                # From here on, only the end of the connection is awaited.
                return await receive()
            left, began = self._seconds + read / SLOWEST - waited, time.monotonic()
            try:
                # Not `wait_for`, which in Python 3.11 loses a cancellation that comes at the same
                # moment as the message; the request would then wait for ever.
                async with asyncio.timeout(min(self._seconds, left)):
                    message = await receive()
            except TimeoutError:
                logger.warning("gave up on a request body that stopped arriving")
                return {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            waited += time.monotonic() - began
            is_whole = not message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)


class KnownHosts:
    """Refuses requests for other host names, because links and caches use the host name.

    Monitoring paths accept any name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in WATCHED:
            host = _name_of(Headers(scope=scope).get("host", ""))
            if not _is_ours(host):
                detail = (
                    "This server does not answer to that host name. An administrator can add it "
                    "to LIKEWISE_ALLOWED_HOSTS."
                )
                await refusal(400, "unknown_host", detail)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _name_of(host: str) -> str:
    """Return the host without port, and an IPv6 address without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _is_ours(name: str) -> bool:
    settings = get_settings()
    allowed = settings.allowed_hosts.lower().replace(",", " ").split()
    own = (urlsplit(settings.base_url).hostname or "").lower()
    return name in (*LOCAL, own, *allowed) or "*" in allowed


class SameOriginWrites:
    """Refuses unsafe requests that a browser sends on behalf of another site (CSRF).

    Annotators in frames without an origin are let through, because their calls carry no cookie.
    Browsers state the source of every unsafe request in `Sec-Fetch-Site` or `Origin`, and scripts
    cannot forge either. Requests without both come from programs, which do not send cookies by
    accident.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            is_annotators = scope["path"].startswith(ANNOTATION)
            is_frame = is_annotators and headers.get("origin") == NO_ORIGIN
            # Browsers also send reports on behalf of pages in frames, without cookies.
            is_report = scope["path"] == REPORTS
            if not is_frame and not is_report and _is_cross_site(headers):
                detail = "This request came from another website. Use the pages of this site."
                await refusal(403, "cross_site_request", detail)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class OpenToFrames:
    """Allows frames without an origin (`sandbox` without `allow-same-origin`) to fetch the parts of
    the annotators' page. Cookies have no effect there; a bearer token identifies the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._closed = app
        self._open = CORSMiddleware(
            app,
            allow_origins=[NO_ORIGIN],
            allow_methods=["GET", "POST", "PUT"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
            max_age=3600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = scope["type"] == "http" and scope["path"].startswith(OPEN)
        await (self._open if is_open else self._closed)(scope, receive, send)


def _is_cross_site(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc != headers.get("host")
    except ValueError:
        # The value is not an address, such as "http://[".
        return True


def refusal(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return problem details for a request that is refused before it reaches a route."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
    return JSONResponse(body, status, headers, media_type="application/problem+json")
