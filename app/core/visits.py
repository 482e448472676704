"""Visits with a read-only link: addresses below `/view/{link}`, and the routes that they may reach.

A visitor's page has the address of the requester's page behind `/view/{link}`. The middleware
removes this prefix, and with it everything that identifies an account: such a request never has an
account's rights, and the visit's cookie is sent to no other address.
"""

import re
from dataclasses import dataclass
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from app.core.errors import NotFound
from app.core.middleware import refusal
from app.core.settings import get_settings

PREFIX = "/view/"
ENTRANCE = "/r/"
_ADDRESS = re.compile(r"/view/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(/.*)", re.ASCII)
_COOKIE = re.compile(r"[\w.=~-]{1,2000}", re.ASCII)
# No route has this address, so a browser gets the usual page of an address that does not exist.
_NOWHERE = "/view/none"
# Everything that a visitor may read: the templates of routes, and the sections among a campaign's
# pages. Nothing else can be reached, and nothing can be changed.
_CAMPAIGN = "/api/v1/campaigns/{campaign_id}"
_MODEL = f"{_CAMPAIGN}/models/{{version}}"
_CLUSTERING = f"{_MODEL}/clusterings/{{clustering_id}}"
SECTIONS = ("map", "labels", "attributes", "clusters", "compare", "alignment")
ALLOWED = frozenset({
    "/campaigns/{campaign_id}",
    "/campaigns/{campaign_id}/{section}",
    f"{_CAMPAIGN}/progress",
    f"{_CAMPAIGN}/events",
    f"{_CAMPAIGN}/models",
    f"{_CAMPAIGN}/feature-map",
    f"{_CAMPAIGN}/map/images",
    f"{_CAMPAIGN}/map/pictures/{{size}}",
    f"{_CAMPAIGN}/map/columns",
    f"{_CAMPAIGN}/map/column",
    f"{_CAMPAIGN}/alignments",
    f"{_CAMPAIGN}/alignments/{{alignment_id}}",
    f"{_MODEL}/map",
    f"{_MODEL}/map/layout",
    f"{_MODEL}/map/sheets/{{level}}/{{column}}/{{row}}",
    f"{_MODEL}/map/attributes",
    f"{_MODEL}/map/attributes/{{index}}",
    f"{_MODEL}/map/labels",
    f"{_MODEL}/map/settled",
    f"{_MODEL}/neighbours",
    f"{_MODEL}/insight",
    f"{_MODEL}/axes",
    f"{_MODEL}/known-columns",
    f"{_MODEL}/comparison",
    f"{_MODEL}/clusterings",
    _CLUSTERING,
    f"{_CLUSTERING}/clusters/{{index}}/images",
    f"{_MODEL}/own-clusters",
    f"{_MODEL}/memberships",
    f"{_MODEL}/labels",
    f"{_MODEL}/label-quality",
    f"{_MODEL}/classes",
    f"{_MODEL}/class-quality",
})  # fmt: skip
_PATTERNS = [compile_path(template)[0] for template in sorted(ALLOWED)]
READ_ONLY = "This is a read-only view. Nothing can be changed here."
NOT_SHOWN = "A read-only view does not show this."


@dataclass(frozen=True)
class Visit:
    """A request below `/view/{link_id}`.

    root: the prefix of all its addresses, such as `/view/0190…`
    cookie: the visit's cookie, None if the browser sent none
    """

    link_id: UUID
    root: str
    cookie: str | None


def root_of(link_id: UUID) -> str:
    """Return the prefix of all addresses of a link's view, which is its cookie's path."""
    return f"{PREFIX}{link_id}"


def visit_cookie_name() -> str:
    """Return the name of the visit's cookie; `__Secure-` is accepted over https only. `__Host-`
    would not allow a path."""
    return "__Secure-likewise-view" if get_settings().secure_cookies else "likewise-view"


def visit_of(scope: Scope) -> Visit | None:
    """Return the visit that a request belongs to; None for all other requests."""
    visit = scope.get("visit")
    return visit if isinstance(visit, Visit) else None


def require_allowed_route(scope: Scope) -> None:
    """Raise NotFound if a visitor's request was given to a route that is not in `ALLOWED`."""
    if visit_of(scope) is not None and getattr(scope["route"], "path", None) not in ALLOWED:
        raise NotFound(NOT_SHOWN)


def is_allowed(path: str) -> bool:
    """Tell whether a visitor may read an address, without the prefix."""
    matches = filter(None, (pattern.fullmatch(path) for pattern in _PATTERNS))
    return any(match.groupdict().get("section", "map") in SECTIONS for match in matches)


class ReadOnlyViews:
    """Turns `GET /view/{link}/campaigns/…` into `GET /campaigns/…` of a `Visit`, and refuses
    everything else below `/view/{link}`.

    Account cookies and API tokens are removed from such requests. The process for heavy requests
    gets the address with the prefix (`raw_path`) and does the same.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None:
            await self.app(scope, receive, send)
            return
        path = match[2]
        if scope["method"] not in ("GET", "HEAD"):
            await refusal(403, "read_only", READ_ONLY)(scope, receive, send)
            return
        if not is_allowed(path):
            if path.startswith("/api/"):
                await refusal(404, "not_found", NOT_SHOWN)(scope, receive, send)
                return
            path = _NOWHERE
        inner = _visiting(scope, UUID(match[1]), path)
        try:
            await self.app(inner, receive, send)
        finally:
            # For the log and the metrics.
            if "route" in inner:
                scope["route"] = inner["route"]


def _visiting(scope: Scope, link_id: UUID, path: str) -> Scope:
    name = visit_cookie_name()
    sent = cookie_parser(Headers(scope=scope).get("cookie", "")).get(name, "")
    # A value can be quoted, with anything in it.
    cookie = sent if _COOKIE.fullmatch(sent) else None
    headers = [
        (header, value)
        for header, value in scope["headers"]
        if header not in (b"cookie", b"authorization")
    ]
    if cookie is not None:
        headers.append((b"cookie", f"{name}={cookie}".encode("latin-1", "replace")))
    visit = Visit(link_id, root_of(link_id), cookie)
    return {**scope, "path": path, "headers": headers, "visit": visit}
