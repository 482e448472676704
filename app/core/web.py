"""What every route shares: the request's session, the signed-in account, pages and errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi.templating import Jinja2Templates
from sqlalchemy.orm import Session

from app.core.database import REQUEST_CONNECTIONS, transaction


def _session() -> Iterator[Session]:
    with transaction() as session:
        yield session


# scope="function": the commit happens before the reply is sent, so an acknowledged write is kept.
# max_concurrency: a request keeps its connection between dependencies and route, each a wait for a
# worker thread; were there more requests than connections, threads would fill up with requests
# waiting for a connection while their holders wait for a thread.
DatabaseSession = Annotated[
    Session, Depends(_session, scope="function", max_concurrency=REQUEST_CONNECTIONS)
]

templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


def wants_page(request: Request) -> bool:
    """Whether an error should be shown as a page (a browser navigating) or as problem+json."""
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")
