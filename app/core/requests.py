"""Gives every request an id, counts it, and logs a line for it.

Only the template of the route is logged, `/a/{link}`, because addresses contain tokens and ids of
people.
"""

import logging
import re
import time

from prometheus_client import CollectorRegistry, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uuid_utils import uuid4

from app.core.logs import REQUESTS, request_id

HEADER = "X-Request-ID"
# Request ids that clients may choose: nothing that could break a line or carry a message.
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{8,64}", re.ASCII)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

logger = logging.getLogger(REQUESTS)
# The folder in which several processes on one port count together (the name is
# prometheus_client's).
COUNTS = "PROMETHEUS_MULTIPROC_DIR"
# Metrics of this process. The labels are limited to templates of routes, never paths or ids.
FIGURES = CollectorRegistry()
durations = Histogram(
    "likewise_request_seconds",
    "Time until the response begins.",
    ("method", "route", "status"),
    registry=FIGURES,
    buckets=BOUNDS,
)


class Requests:
    """The outermost middleware; `durations` holds what it counts."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        identity = given if SAFE_ID.fullmatch(given) else uuid4().hex
        # This is not reset at the end: the server has a task for each request, and the handler of
        # unexpected errors, which runs after this, uses the id too.
        request_id.set(identity)
        started = time.perf_counter()
        status, seconds = 500, None

        async def send_with_id(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - started
                MutableHeaders(scope=message)[HEADER] = identity
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            _note(scope, status, time.perf_counter() - started if seconds is None else seconds)


def _note(scope: Scope, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in METHODS else "other"
    route = route_of(scope)
    durations.labels(method, route, str(status)).observe(seconds)
    level = logging.WARNING if status >= 500 else logging.INFO
    milliseconds = round(seconds * 1000, 1)
    fields = {"method": method, "route": route, "status": status, "milliseconds": milliseconds}
    logger.log(level, "%s %s %d %g ms", method, route, status, milliseconds, extra=fields)


def route_of(scope: Scope) -> str:
    """Return the template of the route that responded; "/static" for files, "none" if there was no
    route."""
    route = getattr(scope.get("route"), "path", None)
    return str(route or scope.get("root_path") or "none")
