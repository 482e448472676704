"""`/healthz`, `/readyz`, `/metrics`."""

import hmac
from typing import ClassVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from app.core.errors import LikewiseError, NotFound
from app.core.settings import get_settings
from app.operations.figures import read_figures
from app.operations.readiness import check_readiness

router = APIRouter(include_in_schema=False)


class BadMetricsToken(LikewiseError):
    """The request does not carry LIKEWISE_METRICS_TOKEN."""

    code = "bad_metrics_token"
    status = 401
    headers: ClassVar = {"WWW-Authenticate": "Bearer"}


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Report that the process responds. Whether it can do its work is a question for `/readyz`."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz() -> Response:
    readiness = check_readiness()
    status = "ready" if readiness.is_ready else "not ready"
    code = 200 if readiness.is_ready else 503
    headers = {"Cache-Control": "no-store"}
    return JSONResponse({"status": status, "checks": readiness.checks}, code, headers)


@router.get("/metrics")
def metrics(request: Request) -> Response:
    wanted = get_settings().metrics_token.get_secret_value()
    if not wanted:
        raise NotFound("This page does not exist.")
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    fits = hmac.compare_digest(given.encode(), wanted.encode())
    if scheme.lower() != "bearer" or not fits:
        raise BadMetricsToken("Send LIKEWISE_METRICS_TOKEN as a bearer token.")
    return Response(read_figures(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
