"""What every route shares: the request's session, the signed-in account, pages and errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi.templating import Jinja2Templates
from sqlalchemy.orm import Session

from app.core.database import transaction


def _session() -> Iterator[Session]:
    with transaction() as session:
        yield session


# scope="function": the commit happens before the reply is sent, so an acknowledged write is kept.
DatabaseSession = Annotated[Session, Depends(_session, scope="function")]

templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


def wants_page(request: Request) -> bool:
    """Whether an error should be shown as a page (a browser navigating) or as problem+json."""
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")
