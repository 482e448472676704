"""What every reply gets (security headers) and what no request may do (cross-site writes)."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors {ancestors}"
)
MTURK_FRAMES = "https://worker.mturk.com https://workersandbox.mturk.com https://www.mturk.com"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class SecurityHeaders:
    """Content-Security-Policy and friends; annotators' pages may be framed by MTurk only."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        ancestors = MTURK_FRAMES if scope["path"].startswith("/a/") else "'none'"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = CONTENT_SECURITY_POLICY.format(ancestors=ancestors)
                headers["Content-Security-Policy"] = policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
            await send(message)

        await self.app(scope, receive, send_with_headers)


class SameOriginWrites:
    """Refuse unsafe requests that a browser sends on behalf of another site (CSRF).

    Browsers state the source of every unsafe request in `Sec-Fetch-Site` or `Origin`, and scripts
    cannot forge either. Requests without both come from programs, which carry no cookie by
    accident.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            if _is_cross_site(headers):
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


def _is_cross_site(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
