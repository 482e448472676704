"""What the dispatcher writes to the terminal."""

import logging
from collections.abc import Iterator

import httpx
import pytest

from app.core.logs import begin_log

NAMES = ("", "likewise.requests", "httpx", "httpcore", "botocore", "urllib3")


@pytest.fixture(autouse=True)
def levels_as_before(environment: dict[str, str]) -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in NAMES}
    handlers = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers = handlers
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def test_requests_to_platforms_leave_no_line_with_their_addresses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ask() -> None:
        with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as client:
            client.get("https://api.example.org/submissions/60aca280709ee40ec37d4885/")

    logging.getLogger().setLevel(logging.INFO)
    ask()
    assert "60aca280709ee40ec37d4885" in caplog.text
    caplog.clear()
    begin_log("dispatcher")
    ask()
    assert caplog.text == ""
