"""Tables of features that are too large to be copied: read in place, reduced, without repeats."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import IntArray
from learning.features import as_features

Float32 = NDArray[np.float32]
Table = NDArray[np.floating[Any]]

# A table with more values is not copied as a whole: 256 MiB in double precision.
MOST_VALUES = 2**25
MAX_COMPONENTS = 512
# Rows that components are computed from, and values that are in memory at once.
_SAMPLE_ROWS, _BLOCK_VALUES = 2_048, 2**22
# Directions with a smaller share of the largest variance are errors of single precision.
_LEAST_VARIANCE = 1e-7


def is_large(table: Table) -> bool:
    """Whether a table is too large to be copied."""
    return table.size > MOST_VALUES


def as_table(values: ArrayLike) -> Table:
    """(n, D) numbers as they are if they are many floats, otherwise float64 as `as_features`.

    Raises the errors of `as_features`.
    """
    table = np.asarray(values)
    if table.ndim != 2 or table.dtype not in (np.float32, np.float64) or not is_large(table):
        return as_features(table)
    for rows in blocks(table):
        if not np.isfinite(table[rows]).all():
            row, column = np.argwhere(~np.isfinite(table[rows]))[0]
            raise ValueError(
                f"X must be finite, got {table[rows][row, column]} in row {rows.start + row}, "
                f"feature {column}"
            )
    return table


def blocks(table: Table) -> Iterator[slice]:
    """Rows that are in memory at once."""
    step = max(1, _BLOCK_VALUES // table.shape[1])
    for start in range(0, len(table), step):
        yield slice(start, start + step)


def first_of_each(table: Table) -> IntArray:
    """(m,) the first of all rows of (n, D) with the same numbers, ascending."""
    seen: dict[bytes, int] = {}
    for rows in blocks(table):
        # Adding 0 turns -0 into 0, which is the same number.
        for number, row in enumerate(np.ascontiguousarray(table[rows]) + 0, start=rows.start):
            seen.setdefault(blake2b(row.tobytes(), digest_size=16).digest(), number)
    return np.fromiter(seen.values(), np.int64, len(seen))


def reduced(table: Table, random_state: int) -> Float32:
    """(n, R) the R = 512 or fewer principal components of (n, D), from a sample of the rows.

    The Gram matrix of the sample is decomposed, because it is smaller than the covariance. Narrower
    tables are only converted.
    """
    if table.shape[1] <= MAX_COMPONENTS:
        return np.asarray(table, np.float32)
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.permutation(len(table))[:_SAMPLE_ROWS])
    sample = np.asarray(table[rows], np.float32)
    mean = sample.mean(axis=0)
    sample -= mean
    values, vectors = np.linalg.eigh((sample @ sample.T).astype(np.float64))
    order = np.argsort(-values)[:MAX_COMPONENTS]
    order = order[values[order] > _LEAST_VARIANCE * max(values.max(), np.finfo(np.float64).tiny)]
    directions = (vectors[:, order] / np.sqrt(values[order])).astype(np.float32)
    components = sample.T @ directions
    result = np.empty((len(table), components.shape[1]), np.float32)
    for block in blocks(table):
        result[block] = (np.asarray(table[block], np.float32) - mean) @ components
    return result
