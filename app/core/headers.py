"""The security headers of a response: one policy for pages, one for scripts, one for everything
else."""

from functools import lru_cache
from urllib.parse import urlsplit

from app.core.settings import get_settings

# Browsers report blocked content to this address (app/operations/violations.py).
REPORTS = "/csp-reports"
PAGE_POLICY = (
    "default-src {own}; img-src {own} data: blob:; style-src {own}; "
    "script-src 'nonce-{nonce}' 'strict-dynamic' {own}; worker-src {own}; connect-src {own}; "
    "object-src 'none'; base-uri 'none'; form-action 'self'{forms}; frame-ancestors {ancestors}; "
    f"report-uri {REPORTS}"
)
# Only workers use a script's policy, and they fetch their own parts.
SCRIPT_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# The policy for responses that can be opened alone but are not pages: images, JSON, files.
OTHER_POLICY = (
    "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
SCRIPTS = ("text/javascript", "application/javascript")
# Pages use the clipboard and fullscreen, but none of these.
UNUSED = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation",
    "gyroscope", "magnetometer", "microphone", "midi", "payment", "usb", "xr-spatial-tracking",
)  # fmt: skip
PERMISSIONS = ", ".join(f"{name}=()" for name in UNUSED)
HSTS = "max-age=31536000; includeSubDomains"
# Frames without an origin fetch these, so even our own pages count as another site.
FOR_FRAMES = ("/static/", "/media/", "/api/v1/annotate/", REPORTS)
# Pages for people without an account, who have a link.
READ_ONLY = ("/view/", "/r/")
LOCAL = ("localhost", "127.0.0.1", "::1")


def headers_of(
    path: str,
    content_type: str,
    nonce: str,
    *,
    framed_by: str = "",
    forms: str = "",
    own: str = "'self'",
) -> dict[str, str]:
    """Return the security headers to add to a response.

    content_type: of the response, "" for none
    nonce: carried by the page's scripts
    framed_by: origins of other sites that may frame this page
    forms: origins of another site that may receive its forms
    own: sources of the page's own content
    """
    return {
        "Content-Security-Policy": _policy(path, content_type, nonce, framed_by, forms, own),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": (
            "cross-origin" if path.startswith(FOR_FRAMES) else "same-origin"
        ),
        "Permissions-Policy": PERMISSIONS,
        **_of_read_only_views(path),
        **_of_pages(content_type),
        **_over_https(),
    }


def plain_headers_of(path: str) -> list[tuple[bytes, bytes]]:
    """Return the security headers of a response that is neither a page nor a script, as they are
    sent."""
    kind = next((some[0] for some in (FOR_FRAMES, READ_ONLY) if path.startswith(some)), "/")
    return _plain_headers(kind, get_settings().base_url)


# They are the same for nearly every response, and making them takes as long as a database
# statement.
@lru_cache(maxsize=8)
def _plain_headers(path: str, base_url: str) -> list[tuple[bytes, bytes]]:
    named = headers_of(path, "", "")
    return [(name.lower().encode(), value.encode()) for name, value in named.items()]


def own_origin() -> str:
    """Return scheme and host of the address that people type."""
    parts = urlsplit(get_settings().base_url)
    return f"{parts.scheme}://{parts.netloc}"


def is_private(path: str) -> bool:
    """Tell whether caches must not keep a response that does not say otherwise."""
    return not path.startswith("/static/")


def is_plain(content_type: str) -> bool:
    """Tell whether `plain_headers_of` are the headers of such a response."""
    kind = content_type.partition(";")[0]
    return kind != "text/html" and kind not in SCRIPTS


def _policy(path: str, content_type: str, nonce: str, framed_by: str, forms: str, own: str) -> str:
    kind = content_type.partition(";")[0]
    if kind in SCRIPTS:
        return SCRIPT_POLICY
    if kind != "text/html":
        return OTHER_POLICY
    return PAGE_POLICY.format(
        own=own,
        nonce=nonce,
        forms=f" {forms}" if forms else "",
        ancestors=framed_by or _frames_allowed(path),
    ) + ("; report-to csp" if _is_https() else "")


def _frames_allowed(path: str) -> str:
    """Return who else may frame a page: this site, for its previews of the annotators' pages."""
    return "'self'" if path.startswith("/campaigns/") and path.endswith("/preview") else "'none'"


def _of_pages(content_type: str) -> dict[str, str]:
    # Browsers use this header over https only, and then ignore `report-uri`.
    if not content_type.startswith("text/html") or not _is_https():
        return {}
    return {"Reporting-Endpoints": f'csp="{REPORTS}"'}


def _of_read_only_views(path: str) -> dict[str, str]:
    """Return what keeps links and what they show out of search engines and of other sites' logs."""
    if not path.startswith(READ_ONLY):
        return {}
    return {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}


def _is_https() -> bool:
    return get_settings().base_url.startswith("https://")


def _over_https() -> dict[str, str]:
    """Do not send it for this machine's own name, where other programs may use http."""
    parts = urlsplit(get_settings().base_url)
    strict = parts.scheme == "https" and parts.hostname not in LOCAL
    return {"Strict-Transport-Security": HSTS} if strict else {}
