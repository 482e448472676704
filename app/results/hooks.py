"""What results ask the rooms above them (see `app.core.hooks`)."""

from collections.abc import Iterator
from uuid import UUID

from sqlalchemy.orm import Session

from app.core.hooks import Hook

# The whole campaign as an archive, streamed.
archive: Hook[[Session, UUID], Iterator[bytes]] = Hook("results.archive")
