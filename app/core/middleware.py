"""What every reply gets (security headers) and what no request may do (cross-site writes)."""

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.openapi import release
from app.core.settings import get_settings

CONTENT_SECURITY_POLICY = (
    "default-src {own}; img-src {own} data: blob:; style-src {own}; script-src {own}; "
    "connect-src {own}; object-src 'none'; base-uri 'none'; form-action 'self'{forms}; "
    "frame-ancestors {ancestors}"
)
MTURK_PAGES = "/a/mturk/"
ANNOTATION = "/api/v1/annotate/"
# What a page in a frame without an origin of its own calls itself.
NO_ORIGIN = "null"
RELEASE = release()
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class SecurityHeaders:
    """Content-Security-Policy and friends.

    mturk_origins: of MTurk's pages, which alone may frame its people's, and take their form.
    """

    def __init__(self, app: ASGIApp, mturk_origins: Callable[[], str]) -> None:
        self.app = app
        self._mturk_origins = mturk_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, origins, own = scope["path"], "", "'self'"
        if path.startswith(MTURK_PAGES):
            origins = self._mturk_origins()
            # In a frame without an origin, WebKit takes nothing at all for the page's own.
            own = f"'self' {_own_origin()}"
        ancestors = origins or _frames_allowed(path)
        forms = f" {origins}" if origins else ""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = CONTENT_SECURITY_POLICY.format(own=own, ancestors=ancestors, forms=forms)
                headers["Content-Security-Policy"] = policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                if scope["path"].startswith("/api/"):
                    headers["Likewise-Version"] = RELEASE
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _own_origin() -> str:
    parts = urlsplit(get_settings().base_url)
    return f"{parts.scheme}://{parts.netloc}"


def _frames_allowed(path: str) -> str:
    """Who else may frame a page: this site its previews of the annotators'."""
    return "'self'" if path.startswith("/campaigns/") and path.endswith("/preview") else "'none'"


class SameOriginWrites:
    """Refuse unsafe requests that a browser sends on behalf of another site (CSRF).

    Annotators in frames without an origin are let through: their calls carry no cookie at all.
    Browsers state the source of every unsafe request in `Sec-Fetch-Site` or `Origin`, and scripts
    cannot forge either. Requests without both come from programs, which carry no cookie by
    accident.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            is_annotators = scope["path"].startswith(ANNOTATION)
            is_frame = is_annotators and headers.get("origin") == NO_ORIGIN
            if not is_frame and _is_cross_site(headers):
                body = {
                    "type": "about:blank",
                    "title": "Forbidden",
                    "status": 403,
                    "code": "cross_site_request",
                    "detail": "This request came from another site. Use the pages of this one.",
                }
                refusal = JSONResponse(body, status_code=403, media_type="application/problem+json")
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)


class OpenToFrames:
    """Lets pages in frames without an origin (`sandbox` without `allow-same-origin`) fetch what the
    annotators' page is made of. No cookie counts there: a bearer token says who calls.
    """

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
        is_open = scope["type"] == "http" and scope["path"].startswith((ANNOTATION, "/static/"))
        await (self._open if is_open else self._closed)(scope, receive, send)


def _is_cross_site(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc != headers.get("host")
    except ValueError:
        # No address at all, such as "http://[".
        return True
