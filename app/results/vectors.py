"""A model's embedding as an array, and turns at working on it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Semaphore
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.errors import LikewiseError
from app.results.models import EmbeddedImage, Model

# Who waits holds a thread and a database connection, which annotators need, too.
WAIT_SECONDS = 1.0
_turn = Semaphore(1)


class Busy(LikewiseError):
    """Others are being computed for; the same request succeeds a little later."""

    code = "busy"
    status = 503
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "5"}


def read_vectors(session: Session, model: Model) -> NDArray[np.float64]:
    """(N, d) places of the model's images, by position."""
    query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == model.id)
    rows = session.scalars(query.order_by(EmbeddedImage.position)).all()
    return np.array(rows, np.float64)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """What takes seconds on a core, and the memory of all vectors, is done for one request after
    the other: take the turn before reading them. Raises Busy."""
    if not _turn.acquire(timeout=WAIT_SECONDS):
        raise Busy("The server is busy with another computation. Try again in a moment.")
    try:
        yield
    finally:
        _turn.release()
