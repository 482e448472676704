"""Features as learning takes them: one row for each image of a campaign."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.features.shards import Float32, StoredSet
from app.features.sources import FeatureArray, Source

# Wider tables are projected, because learning needs all images in memory. Sparse random projections
# keep distances between images within a few percent (Li, Hastie and Church 2006).
MOST_COLUMNS_READ, PROJECTED_COLUMNS = 4_096, 2_048
# Rows from which the scaling of a wide table is learned, and images that are encoded at once.
SAMPLE_ROWS, ENCODED_AT_ONCE = 1_024, 64

Prepare = Callable[[ArrayLike], Float32]


@dataclass(frozen=True)
class FeatureTable:
    """The features of N images.

    values: (N, F) float32, finite; an image without a row has the mean of the others
    known:  (N,) which images have a row
    names:  of the F columns
    shape:  of one image's features: (F,), or (H, W[, C]) for small pictures
    prepare: turns stored rows of other images (M, F_raw) into (M, F), in the way in which `values`
        were; None if they can only be computed for all images together
    """

    values: Float32
    known: NDArray[np.bool_]
    names: tuple[str, ...]
    shape: tuple[int, ...]
    prepare: Prepare | None = None

    def shaped(self) -> Float32:
        """Return the values as (N, *shape)."""
        return self.values.reshape(len(self.values), *self.shape)


def scaled_table(values: Float32, known: NDArray[np.bool_], columns: Sequence[str]) -> FeatureTable:
    """Scale each column robustly, and give unknown rows the mean. values: (N, F), finite where
    known. Raises ValueError if all columns are constant."""
    # This import and those below are local, because only learning jobs need them and they are slow.
    from learning.features import RobustScaling

    scaling = RobustScaling().fit(values if known.all() else values[known])
    scaled = scaling.transform(values)
    names = tuple(columns[column] for column in scaling.columns_)
    return _filled(scaled, known, names, scaling.transform)


def _filled(
    values: Float32, known: NDArray[np.bool_], names: tuple[str, ...], prepare: Prepare
) -> FeatureTable:
    if not known.all():
        values[~known] = values[known].mean(axis=0)
    return FeatureTable(values, known, names, values.shape[1:], prepare)


def uploaded_table(stored: StoredSet, hashes: list[str], columns: list[str]) -> FeatureTable:
    """Read and scale an uploaded set for the images with these hashes.

    Raises ValueError if none of them has a row, DamagedFeatures.
    """
    places = {sha256: place for place, sha256 in enumerate(hashes)}
    known = _known(stored, places)
    if not known.any():
        raise ValueError(
            f"No image of this campaign has a row in the feature set {stored.name!r}. Choose other "
            "features."
        )
    if stored.n_features > MOST_COLUMNS_READ:
        return _projected_table(stored, places, known)
    values = np.zeros((len(hashes), stored.n_features), np.float32)
    for here, rows in stored.rows(places):
        values[here] = rows
    return scaled_table(values, known, columns)


def _known(stored: StoredSet, places: dict[str, int]) -> NDArray[np.bool_]:
    known = np.zeros(len(places), np.bool_)
    for shard in stored.shards:
        known[[places[sha256] for sha256 in shard.images if sha256 in places]] = True
    return known


def _projected_table(
    stored: StoredSet, places: dict[str, int], known: NDArray[np.bool_]
) -> FeatureTable:
    """Scale and project a table that is too wide to be in memory, a part at a time."""
    from sklearn.random_projection import SparseRandomProjection

    from learning.features import RobustScaling

    scaling = RobustScaling().fit(_sample(stored, places, int(known.sum())))
    projection = SparseRandomProjection(PROJECTED_COLUMNS, dense_output=True, random_state=0)
    projection.fit(np.zeros((1, len(scaling.columns_)), np.float32))

    def prepare(rows: ArrayLike) -> Float32:
        return np.asarray(projection.transform(scaling.transform(rows)), np.float32)

    values = np.zeros((len(places), PROJECTED_COLUMNS), np.float32)
    for here, rows in stored.rows(places):
        values[here] = prepare(rows)
    names = tuple(f"projection_{number}" for number in range(PROJECTED_COLUMNS))
    return _filled(values, known, names, prepare)


def _sample(stored: StoredSet, places: dict[str, int], n_known: int) -> Float32:
    """Return up to SAMPLE_ROWS rows, evenly from all parts."""
    step = max(1, -(-n_known // SAMPLE_ROWS))
    parts, seen = [], 0
    for _, rows in stored.rows(places):
        parts.append(rows[(-seen) % step :: step])
        seen += len(rows)
    return np.concatenate(parts)


def encoded_table(
    stored: StoredSet,
    hashes: list[str],
    source: Source,
    encode: Callable[[Sequence[str]], FeatureArray],
) -> FeatureTable:
    """Read a computed set for the images with these hashes, and reduce it.

    encode: for images that were not encoded yet. Raises DamagedFeatures.
    """
    places = {sha256: place for place, sha256 in enumerate(hashes)}
    raw = np.zeros((len(hashes), stored.n_features), np.float32)
    for here, rows in stored.rows(places):
        raw[here] = rows
    missing = np.flatnonzero(~_known(stored, places))
    for start in range(0, len(missing), ENCODED_AT_ONCE):
        some = missing[start : start + ENCODED_AT_ONCE]
        raw[some] = encode([hashes[place] for place in some])
    values, prepare = _reduced(raw, source)
    names = tuple(f"{source.name}_{number}" for number in range(values.shape[1]))
    known = np.ones(len(hashes), np.bool_)
    return FeatureTable(values, known, names, source.shape or values.shape[1:], prepare)


def _reduced(raw: Float32, source: Source) -> tuple[Float32, Prepare]:
    if source.reduction is None:
        return raw, _as_they_are
    reduction: Any = source.reduction()
    values = np.asarray(reduction.fit_transform(raw), np.float32)
    return values, lambda rows: np.asarray(reduction.transform(rows), np.float32)


def _as_they_are(rows: ArrayLike) -> Float32:
    return np.asarray(rows, np.float32)
