"""Requests that are tried again where that is safe.

Every POST carries an Idempotency-Key, so that a request whose reply was lost has its effect once.
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
    """One connection pool; not for several threads at once."""

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
        """The reply's JSON, {} where there is none.

        Raises LikewiseApiError, or httpx.TransportError when no try reached the server.
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
        told: Json = response.json()
        return told

    def pages(self, path: str, **query: Any) -> Iterator[Json]:
        """All items of a list, fetched page by page as they are asked for."""
        after = None
        while True:
            page = self.get(path, **query, after=after)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def download(self, path: str, target: Path, **query: Any) -> None:
        """Stream a file to `target`, which is there whole or not at all."""
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
        """Try until there is a reply that trying again would not change."""
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
