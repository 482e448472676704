"""Shared by every route: the request's session, the signed-in account, pages and errors."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Depends, Request
from fastapi.templating import Jinja2Templates
from sqlalchemy.orm import Session

from app.core.bodies import StrictRoute, takes_more
from app.core.database import ANNOTATOR_CONNECTIONS, REQUESTER_CONNECTIONS, transaction
from app.core.settings import get_settings


async def _session() -> AsyncIterator[Session]:
    """It connects on first use, which happens in the thread of a dependency or of the route. Each
    change of threads costs a request as much as a database statement."""
    opened = transaction()
    session = opened.__enter__()

    async def end(
        kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if not session.in_transaction():
            return opened.__exit__(kind, error, trace)
        handled = None
        # This needs an extra thread, outside the pool of all requests: the pool may be full of
        # requests that wait for a platform, while others wait for rows that this transaction has
        # locked.
        of_its_own = CapacityLimiter(1)
        with CancelScope(shield=True):
            end_it = opened.__exit__
            handled = await to_thread.run_sync(end_it, kind, error, trace, limiter=of_its_own)
        return handled

    async with AsyncExitStack() as stack:
        stack.push_async_exit(end)
        yield session


# scope="function": the commit happens before the reply is sent, so an acknowledged write is kept.
# max_concurrency: a request keeps its connection between dependencies and route, each a wait for a
# worker thread; were there more requests than connections, threads would fill up with requests
# waiting for a connection while their holders wait for a thread.
DatabaseSession = Annotated[
    Session, Depends(_session, scope="function", max_concurrency=REQUESTER_CONNECTIONS)
]
# Annotators have their own connections, so that they never wait for requesters.
AnnotatorsSession = Annotated[
    Session, Depends(_session, scope="function", max_concurrency=ANNOTATOR_CONNECTIONS)
]


def cookie_name() -> str:
    """Return the name of the session cookie. `__Host-` ties it to this host, but browsers accept
    that over https only."""
    return "__Host-likewise" if get_settings().secure_cookies else "likewise"


class BriefRoute(StrictRoute):
    """A route whose transaction commits in the thread of its function as soon as that returns, so
    that others who wait for its locks do not also wait until the response is written.

    Its function has a `session: DatabaseSession`, is not a coroutine (which would commit before it
    had begun), and accepts no more than MOST_BYTES.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if iscoroutinefunction(endpoint) or isgeneratorfunction(endpoint) or takes_more(endpoint):
            raise TypeError(f"{endpoint.__name__} cannot be committed as soon as it has returned.")
        super().__init__(path, _committing(endpoint), **options)


def _committing(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(endpoint)
    def ended(*, session: Session, **values: Any) -> Any:
        reply = endpoint(session=session, **values)
        session.commit()
        return reply

    return ended


templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


def day_text(at: datetime) -> str:
    """Return a date as pages show it: "3 Oct 2026"."""
    return f"{at.astimezone(UTC):%-d %b %Y}"


def moment_text(at: datetime, seconds: bool = False) -> str:
    """Return a time as pages that the server renders show it, of 24 hours and with its zone: "3 Oct
    2026, 14:03 UTC". Components show times in the reader's zone."""
    return f"{day_text(at)}, {at.astimezone(UTC):{'%H:%M:%S' if seconds else '%H:%M'}} UTC"


templates.env.filters["moment"] = moment_text
templates.env.filters["day"] = day_text


def wants_page(request: Request) -> bool:
    """Tell whether an error should be shown as a page (for a browser that navigates) or as
    problem+json."""
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")
