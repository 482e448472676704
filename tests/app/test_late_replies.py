"""A reply for which the connection has no place any more."""

import asyncio
import logging
from typing import Any

import h11
import pytest

from app.core.requests import Requests


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def over(message: str) -> Any:
    async def send(event: Any) -> None:
        raise h11.LocalProtocolError(message)

    return send


SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": []}


def test_who_sent_no_http_behind_the_head_gets_no_second_reply(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server has refused what came while we were at work: no error of ours."""
    caplog.set_level(logging.INFO, "likewise.requests")
    why = "can't handle event type Response when role=SERVER and state=MUST_CLOSE"
    asyncio.run(Requests(answer)(SCOPE, None, over(why)))  # type: ignore[arg-type]
    assert "the server has rejected the request body" in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_reply_that_breaks_the_protocol_itself_is_our_error() -> None:
    async def send(event: Any) -> None:
        if event["type"] == "http.response.body":
            raise h11.LocalProtocolError("Too much data for declared Content-Length")

    with pytest.raises(h11.LocalProtocolError):
        asyncio.run(Requests(answer)(SCOPE, None, send))  # type: ignore[arg-type]
