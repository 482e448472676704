"""The emulator as a web application, and as a server in a thread for tests."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from time import monotonic

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from emulators.kit.server import Server
from emulators.mturk import control, market_api, pages, service
from emulators.mturk.market import NotPossible, settle
from emulators.mturk.queue import is_waiting
from emulators.mturk.state import Options, State


def create_app(state: State) -> FastAPI:
    app = FastAPI(title="MTurk emulator", docs_url="/emulator/docs", redoc_url=None)
    app.include_router(control.router(state))
    app.include_router(market_api.router(state))
    app.include_router(pages.router(state))

    @app.post("/", include_in_schema=False)
    async def call(request: Request) -> Response:
        body = await request.body()
        origin = str(request.base_url).rstrip("/")
        headers = dict(request.headers)
        await _wait_for_message(state, *service.poll_seconds(headers, body))
        url = str(request.url)
        reply = await run_in_threadpool(service.handle, state, headers, url, origin, body)
        if reply.hold is not None:
            return await _hang_up(request, reply.hold)
        return Response(orjson.dumps(reply.document), reply.status, reply.headers)

    @app.exception_handler(NotPossible)
    async def refuse(request: Request, error: NotPossible) -> Response:
        if request.url.path.startswith("/market/"):
            return JSONResponse({"detail": error.message}, error.status)
        with state.lock:
            page: HTMLResponse = pages.refusal_page(state, request, error)
            return page

    return app


async def _wait_for_message(state: State, url: str, seconds: float) -> None:
    """Wait until the queue has a message or the time is over (long poll)."""
    limit = monotonic() + seconds
    while monotonic() < limit:
        with state.lock:
            settle(state)
            if is_waiting(state, url):
                return
        await asyncio.sleep(0.05)


async def _hang_up(request: Request, seconds: float) -> Response:
    """Keep the client waiting, then close the connection without a response."""
    await asyncio.sleep(seconds)
    request.scope["emulator.transport"].abort()
    # The server discards the response once it notices that the connection is closed.
    await asyncio.sleep(0.01)
    return Response()


class _WithTransport:
    """Passes uvicorn's connection on, because ASGI cannot close it without a response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            cycle = getattr(receive, "__self__", None)
            scope["emulator.transport"] = getattr(cycle, "transport", None)
        await self.app(scope, receive, send)


class Emulator(Server):
    """A running emulator: `endpoint_url` for boto3 and browsers, `state` to inspect."""

    def __init__(self, options: Options, host: str = "127.0.0.1", port: int = 0) -> None:
        self.state = State(options)
        super().__init__(lambda _: _WithTransport(create_app(self.state)), host, port)

    @property
    def endpoint_url(self) -> str:
        return self.url


@contextmanager
def running(
    port: int = 0,
    *,
    allow_http: bool = True,
    accounts: dict[str, str] | None = None,
    balance: Decimal | str = "10000",
    worker_site: str | None = None,
    seed: int = 0,
) -> Iterator[Emulator]:
    """Run an emulator during the block; port 0 chooses a free port."""
    options = Options(
        allow_http=allow_http,
        accounts=accounts or Options().accounts,
        balance=Decimal(balance),
        worker_site=worker_site,
        seed=seed,
    )
    with Emulator(options, port=port) as emulator:
        yield emulator
