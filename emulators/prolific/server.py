"""The emulator as a server, in the foreground or in a thread of a test."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from emulators.prolific import control, control_hooks, market, pages
from emulators.prolific.api import account, hooks, people, studies, submissions
from emulators.prolific.api.wire import add_error_pages
from emulators.prolific.options import Options
from emulators.prolific.world import World

TICK_SECONDS = 0.05
logger = logging.getLogger(__name__)


def make_app(options: Options, site: str) -> FastAPI:
    """Build the application; `site` is its origin as browsers see it."""
    app = FastAPI(
        title="Prolific emulator",
        lifespan=_ticking,
        openapi_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.state.world = World(options, site)
    for part in (
        account,
        studies,
        submissions,
        people,
        hooks,
        market,
        control,
        control_hooks,
        pages,
    ):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=pages.HERE / "static"))
    add_error_pages(app)
    return app


@asynccontextmanager
async def _ticking(app: FastAPI) -> AsyncIterator[None]:
    """Do the work that is due even while no request comes."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                app.state.world.clock.run_due()
            except Exception:
                logger.exception("scheduled work failed")

    task = asyncio.create_task(tick())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await app.state.world.hooks.close()


@dataclass(frozen=True)
class Emulator:
    """A running emulator. Any thread can read `state`; change it over HTTP."""

    url: str
    token: str
    _app: FastAPI

    @property
    def state(self) -> World:
        world: World = self._app.state.world
        return world


def _server(app: FastAPI) -> uvicorn.Server:
    return uvicorn.Server(uvicorn.Config(app, timeout_graceful_shutdown=1, log_level="warning"))


@contextmanager
def _listening(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """A listening socket and its address; port 0 chooses a free port."""
    with socket.create_server((host, port)) as listening:
        # asyncio does this only for sockets made with IPPROTO_TCP. Without it, each response waits
        # 40 ms for the other side's acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listening, f"http://{host}:{listening.getsockname()[1]}"


@contextmanager
def running(
    port: int = 0, *, host: str = "127.0.0.1", site: str | None = None, **options: object
) -> Iterator[Emulator]:
    """Run an emulator in a thread, on a free port unless one is given.

    options: the fields of `Options`. site: its origin as browsers see it, if that differs from its
    address, as behind a proxy.
    """
    chosen = Options(**options)  # type: ignore[arg-type]
    with _listening(host, port) as (listening, url):
        app = make_app(chosen, site or url)
        server = _server(app)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listening]}, name="prolific", daemon=True
        )
        thread.start()
        try:
            _wait_for(server, thread)
            yield Emulator(url, chosen.accounts[0].token, app)
        finally:
            server.should_exit = True
            thread.join(10)


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    until = time.monotonic() + 15
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise RuntimeError("The Prolific emulator did not start.")
        time.sleep(0.005)


def serve(
    port: int = 8600,
    *,
    host: str = "127.0.0.1",
    site: str | None = None,
    options: Options | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl+C; `announce` is called with the address once it is known."""
    with _listening(host, port) as (listening, url):
        app = make_app(options or Options(), site or url)
        announce(url)
        _server(app).run(sockets=[listening])
