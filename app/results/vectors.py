"""A model's embedding as an array, and a queue for expensive work on it."""

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

# A waiting request holds a thread and a database connection, which annotators need, too.
WAIT_SECONDS = 1.0
_turn = Semaphore(1)


class Busy(LikewiseError):
    """The server is computing for other requests; the same request succeeds a little later."""

    code = "busy"
    status = 503
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "5"}


def read_vectors(session: Session, model: Model) -> NDArray[np.float64]:
    """Return the (N, d) vectors of the model's images, by position."""
    query = select(EmbeddedImage.vector).where(EmbeddedImage.model_id == model.id)
    rows = session.scalars(query.order_by(EmbeddedImage.position)).all()
    return np.array(rows, np.float64)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Allow one request at a time to do work that takes seconds of a core and the memory of all
    vectors. Enter this before reading the vectors. Raises Busy."""
    if not _turn.acquire(timeout=WAIT_SECONDS):
        raise Busy("The server is busy with another computation. Try again in a moment.")
    try:
        yield
    finally:
        _turn.release()
