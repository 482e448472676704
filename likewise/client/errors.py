"""What can go wrong, by type; `code` is the API's stable name of it, `detail` a sentence."""

from typing import Any

import httpx


class LikewiseApiError(Exception):
    """The API refused a request.

    status: of HTTP; errors: the fields that do not fit, each with `where` and `message`
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
    """The token is missing, unknown, revoked or too old (401)."""


class Forbidden(LikewiseApiError):
    """The token may only read, or the campaign is shared to look at (403)."""


class NotFound(LikewiseApiError):
    """There is none, or it is somebody else's (404)."""


class Conflict(LikewiseApiError):
    """Not in the state that it is in now (409)."""


class Unavailable(LikewiseApiError):
    """Too many requests, or the server's own trouble, after all tries (429, 5xx)."""


class TrainingFailed(Exception):
    """The campaign's last training failed; the message says why, `Campaign.retry` tries again."""


class BadSignature(Exception):
    """A webhook's message is not what Likewise signed, or too old."""


BY_STATUS = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 429: Unavailable}


def error_of(response: httpx.Response) -> LikewiseApiError:
    """The error that a reply tells of; its body has been read."""
    status = response.status_code
    try:
        told: Any = response.json()
    except ValueError:
        told = None
    problem = told if isinstance(told, dict) else {}
    default = Unavailable if status >= 500 else BadRequest
    return BY_STATUS.get(status, default)(
        status,
        str(problem.get("code", f"http_{status}")),
        str(problem.get("detail", response.reason_phrase)),
        problem.get("errors"),
    )
