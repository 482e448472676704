"""Requests that are retried where that is safe.

Every POST has an Idempotency-Key, so that a request takes effect once even if it is retried.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from likewise.client.errors import error_of

TEMPORARY = (429, 502, 503, 504)
IN_FLIGHT = "idempotency_key_in_flight"
LONGEST_WAIT = 60.0
Json = dict[str, Any]


class Transport:
    """One connection pool, which only one thread at a time can use."""

    def __init__(
        self,
        base_url: str,
        token: str,
        timeout: float = 60.0,
        tries: int = 6,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if tries < 1:
            raise ValueError(f"tries must be at least 1, not {tries}")
        self._tries = tries
        self._http = httpx.Client(
            base_url=f"{base_url.rstrip('/')}/api/v1",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            timeout=timeout,
            transport=transport,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Json:
        return self.request("GET", path, params=query)

    def post(self, path: str, body: Json | None = None, **options: Any) -> Json:
        return self.request("POST", path, json=body, **options)

    def request(self, method: str, path: str, **options: Any) -> Json:
        """Return the response's JSON, or {} if it is empty.

        Raises LikewiseApiError, or httpx.TransportError if the last try did not reach the server.
        """
        headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}
        if "params" in options:
            given = options["params"].items()
            options["params"] = {name: value for name, value in given if value is not None}

        def send() -> httpx.Response:
            return self._http.request(method, path, headers=headers, **options)

        response = self._persist(send)
        if not response.content:
            return {}
        body: Json = response.json()
        return body

    def pages(self, path: str, **query: Any) -> Iterator[Json]:
        """Yield all items of a list, fetched page by page."""
        after = None
        while True:
            page = self.get(path, **query, after=after)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def download(self, path: str, target: Path, **query: Any) -> None:
        """Download a file to `target`, completely or not at all."""
        part = target.with_name(f"{target.name}.part")
        params = {name: value for name, value in query.items() if value is not None}

        def fetch() -> httpx.Response:
            with self._http.stream("GET", path, params=params) as response:
                if response.is_error:
                    response.read()
                    return response
                with part.open("wb") as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
            return response

        try:
            self._persist(fetch)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def _persist(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Retry until the response is final, or the tries are used up."""
        for attempt in range(1, self._tries + 1):
            wait = min(0.25 * 2**attempt, LONGEST_WAIT)
            try:
                response = send()
            except httpx.TransportError:
                if attempt == self._tries:
                    raise
            else:
                if not response.is_error:
                    return response
                error = error_of(response)
                may_pass = response.status_code in TEMPORARY or error.code == IN_FLIGHT
                if not may_pass or attempt == self._tries:
                    raise error
                wait = max(wait, _retry_after(response))
            time.sleep(wait * random.uniform(0.8, 1.2))
        raise AssertionError("unreachable")


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(float(response.headers.get("retry-after", 0)), LONGEST_WAIT)
    except ValueError:
        return 0.0
