"""Errors of the client. `code` is the API's stable name of an error, `detail` a sentence."""

from typing import Any

import httpx


class LikewiseApiError(Exception):
    """The API refused a request.

    status: the HTTP status; errors: the invalid fields, each with `where` and `message`
    """

    def __init__(
        self, status: int, code: str, detail: str, errors: list[dict[str, str]] | None = None
    ) -> None:
        super().__init__(f"{detail} ({status} {code})")
        self.status, self.code, self.detail = status, code, detail
        self.errors = errors or []


class BadRequest(LikewiseApiError):
    """Something in the request is wrong (400, 413, 422)."""


class Unauthorized(LikewiseApiError):
    """The token is missing, unknown, revoked or expired (401)."""


class Forbidden(LikewiseApiError):
    """The token can only read, or the campaign is shared for viewing only (403)."""


class NotFound(LikewiseApiError):
    """It does not exist, or it belongs to another account (404)."""


class Conflict(LikewiseApiError):
    """The request does not suit the current state (409)."""


class Unavailable(LikewiseApiError):
    """After all tries: too many requests, or a failure of the server (429, 5xx)."""


class TrainingFailed(Exception):
    """The campaign's last training failed. The message says why; `Campaign.retry` tries again."""


class BadSignature(Exception):
    """Likewise did not sign this message, or it is too old."""


BY_STATUS = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 429: Unavailable}


def error_of(response: httpx.Response) -> LikewiseApiError:
    """The error in a response whose body has been read."""
    status = response.status_code
    try:
        body: Any = response.json()
    except ValueError:
        body = None
    problem = body if isinstance(body, dict) else {}
    default = Unavailable if status >= 500 else BadRequest
    return BY_STATUS.get(status, default)(
        status,
        str(problem.get("code", f"http_{status}")),
        str(problem.get("detail", response.reason_phrase)),
        problem.get("errors"),
    )
