"""The API's errors in Prolific's format."""

# Prolific publishes the format of its errors but no list of their codes. 140007 has been seen in
# public for invalid fields. The other numbers are this emulator's own, so a client must not
# distinguish errors by them.
FIELDS = 140007
CODES = {400: 140000, 401: 140001, 403: 140003, 404: 140004, 429: 140029}
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}

Detail = str | list[str] | dict[str, list[str]]


class Refused(Exception):
    """A call that Prolific would answer with an error. It changes nothing."""

    def __init__(self, status: int, detail: Detail, additional: str | None = None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.additional = additional

    def body(self) -> dict[str, object]:
        return error_body(self.status, self.detail, self.additional)


def error_body(status: int, detail: Detail, additional: str | None = None) -> dict[str, object]:
    code = FIELDS if isinstance(detail, dict) else CODES.get(status, 150000 + status)
    error: dict[str, object] = {
        "status": status,
        "error_code": code,
        "title": TITLES.get(status, "Error"),
        "detail": detail,
        "interactive": False,
    }
    if additional:
        error["additional_information"] = additional
    return {"error": error}


def bad(detail: Detail) -> Refused:
    return Refused(400, detail)


def not_found(what: str) -> Refused:
    return Refused(404, f"{what} does not exist.")
