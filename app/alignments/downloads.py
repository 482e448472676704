"""Places of all images of a collection as a table, line by line."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.alignments.placing import loaded, placed_rows
from app.alignments.service import NamedAlignment
from app.alignments.stored import StoredAlignment
from app.collections.models import Image
from app.core.cells import csv_line
from app.core.errors import Conflict
from app.core.spreadsheets import neutral
from app.features.stored_rows import read_rows

COLUMNS = ("image", "filename", "sha256", "asked")


def require_same_width(named: NamedAlignment) -> StoredAlignment:
    """Return the alignment of a feature set that still has the columns that were aligned. Raises
    what `loaded` raises, and Conflict if another table has taken the place of that one."""
    stored = loaded(named.alignment).stored
    n_now = named.feature_set.n_features or 0
    if n_now != stored.n_features:
        raise Conflict(
            f"The features {named.feature_set.name!r} have {n_now:,} columns now, and had "
            f"{stored.n_features:,} when they were aligned. Align them again.",
            code="features_changed",
        )
    return stored


def places_csv(session: Session, named: NamedAlignment) -> Iterator[str]:
    """Yield one line for each image with features: where they place it, and standard deviations.

    Raises what `require_same_width` and `read_rows` raise before the first line.
    """
    stored = require_same_width(named)
    rows = read_rows(session, named.feature_set)
    query = select(Image.filename).where(Image.collection_id == named.feature_set.collection_id)
    filenames = [neutral(name) for name in session.scalars(query.order_by(Image.position))]
    asked = {
        stored.images.hashes[row].tobytes().hex() for row in np.flatnonzero(stored.images.asked)
    }
    n_columns = len(stored.model.explained_)
    numbered = [f"{name}{axis}" for name in ("x", "deviation") for axis in range(n_columns)]
    yield csv_line([*COLUMNS, *numbered])
    for here, positions, deviations in placed_rows(stored, rows.parts()):
        numbers = _numbers(np.concatenate([positions, deviations], axis=1))
        yield "".join(
            csv_line([place, filenames[place], sha256, int(sha256 in asked)]).rstrip("\r\n")
            + f",{values}\n"
            for place, values in zip(here.tolist(), numbers, strict=True)
            for sha256 in [rows.hashes[place]]
        )


def _numbers(values: NDArray[np.float64]) -> list[str]:
    form = ",".join(["%.6g"] * values.shape[1])
    return [form % tuple(row) for row in values.tolist()]
