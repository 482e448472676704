"""How vectors are stored: objects in safetensors format, each with the rows of some images.

`values` (B, F) float32 and `images` (B, 32) uint8, the SHA-256 of each row's image. A row of
`feature_shard` names the object, its hash and its images, and is committed after the object is
stored: an object that nothing names is never read.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.errors import Conflict
from app.core.storage import get_object, put_object
from app.features.models import FeatureSet, FeatureShard

Float32 = NDArray[np.float32]
# The limits of a shard: what is lost when a worker is killed, and what is in memory at once.
MOST_ROWS, MOST_BYTES = 512, 32 * 2**20


class DamagedFeatures(Conflict):
    """A part of a feature set is missing from storage, or was changed there."""

    code = "damaged_features"


def rows_per_shard(n_features: int) -> int:
    return max(1, min(MOST_ROWS, MOST_BYTES // (4 * n_features)))


def prefix_of(collection_id: UUID, set_id: UUID) -> str:
    """Return the folder of a set's objects, which is in the folder of the collection's features."""
    return f"features/{collection_id}/sets/{set_id}"


def store_shard(
    feature_set: FeatureSet, number: int, hashes: Sequence[str], values: Float32
) -> FeatureShard:
    """Store rows, and return the row that names the object.

    Its folder is that of the epoch, so that a worker that lost its lease overwrites nothing.
    """
    folder = prefix_of(feature_set.collection_id, feature_set.id)
    key = f"{folder}/{feature_set.epoch}/{number:06d}.safetensors"
    data = as_bytes(hashes, values)
    put_object(key, data)
    return FeatureShard(
        set_id=feature_set.id,
        number=number,
        key=key,
        sha256=hashlib.sha256(data).hexdigest(),
        images=list(hashes),
    )


def as_bytes(hashes: Sequence[str], values: Float32) -> bytes:
    images = np.frombuffer(bytes.fromhex("".join(hashes)), np.uint8).reshape(-1, 32)
    return save({"values": np.ascontiguousarray(values, np.float32), "images": images})


def from_bytes(data: bytes) -> tuple[list[str], Float32]:
    """Return hashes and (B, F) values; raises ValueError for anything else."""
    try:
        arrays = load(data)
        images, values = arrays["images"], arrays["values"]
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError("it is not a file of features") from error
    is_whole = images.dtype == np.uint8 and images.shape == (len(values), 32)
    if not is_whole or values.dtype != np.float32 or values.ndim != 2 or not values.size:
        raise ValueError("its arrays have the wrong shape")
    if not np.isfinite(values).all():
        raise ValueError("it contains values that are not finite")
    return [row.tobytes().hex() for row in images], values


@dataclass(frozen=True)
class StoredSet:
    """The stored rows of a feature set, which can be read without the database."""

    name: str
    n_features: int
    shards: list[FeatureShard] = field(repr=False)

    @classmethod
    def of(cls, session: Session, feature_set: FeatureSet) -> "StoredSet":
        query = select(FeatureShard).where(FeatureShard.set_id == feature_set.id)
        shards = list(session.scalars(query.order_by(FeatureShard.number)))
        return cls(feature_set.name, feature_set.n_features or 0, shards)

    def rows(self, places: dict[str, int]) -> Iterator[tuple[NDArray[np.int64], Float32]]:
        """Yield places and values of the images in `places` (by hash), a shard at a time.

        Raises DamagedFeatures.
        """
        for shard in self.shards:
            wanted = [row for row, sha256 in enumerate(shard.images) if sha256 in places]
            if wanted:
                values = self.values(shard)
                here = np.array([places[shard.images[row]] for row in wanted], np.int64)
                yield here, values[wanted]

    def values(self, shard: FeatureShard) -> Float32:
        """Return the (B, F) values of a shard. Raises DamagedFeatures."""
        try:
            data = get_object(shard.key)
            if hashlib.sha256(data).hexdigest() != shard.sha256:
                raise ValueError("it was changed")
            hashes, values = from_bytes(data)
            if hashes != shard.images or values.shape[1] != self.n_features:
                raise ValueError("it belongs to other images")
        except FileNotFoundError as error:
            raise self._damaged("it is missing") from error
        except ValueError as error:
            raise self._damaged(str(error)) from error
        return values

    def _damaged(self, reason: str) -> DamagedFeatures:
        return DamagedFeatures(
            f"A part of the feature set {self.name!r} cannot be read from storage: {reason}. "
            "Delete the set and upload or compute it again, or restore the storage from a backup."
        )
