"""The security headers of a reply: one policy for pages, one for scripts, one for all else."""

from urllib.parse import urlsplit

from app.core.settings import get_settings

# Where browsers tell what they have blocked (app/operations/violations.py).
REPORTS = "/csp-reports"
PAGE_POLICY = (
    "default-src {own}; img-src {own} data: blob:; style-src {own}; "
    "script-src 'nonce-{nonce}' 'strict-dynamic' {own}; worker-src {own}; connect-src {own}; "
    "object-src 'none'; base-uri 'none'; form-action 'self'{forms}; frame-ancestors {ancestors}; "
    f"report-uri {REPORTS}"
)
# Of a script only workers take a policy, and they fetch what they are made of.
SCRIPT_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# What is opened by itself though it is no page: images, JSON, files.
OTHER_POLICY = (
    "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
SCRIPTS = ("text/javascript", "application/javascript")
# Clipboard and fullscreen are used; these are not.
UNUSED = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation",
    "gyroscope", "magnetometer", "microphone", "midi", "payment", "usb", "xr-spatial-tracking",
)  # fmt: skip
PERMISSIONS = ", ".join(f"{name}=()" for name in UNUSED)
HSTS = "max-age=31536000; includeSubDomains"
# Fetched by pages in frames that have no origin, so that even our own seem foreign.
FOR_FRAMES = ("/static/", "/media/", "/api/v1/annotate/", REPORTS)
LOCAL = ("localhost", "127.0.0.1", "::1")


def headers_of(
    path: str, content_type: str, nonce: str, *, framed_by: str = "", own: str = "'self'"
) -> dict[str, str]:
    """What a reply gets beside what it has.

    content_type: of the reply, "" for none
    nonce: that the page's scripts carry
    framed_by: origins of another site that may frame this page and take its forms; own: sources
    of what belongs to it
    """
    return {
        "Content-Security-Policy": _policy(path, content_type, nonce, framed_by, own),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": (
            "cross-origin" if path.startswith(FOR_FRAMES) else "same-origin"
        ),
        "Permissions-Policy": PERMISSIONS,
        **_of_pages(content_type),
        **_over_https(),
    }


def own_origin() -> str:
    """Scheme and host of the address that people type."""
    parts = urlsplit(get_settings().base_url)
    return f"{parts.scheme}://{parts.netloc}"


def is_private(path: str) -> bool:
    """Whether no cache may keep a reply that does not say otherwise."""
    return not path.startswith("/static/")


def _policy(path: str, content_type: str, nonce: str, framed_by: str, own: str) -> str:
    kind = content_type.partition(";")[0]
    if kind in SCRIPTS:
        return SCRIPT_POLICY
    if kind != "text/html":
        return OTHER_POLICY
    return PAGE_POLICY.format(
        own=own,
        nonce=nonce,
        forms=f" {framed_by}" if framed_by else "",
        ancestors=framed_by or _frames_allowed(path),
    ) + ("; report-to csp" if _is_https() else "")


def _frames_allowed(path: str) -> str:
    """Who else may frame a page: this site its previews of the annotators'."""
    return "'self'" if path.startswith("/campaigns/") and path.endswith("/preview") else "'none'"


def _of_pages(content_type: str) -> dict[str, str]:
    # Browsers read it over https alone, and then do not use `report-uri` any more.
    if not content_type.startswith("text/html") or not _is_https():
        return {}
    return {"Reporting-Endpoints": f'csp="{REPORTS}"'}


def _is_https() -> bool:
    return get_settings().base_url.startswith("https://")


def _over_https() -> dict[str, str]:
    """Not for this machine's own name, where other programs may speak http."""
    parts = urlsplit(get_settings().base_url)
    strict = parts.scheme == "https" and parts.hostname not in LOCAL
    return {"Strict-Transport-Security": HSTS} if strict else {}
