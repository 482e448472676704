"""A worker's part of a computed feature set: it encodes images in batches and stores them in parts.

Each part is committed when its object is stored, so the next worker continues after it.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, delete, exists, func, select
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from app.collections.garbage import discard_below
from app.collections.models import Collection, Image
from app.core import leased
from app.core.database import locked, transaction
from app.core.errors import InvalidInput, LikewiseError, LostLease, NoRoom
from app.core.settings import get_settings
from app.core.storage import delete_objects
from app.features.models import FeatureSet, FeatureShard
from app.features.reading import pixels_of
from app.features.sets import count_known, dispatch
from app.features.shards import rows_per_shard, store_shard
from app.features.sources import FeatureArray, Source, get_source
from app.features.vector_files import MOST_COLUMNS

logger = logging.getLogger(__name__)
# Images that are decoded and encoded at once.
BATCH = 32
NO_ROOM_YET = (
    "The server's disk is full. Encoding continues on its own once the administrator has freed "
    "some space."
)


class _Stopped(Exception):  # ends the work early, is no error
    """The worker is stopped."""


def run_feature_set(set_id: UUID, stopping: Callable[[], bool]) -> None:
    """Claim a set and encode images until all have features, or the worker is stopped."""
    with transaction() as session:
        began = func.coalesce(FeatureSet.started_at, func.now())
        claimed = leased.claim(session, FeatureSet, set_id, started_at=began)
    if claimed is None:
        logger.info("feature set %s is not available, nothing to do", set_id)
        return
    epoch = claimed.epoch
    try:
        _encode_all(_Work(claimed, get_source(claimed.kind), stopping))
        _end(set_id, epoch)
    except _Stopped:
        with transaction() as session:
            feature_set = held_set(session, set_id, epoch)
            leased.give_back(feature_set)
            dispatch(session, feature_set)
    except (LostLease, NoResultFound) as error:
        # It was taken over or deleted, so nothing more is written.
        logger.info("feature set %s: %s", set_id, error)
    except NoRoom as error:
        # Do not wait here, because this worker also removes what is deleted to make room.
        logger.warning("feature set %s is postponed: %s", set_id, error)
        with transaction() as session:
            feature_set = held_set(session, set_id, epoch)
            leased.give_back(feature_set)
            feature_set.error = NO_ROOM_YET
    except (LikewiseError, ValueError) as error:
        # Trying again would not help.
        _end(set_id, epoch, str(error))
    except Exception as error:
        logger.exception("feature set %s failed", set_id)
        with transaction() as session:
            feature_set = held_set(session, set_id, epoch)
            _queue_again(session, feature_set, f"{type(error).__name__}: {error}")


def held_set(session: Session, set_id: UUID, epoch: int) -> FeatureSet:
    """Return the running set under its row lock, with its lease renewed; raises LostLease if
    another worker has taken it over, or it was deleted."""
    feature_set = leased.require_held(session, FeatureSet, set_id, epoch, lock=True)
    feature_set.lease_until = leased.lease_end()
    return feature_set


def _end(set_id: UUID, epoch: int, error: str | None = None) -> None:
    """Record that the set is done, or has failed for good, or queue it again if images were added
    in the last moment. Raises LostLease."""
    with transaction() as session:
        held = leased.require_held(session, FeatureSet, set_id, epoch)
        # Nobody adds or deletes images from here on.
        collection = locked(session, Collection, held.collection_id)
        feature_set = held_set(session, set_id, epoch)
        if error is None and session.scalar(_without_row(feature_set).limit(1)) is not None:
            leased.give_back(feature_set)
            dispatch(session, feature_set)
            return
        leased.end(feature_set, "failed" if error else "done")
        feature_set.error = error[-2000:] if error else None
        session.flush()
        count_known(session, collection)


def _without_row(feature_set: "FeatureSet | _Work") -> Select[str]:
    """Select the images without a row, in order."""
    shards = select(func.unnest(FeatureShard.images).label("sha256"))
    stored = shards.where(FeatureShard.set_id == feature_set.id).subquery()
    # NOT EXISTS is an anti-join. NOT IN must allow for nulls, and compares each image with all
    # stored ones once these do not fit into work_mem.
    return (
        select(Image.sha256)
        .where(
            Image.collection_id == feature_set.collection_id,
            ~exists().where(stored.c.sha256 == Image.sha256),
        )
        .order_by(Image.position)
    )


class _Work:
    """A claimed set, its source, and how to report progress."""

    def __init__(self, claimed: FeatureSet, source: Source, stopping: Callable[[], bool]) -> None:
        self._claimed = claimed
        self.id, self.epoch = claimed.id, claimed.epoch
        self.collection_id, self.version = claimed.collection_id, claimed.version
        self.source = source
        self._stopping = stopping
        self._renewed = time.monotonic()

    def keep_on(self, n_done: int, *, store: bool = False) -> None:
        """Renew the lease and store progress, if it is time for it. Raises _Stopped, LostLease."""
        if self._stopping():
            raise _Stopped
        if store or time.monotonic() - self._renewed >= get_settings().job_lease_seconds / 4:
            with transaction() as session:
                held_set(session, self.id, self.epoch).n_done = n_done
            self._renewed = time.monotonic()

    def hashes(self, limit: int | None = None) -> list[str]:
        """Return images without a row, in order."""
        with transaction() as session:
            return list(session.scalars(_without_row(self).limit(limit)))

    def store(self, hashes: Sequence[str], values: NDArray[np.float32]) -> int:
        """Store a part, and return how many images have a row. Raises LostLease."""
        with transaction() as session:
            _check_width(held_set(session, self.id, self.epoch), values.shape[1])
            query = select(func.max(FeatureShard.number)).where(FeatureShard.set_id == self.id)
            number = session.scalar(query)
        # Slow storage must not keep the row locked, because uploads of images wait for it.
        shard = store_shard(self._claimed, 0 if number is None else number + 1, hashes, values)
        try:
            return self._add(shard)
        except LostLease:
            # No row will name it, and no other worker uses the same key.
            delete_objects([shard.key])
            raise

    def _add(self, shard: FeatureShard) -> int:
        with transaction() as session:
            feature_set = held_set(session, self.id, self.epoch)
            session.add(shard)
            feature_set.n_known += len(shard.images)
            feature_set.n_done = feature_set.n_known
            # The next claim begins after this part, so earlier attempts say nothing about it.
            feature_set.attempts = 1
            return feature_set.n_known

    def begin_again(self) -> None:
        """Forget the parts of another version of the source. Raises LostLease."""
        with transaction() as session:
            feature_set = held_set(session, self.id, self.epoch)
            forgotten = delete(FeatureShard).where(FeatureShard.set_id == self.id)
            keys = session.scalars(forgotten.returning(FeatureShard.key))
            folders = sorted({key.rpartition("/")[0] for key in keys})
            if folders:
                discard_below(session, *folders)
            feature_set.version = self.source.version_hash
            feature_set.n_features, feature_set.n_known, feature_set.n_done = None, 0, 0


def _check_width(feature_set: FeatureSet, width: int) -> None:
    if not 1 <= width <= MOST_COLUMNS:
        raise InvalidInput(f"The source returned {width} numbers per image.")
    if feature_set.n_features is not None and feature_set.n_features != width:
        raise InvalidInput(
            f"The source returned {width} numbers per image, and {feature_set.n_features} before. "
            "Delete the set and compute it again."
        )
    feature_set.n_features = width


def _encode_all(work: _Work) -> None:
    if work.version != work.source.version_hash:
        work.begin_again()
    if work.source.encode is None:
        _compute_together(work)
        return
    with transaction() as session:
        n_done = held_set(session, work.id, work.epoch).n_known
    at_once = rows_per_shard(1)
    while hashes := work.hashes(at_once):
        parts: list[FeatureArray] = []
        for start in range(0, len(hashes), BATCH):
            work.keep_on(n_done + start, store=True)
            parts.append(_encoded(work, hashes[start : start + BATCH]))
        values = np.concatenate(parts).astype(np.float32)
        for start in range(0, len(hashes), rows := rows_per_shard(values.shape[1])):
            n_done = work.store(hashes[start : start + rows], values[start : start + rows])


def _encoded(work: _Work, hashes: list[str]) -> FeatureArray:
    assert work.source.encode is not None
    values = work.source.encode(list(_pixels(work, hashes)))
    if values.ndim != 2 or len(values) != len(hashes) or not np.isfinite(values).all():
        raise InvalidInput(
            f"The source {work.source.name} returned no finite (N, F) numbers for {len(hashes)} "
            "images."
        )
    return values


def _compute_together(work: _Work) -> None:
    """Compute all images at once and replace what was stored, if any image has no row."""
    if not work.hashes(1):
        return
    work.begin_again()
    hashes = work.hashes()
    assert work.source.compute is not None
    values = work.source.compute(_reported(work, hashes)).reshape(len(hashes), -1)
    rows = rows_per_shard(values.shape[1])
    for start in range(0, len(hashes), rows):
        part = values[start : start + rows].astype(np.float32)
        work.store(hashes[start : start + rows], part)


def _reported(work: _Work, hashes: list[str]) -> Iterator[NDArray[np.uint8]]:
    for number, image in enumerate(_pixels(work, hashes)):
        work.keep_on(number, store=number % BATCH == 0)
        yield image


def _pixels(work: _Work, hashes: list[str]) -> Iterator[NDArray[np.uint8]]:
    for sha256 in hashes:
        try:
            yield from pixels_of(work.collection_id, [sha256])
        except FileNotFoundError as error:
            raise _missing(work, sha256) from error


def _missing(work: _Work, sha256: str) -> Exception:
    """Return the error for an image whose file is missing: it may have been deleted since."""
    query = select(Image.filename).where(
        Image.collection_id == work.collection_id, Image.sha256 == sha256
    )
    with transaction() as session:
        filename = session.scalar(query)
    if filename is None:
        return _Stopped()
    return InvalidInput(
        f"The file of image {filename!r} is missing from storage. Upload the image again or delete "
        "it, then compute the features again."
    )


def requeue_lost_sets(session: Session) -> int:
    """Queue sets again that have lost their worker or message, and return how many."""
    return leased.requeue_lost(session, FeatureSet, _lose_worker, dispatch)


def _lose_worker(session: Session, feature_set: FeatureSet) -> None:
    _queue_again(
        session,
        feature_set,
        f"The worker stopped {feature_set.attempts} times at the same images.",
    )


def _queue_again(session: Session, feature_set: FeatureSet, error: str) -> None:
    if not leased.queue_again(session, feature_set, dispatch):
        feature_set.error = error[-2000:]
