"""The emulator as a server, in the foreground or in a thread of a test."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from fastapi import FastAPI

from emulators.kit.server import Server
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


class Emulator(Server):
    """A running emulator. Any thread can read `state`; change it over HTTP.

    site: its origin as browsers see it, if that differs from its address, as behind a proxy.
    """

    def __init__(
        self, options: Options, host: str = "127.0.0.1", port: int = 0, site: str | None = None
    ) -> None:
        self.token = options.accounts[0].token
        super().__init__(lambda url: self._app(options, site or url), host, port)

    def _app(self, options: Options, site: str) -> FastAPI:
        self.app = make_app(options, site)
        return self.app

    @property
    def state(self) -> World:
        world: World = self.app.state.world
        return world


@contextmanager
def running(
    port: int = 0, *, host: str = "127.0.0.1", site: str | None = None, **options: object
) -> Iterator[Emulator]:
    """Run an emulator during the block; options: the fields of `Options`."""
    with Emulator(Options(**options), host, port, site) as emulator:  # type: ignore[arg-type]
        yield emulator


def serve(
    port: int = 8600,
    *,
    host: str = "127.0.0.1",
    site: str | None = None,
    options: Options | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl+C; `announce` is called with the address once it is known."""
    emulator = Emulator(options or Options(), host, port, site)
    announce(emulator.url)
    emulator.serve()
