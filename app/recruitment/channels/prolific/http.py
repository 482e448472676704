"""Requests to Prolific's API, and what its responses mean for the caller.

Nothing is ever repeated here. The token is sent in one header of each request and nowhere else.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.recruitment.channel import ChannelRefused, ChannelUnavailable, OutcomeUnknown

# A response may take long, but must not block a thread forever.
ANSWER_SECONDS = 30.0
MOST_PAGES = 2_000
# The request is refused now but may succeed later; nothing has happened.
_LATER = {408, 425, 429}
_TOKEN = re.compile(r"[!-~]{8,500}")
_API = "/api/v1/"

Params = Mapping[str, str | int | bool]


class NeverSent(ChannelUnavailable):
    """The request was not sent, so nothing can have happened."""


class NotAccepted(ChannelUnavailable):
    """The token is wrong or lacks a permission, so requests wait until it is replaced."""


class Reply(BaseModel):
    """A part of a response. Fields that are not needed here are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Link(Reply):
    href: str | None = None


class _Links(Reply):
    next: _Link | None = None


class _Page(Reply):
    results: list[object]
    links: _Links | None = Field(default=None, alias="_links")


class _Detail(Reply):
    detail: str | list[str] | dict[str, list[str] | str] = ""
    title: str = ""


class _Error(Reply):
    error: _Detail


AnyReply = TypeVar("AnyReply", bound=Reply)


class ProlificHttp:
    """One account's access to the API. Threads can share it.

    base: scheme, host and port, such as `https://api.prolific.com`.
    """

    def __init__(self, base: str, token: str, answer_seconds: float = ANSWER_SECONDS) -> None:
        # Other characters in the header would appear in httpx's own error text, and in logs.
        if not _TOKEN.fullmatch(token):
            raise ChannelRefused(
                "This is not a Prolific API token. Copy it again from Prolific's settings.",
                "bad_token",
            )
        self.base = base.rstrip("/")
        self._headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
        self._timeout = httpx.Timeout(answer_seconds, connect=5, pool=5)

    def get(self, path: str, model: type[AnyReply], params: Params | None = None) -> AnyReply:
        return _parsed(self._asked("GET", path, params=params), model)

    def pages(
        self, path: str, model: type[AnyReply], params: Params | None = None
    ) -> Iterator[AnyReply]:
        """Yield all entries of a list by following the response's own links. A page beyond the last
        one is an error on Prolific, and the number of pages can grow in the meantime."""
        page = _parsed(self._asked("GET", path, params=params), _Page)
        for _ in range(MOST_PAGES):
            for entry in page.results:
                yield _validated(entry, model)
            following = page.links and page.links.next and page.links.next.href
            if not following:
                return
            page = _parsed(self._asked("GET", _own_path(following)), _Page)
        raise ChannelUnavailable("Prolific's list does not end.")

    def post(self, path: str, body: object, model: type[AnyReply]) -> AnyReply:
        return _parsed(self._asked("POST", path, body), model)

    def patch(self, path: str, body: object, model: type[AnyReply]) -> AnyReply:
        return _parsed(self._asked("PATCH", path, body), model)

    def delete(self, path: str) -> None:
        self._asked("DELETE", path)

    def post_for_response(self, path: str, body: object) -> httpx.Response:
        """Send a request as `post` does, if a header of the response matters."""
        return self._asked("POST", path, body)

    def pay(self, path: str) -> None:
        """Send a POST that moves money each time it arrives.

        Raises OutcomeUnknown unless the response is a clear yes or no, or the request was never
        sent.
        """
        try:
            # The payment uses its own connection. On one that was kept open, a server that has hung
            # up in the meantime would look like one that received the request and failed.
            response = self._sent("POST", path, None, None, keep_open=False)
        except NeverSent:
            raise
        except ChannelUnavailable as error:
            raise OutcomeUnknown("Prolific did not say whether it paid these bonuses.") from error
        if response.is_success:
            return
        if 400 <= response.status_code < 500 and response.status_code != 408:
            raise _error_of(response)
        raise OutcomeUnknown(
            f"Prolific answered {response.status_code} when asked to pay. It may have paid."
        )

    def _asked(
        self, method: str, path: str, body: object = None, params: Params | None = None
    ) -> httpx.Response:
        response = self._sent(method, path, body, params, keep_open=True)
        if not response.is_success:
            raise _error_of(response)
        return response

    def _sent(
        self, method: str, path: str, body: object, params: Params | None, *, keep_open: bool
    ) -> httpx.Response:
        try:
            return _client(keep_open).request(
                method,
                self.base + path,
                params=dict(params) if params else None,
                json=body,
                headers=self._headers,
                timeout=self._timeout,
            )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NeverSent("Prolific can't be reached.") from error
        except httpx.TransportError as error:
            raise ChannelUnavailable("Prolific did not answer.") from error


def public_json(address: str) -> object:
    """Return public JSON from an address. No token is sent."""
    try:
        response = _client(True).get(address, timeout=httpx.Timeout(10, connect=5, pool=5))
        response.raise_for_status()
        document: object = response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ChannelUnavailable("Prolific's keys can't be read at the moment.") from error
    return document


@lru_cache(maxsize=2)
def _client(keep_open: bool) -> httpx.Client:
    """Return a client that all accounts share. It keeps connections, but no cookies and no
    token."""
    limits = httpx.Limits(max_keepalive_connections=10 if keep_open else 0)
    return httpx.Client(limits=limits, follow_redirects=False)


def _own_path(address: str) -> str:
    """Return path and query of a link in a response, so that the token is sent to no other host."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise ChannelUnavailable("Prolific's list could not be read.") from error
    path = url.raw_path.decode("ascii")
    if not path.startswith(_API):
        raise ChannelUnavailable("Prolific's list could not be read.")
    return path


def _parsed(response: httpx.Response, model: type[AnyReply]) -> AnyReply:
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        raise ChannelUnavailable("Prolific's answer could not be read.") from error


def _validated(entry: object, model: type[AnyReply]) -> AnyReply:
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        raise ChannelUnavailable("Prolific's answer could not be read.") from error


def _error_of(response: httpx.Response) -> ChannelRefused | ChannelUnavailable:
    """Return the error for a response that is not a success."""
    status = response.status_code
    if status in _LATER:
        return ChannelUnavailable("Prolific asks for fewer requests. It is tried again later.")
    if not 400 <= status < 500:
        return ChannelUnavailable(f"Prolific answered {status}. It is tried again later.")
    if status == 401:
        # Requests wait, so that no payment fails because a token is being replaced.
        return NotAccepted(
            "Prolific does not accept the API token. Create a new one in Prolific's settings and "
            "enter it under Account → Platforms.",
        )
    message = _error_message(response)
    if status == 403:
        return NotAccepted(
            f"The API token lacks permission for this on Prolific. {message}".strip()
        )
    return ChannelRefused(
        message or f"Prolific refused ({status}).",
        "not_found" if status == 404 else f"http_{status}",
    )


def _error_message(response: httpx.Response) -> str:
    """Return Prolific's own words in one line."""
    try:
        error = _Error.model_validate_json(response.content).error
    except ValidationError:
        return ""
    parts: list[str]
    if isinstance(error.detail, dict):
        parts = [
            f"{name}: {' '.join([words] if isinstance(words, str) else words)}"
            for name, words in error.detail.items()
        ]
    else:
        parts = [error.detail] if isinstance(error.detail, str) else error.detail
    text = " ".join("; ".join(part for part in parts if part).split()) or error.title
    return f"Prolific says: {text[:600]}" if text else ""
