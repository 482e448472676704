"""Replies that are made while they are sent."""

from collections.abc import Generator, Mapping

import anyio
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send


class Stream(StreamingResponse):
    """The pieces of a generator, which is closed as soon as nobody reads any more.

    Left to the garbage collector, it would keep its database connection until that comes by.
    """

    def __init__(
        self,
        pieces: Generator[bytes, None, None],
        media_type: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._pieces.close)
