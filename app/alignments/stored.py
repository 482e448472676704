"""How an alignment is stored: the file that is exported, and one about the collection's images.

`alignment.safetensors` has everything that a place needs, from rows as they were uploaded
(docs/learned_alignment.md); its header describes the arrays as JSON. `images.safetensors` has the
places of the collection's images, among which neighbours are searched.
"""

import hashlib
import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from app.alignments.models import Alignment
from app.core.errors import Conflict
from app.core.storage import get_object, put_object
from app.features.models import FeatureSet
from app.features.shards import prefix_of

if TYPE_CHECKING:
    from learning.feature_alignment import FeatureAlignment
    from learning.linear_reduction import LinearReduction

EXPORT, IMAGES = "alignment.safetensors", "images.safetensors"
HEADER = "likewise"


class DamagedAlignment(Conflict):
    """The files of an alignment are missing from storage, or were changed there."""

    code = "damaged_alignment"


@dataclass(frozen=True, eq=False)
class PlacedImages:
    """Where the images of the collection are, as far as that is known.

    rows: (M,) positions in the collection; hashes: (M, 32) uint8 SHA-256; positions: (M, K) in the
    campaign's space; deviations: (M, K) of them, 0 for images in answers if the campaign's model
    does not tell; asked: (M,) whether answers are about the image; metric: (M, d) places in
    which distances are those of annotators' pairs, NaN without features; to_map: (K + 1, 2) turns
    positions, with a last column of ones, into positions on the map.
    """

    rows: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    positions: NDArray[np.float64]
    deviations: NDArray[np.float32]
    asked: NDArray[np.bool_]
    metric: NDArray[np.float32]
    to_map: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StoredAlignment:
    """An alignment as it is loaded. about: the header of its file."""

    model: "FeatureAlignment"
    reduction: "LinearReduction | None"
    about: dict[str, Any]
    images: PlacedImages

    @property
    def n_features(self) -> int:
        """Numbers of a row as it was uploaded or encoded."""
        about: int = self.about["n_features"]
        return about

    def prepared(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the alignment takes, for rows (M, n_features)."""
        return rows if self.reduction is None else self.reduction.transform(rows)

    def export(self) -> bytes:
        arrays = self.model.to_arrays()
        if self.reduction is not None:
            arrays |= self.reduction.to_arrays()
        header = {HEADER: json.dumps({**self.model.metadata(), **self.about}, ensure_ascii=False)}
        return save(arrays, header)


def prefix_of_alignment(alignment: Alignment, feature_set: FeatureSet) -> str:
    """Return the folder of an attempt's objects, which is removed with the feature set."""
    folder = prefix_of(feature_set.collection_id, feature_set.id)
    return f"{folder}/alignments/{alignment.id}-{alignment.epoch}"


def store(prefix: str, stored: StoredAlignment) -> str:
    """Store both files, and return the SHA-256 of the exported one."""
    data = stored.export()
    put_object(f"{prefix}/{EXPORT}", data)
    put_object(f"{prefix}/{IMAGES}", save(vars(stored.images)))
    return hashlib.sha256(data).hexdigest()


def read_export(alignment: Alignment) -> bytes:
    """Return the exported file. Raises Conflict if there is none yet, DamagedAlignment."""
    if not alignment.key:
        raise Conflict(
            "These features have not been aligned yet. Wait until the alignment is ready.",
            code="not_aligned",
        )
    try:
        data = get_object(f"{alignment.key}/{EXPORT}")
    except FileNotFoundError as error:
        raise _damaged("it is missing") from error
    if hashlib.sha256(data).hexdigest() != alignment.sha256:
        raise _damaged("it was changed")
    return data


def load_alignment(alignment: Alignment) -> StoredAlignment:
    """Read both files. Raises Conflict if there are none yet, DamagedAlignment."""
    data = read_export(alignment)
    try:
        model, reduction, about = from_bytes(data)
        images = _images_of(get_object(f"{alignment.key}/{IMAGES}"), model)
    except FileNotFoundError as error:
        raise _damaged("it is missing") from error
    except ValueError as error:
        raise _damaged(str(error)) from error
    return StoredAlignment(model, reduction, about, images)


def from_bytes(
    data: bytes,
) -> "tuple[FeatureAlignment, LinearReduction | None, dict[str, Any]]":
    """Read an exported file. Raises ValueError for anything else."""
    # These imports are local, because they are slow.
    from learning.feature_alignment import FeatureAlignment
    from learning.linear_reduction import LinearReduction

    try:
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][HEADER])
        arrays = load(data)
        reduction = LinearReduction.from_arrays(arrays)
        model = FeatureAlignment.from_arrays(arrays, about)
    except (SafetensorError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is not a file of an alignment") from error
    width = len(arrays["centre"]) if reduction is None else reduction.n_features
    if about.get("n_features") != width:
        raise ValueError("its arrays do not have the shape that its header says")
    if reduction is not None and reduction.components.shape[1] != len(arrays["centre"]):
        raise ValueError("the arrays of the reduction do not fit to the others")
    return model, reduction, about


def _images_of(data: bytes, model: "FeatureAlignment") -> PlacedImages:
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise ValueError("it is not a file of placed images") from error
    names = [column.name for column in fields(PlacedImages)]
    if sorted(arrays) != sorted(names):
        raise ValueError(
            f"its arrays are {', '.join(sorted(arrays))}, and must be {', '.join(sorted(names))}"
        )
    k, d = len(model.explained_), model.n_metric
    n = len(arrays["rows"]) if arrays["rows"].ndim == 1 else -1
    expected: dict[str, tuple[type, tuple[int, ...]]] = {
        "rows": (np.int64, (n,)),
        "hashes": (np.uint8, (n, 32)),
        "positions": (np.float64, (n, k)),
        "deviations": (np.float32, (n, k)),
        "asked": (np.bool_, (n,)),
        "metric": (np.float32, (n, d)),
        "to_map": (np.float64, (k + 1, 2)),
    }
    for name, (dtype, shape) in expected.items():
        array = arrays[name]
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(
                f"{name!r} is {array.dtype} of shape {array.shape}, and must be "
                f"{np.dtype(dtype)} of shape {shape}"
            )
    images = PlacedImages(**arrays)
    _check_values(images)
    return images


def _check_values(images: PlacedImages) -> None:
    """Raise ValueError for values that learning never writes."""
    if len(images.rows) and (images.rows[0] < 0 or (np.diff(images.rows) <= 0).any()):
        raise ValueError("'rows' must be positions in ascending order")
    for name in ("positions", "deviations", "to_map"):
        if not np.isfinite(getattr(images, name)).all():
            raise ValueError(f"{name!r} contains numbers that are not finite")
    if (images.deviations < 0).any():
        raise ValueError("'deviations' contains numbers below 0")
    # Images without features have no place in the metric.
    missing = np.isnan(images.metric)
    if np.isinf(images.metric).any() or (missing.any(axis=1) != missing.all(axis=1)).any():
        raise ValueError("'metric' contains numbers that are not finite")


def _damaged(reason: str) -> DamagedAlignment:
    return DamagedAlignment(
        f"The file of this alignment cannot be read from storage: {reason}. Align the features "
        "again, or restore the storage from a backup."
    )
