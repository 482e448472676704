"""Counts reports of content that browsers blocked on our pages, without personal data.

This accepts `application/csp-report` (report-uri) and `application/reports+json` (Reporting API).
Anyone can send anything, so only words from a list, origins, and the shape of a path are kept.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from limits import RateLimitItemPerMinute
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.accounts import hooks
from app.core import throttle
from app.core.errors import InvalidInput, LikewiseError
from app.core.headers import REPORTS, own_origin
from app.core.web import DatabaseSession
from app.operations.models import CspViolation
from app.recruitment.channels.registry import all_channels

router = APIRouter(include_in_schema=False)
LARGEST = 64 * 2**10
PER_ADDRESS = RateLimitItemPerMinute(30)
AT_ONCE = 20
# This keeps the table small, however many hosts someone makes up.
MOST_ROWS = 1_000
KEPT = timedelta(days=90)
TYPES = ("application/csp-report", "application/reports+json", "application/json")
DIRECTIVES = (
    "default-src", "script-src", "script-src-elem", "script-src-attr", "style-src",
    "style-src-elem", "style-src-attr", "img-src", "connect-src", "font-src", "media-src",
    "object-src", "frame-src", "child-src", "worker-src", "manifest-src", "base-uri",
    "form-action", "frame-ancestors", "sandbox",
)  # fmt: skip
WORDS = ("inline", "eval", "wasm-eval", "self", "data", "blob", "about", "filesystem")
OTHER = "other"
# A path segment that is one of our names; every other may be an id or a token.
NAME = re.compile(r"[a-z]{1,16}(-[a-z]{1,16}){0,2}")
SECRET_PARTS = ("a", "r", "sign-in", "media")
HOST = re.compile(r"[a-z0-9.:\[\]-]{1,180}", re.ASCII)
Violation = tuple[str, str, str]


class ReportTooLarge(LikewiseError):
    """The report is larger than any browser sends."""

    code = "too_large"
    status = 413


class TooManyReports(LikewiseError):
    """One address sends too many reports."""

    code = "too_many_reports"
    status = 429


async def _body(request: Request) -> bytes:
    """Read the body if it is small; raises ReportTooLarge without reading the rest."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise ReportTooLarge(f"The report is too large. The limit is {LARGEST} bytes.")
    return body


@router.post(REPORTS, status_code=204)
def take_reports(
    request: Request, body: Annotated[bytes, Depends(_body)], session: DatabaseSession
) -> Response:
    address = request.client.host if request.client else "unknown"
    if not throttle.hit(PER_ADDRESS, "csp-report", address):
        raise TooManyReports("Too many reports within one minute. Try again later.")
    if request.headers.get("content-type", "").partition(";")[0].strip() not in TYPES:
        raise InvalidInput(
            f"The content type of a report must be {' or '.join(TYPES[:2])}.", code="bad_report"
        )
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("A report must be valid JSON.", code="bad_report") from error
    record(session, violations_of(payload))
    return Response(status_code=204)


def violations_of(payload: Any) -> Counter[Violation]:
    """Count the (directive, blocked, page) of the reports that concern our pages."""
    reports = payload if isinstance(payload, list) else [payload]
    counts: Counter[Violation] = Counter()
    for report in reports[:AT_ONCE]:
        if not isinstance(report, dict):
            continue
        old = report.get("csp-report")
        if isinstance(old, dict):
            directive = old.get("effective-directive") or old.get("violated-directive")
            counts += _counted(directive, old.get("blocked-uri"), old.get("document-uri"))
        elif report.get("type") == "csp-violation" and isinstance(report.get("body"), dict):
            new = report["body"]
            directive, blocked = new.get("effectiveDirective"), new.get("blockedURL")
            counts += _counted(directive, blocked, new.get("documentURL"))
    return counts


def _counted(directive: object, blocked: object, page: object) -> Counter[Violation]:
    # Older browsers send e.g. "script-src 'self'".
    words = str(directive).split()
    name = words[0] if words and words[0] in DIRECTIVES else OTHER
    shape = _page_of(str(page))
    return Counter() if shape is None else Counter({(name, _blocked_of(str(blocked)), shape): 1})


def _blocked_of(text: str) -> str:
    """Return an origin, or one of WORDS."""
    if text in WORDS:
        return text
    scheme, separator, _ = text.partition(":")
    if separator and scheme in WORDS:
        return scheme
    try:
        host = urlsplit(text).netloc.rpartition("@")[2].lower()
    except ValueError:
        return OTHER
    return f"{scheme}://{host}" if scheme in ("http", "https") and HOST.fullmatch(host) else OTHER


def _page_of(text: str) -> str | None:
    """Return the shape of one of our paths, `/campaigns/…/recruit`; None for another site's."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if f"{parts.scheme}://{parts.netloc}" != own_origin():
        return None
    names = parts.path.strip("/").split("/")[:6]
    shown = [name if NAME.fullmatch(name) else "…" for name in names]
    if shown[0] in SECRET_PARTS:
        known = ("thanks", *(channel.name for channel in all_channels()))
        shown[1:] = [name if name in known else "…" for name in shown[1:]]
    return "/" + "/".join(shown) if parts.path.strip("/") else "/"


def record(session: Session, counts: Counter[Violation]) -> None:
    """Add to the counts; above MOST_ROWS, new ones are counted as `other`."""
    is_full = (session.scalar(select(func.count()).select_from(CspViolation)) or 0) >= MOST_ROWS
    now = datetime.now(UTC)
    kept: Counter[Violation] = Counter()
    for key, n in counts.items():
        is_new = is_full and session.get(CspViolation, key) is None
        kept[(key[0], OTHER, OTHER) if is_new else key] += n
    # Use a fixed order, so that two simultaneous requests do not wait for each other.
    for key, n in sorted(kept.items()):
        values = dict(zip(("directive", "blocked", "page"), key, strict=True))
        statement = insert(CspViolation).values(**values, n=n, first_at=now, last_at=now)
        update = {"n": CspViolation.n + n, "last_at": now}
        session.execute(
            statement.on_conflict_do_update(
                index_elements=["directive", "blocked", "page"], set_=update
            )
        )


def latest_violations(session: Session, limit: int = 50) -> list[CspViolation]:
    """List the most recently seen first."""
    query = select(CspViolation).order_by(CspViolation.last_at.desc()).limit(limit)
    return list(session.scalars(query))


def forget_old_violations(session: Session) -> None:
    """Delete what was not reported again for 90 days."""
    old = CspViolation.last_at < datetime.now(UTC) - KEPT
    session.execute(delete(CspViolation).where(old).execution_options(synchronize_session=False))


hooks.violations.answered_by(latest_violations)
