"""Places new images in a campaign's space, and finds their neighbours in the collection."""

import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.alignments.models import Alignment
from app.alignments.service import NamedAlignment
from app.alignments.stored import StoredAlignment, load_alignment
from app.campaigns.models import Campaign
from app.collections.decoding import RejectedImage
from app.collections.images import prepare_image
from app.collections.models import Image
from app.core.errors import Conflict, InvalidInput
from app.core.settings import get_settings
from app.features.models import OF_TABLE, UPLOADED
from app.features.stored_rows import current_source
from app.results.models import Clustering, Model
from app.results.vectors import one_at_a_time
from app.strategies.uncertainty import Uncertainty

if TYPE_CHECKING:
    from learning.neighbors import NearestPoints

Float32 = NDArray[np.float32]
MOST_VECTORS, MOST_IMAGES, MOST_NEIGHBOURS = 1_000, 20, 50
LARGEST = 3e38
# Neighbours whose clusters an image takes, and alignments that are kept in memory.
_VOTERS, _KEPT = 10, 4


@dataclass(frozen=True)
class Near:
    """A neighbour. deviation: of the distance; probability: that a typical annotator would put the
    two together, None without features of the neighbour; asked: whether answers are about it."""

    image: Image
    distance: float
    deviation: float
    probability: float | None
    asked: bool


@dataclass(frozen=True)
class AssignedCluster:
    """The cluster of most of the nearest images that answers are about. share: of them that are in
    it."""

    clustering: Clustering
    number: int
    name: str
    share: float


@dataclass(frozen=True)
class Placed:
    """position, deviation: (K,); map_position: on the map of the campaign; attributes: insight of
    each attribute with its columns."""

    name: str
    position: NDArray[np.float64]
    deviation: NDArray[np.float64]
    map_position: tuple[float, float]
    attributes: list[dict[str, Any]]
    cluster: AssignedCluster | None
    neighbours: list[Near]


class Loaded:
    """An alignment in memory, with an index of the collection's images."""

    def __init__(self, stored: StoredAlignment) -> None:
        self.stored = stored
        self._indices: dict[bool, NearestPoints] = {}
        self._lock = Lock()

    def nearest(
        self, positions: NDArray[np.float64], k: int, *, asked: bool = False
    ) -> NDArray[np.int64]:
        """Return (M, at most k) rows of the placed images, nearest first. asked: only of those that
        answers are about."""
        from learning.neighbors import NearestPoints

        images = self.stored.images
        rows = np.flatnonzero(images.asked) if asked else np.arange(len(images.rows))
        with self._lock:
            if asked not in self._indices:
                points = np.ascontiguousarray(images.positions[rows])
                self._indices[asked] = NearestPoints(points)
            return rows[self._indices[asked].query(min(k, len(rows)), positions)]


_kept: OrderedDict[tuple[str, str], Loaded] = OrderedDict()
_kept_lock = Lock()


def loaded(alignment: Alignment) -> Loaded:
    """Return an alignment that can place images. Raises Conflict if it is not ready or its features
    are not used, DamagedAlignment."""
    if alignment.key and not alignment.used:
        raise Conflict(
            "These features do not predict which images annotators put together, so they cannot "
            "place images. Align other features, or wait for more answers.",
            code="alignment_not_used",
        )
    key = (alignment.key, alignment.sha256)
    with _kept_lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    fresh = Loaded(load_alignment(alignment))
    with _kept_lock:
        _kept[key] = fresh
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return fresh


def checked_vectors(vectors: Sequence[Sequence[float]], name: str, width: int) -> Float32:
    """Return (M, width) rows. Raises InvalidInput that says which vector is wrong."""
    for number, vector in enumerate(vectors):
        if len(vector) != width:
            raise InvalidInput(
                f"Vector {number} has {len(vector):,} numbers, and the features {name!r} have "
                f"{width:,}. Send vectors as you uploaded them.",
                code="wrong_length",
            )
    values = np.array(vectors, np.float64)
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidInput(
            f"Vector {row} has {values[row, column]} in column {column}. Numbers must be finite "
            "and at most 3e38.",
            code="not_finite",
        )
    return values.astype(np.float32)


def check_sizes(files: Sequence[tuple[str, int]]) -> None:
    """Raise RejectedImage with the name of the first file (name, bytes) that is too large or empty,
    before any of them is decoded."""
    most = get_settings().max_image_bytes
    for name, size in files:
        if size > most:
            raise RejectedImage(
                f"{name[:100]!r}: The file is larger than {most // 2**20} MB.", code="too_large"
            )
        if not size:
            raise RejectedImage(f"{name[:100]!r}: The file is empty.")


def vectors_of_images(named: NamedAlignment, files: Sequence[tuple[str, BinaryIO]]) -> Float32:
    """Encode new images as the images of the collection were, (M, F).

    Raises Conflict for features that the server does not compute, RejectedImage with the name of a
    file that is not a readable image, InvalidInput, Busy.
    """
    feature_set = named.feature_set
    if feature_set.kind in (UPLOADED, OF_TABLE):
        raise Conflict(
            f"The server cannot compute the features {feature_set.name!r} of new images, because "
            "they were uploaded. Send their vectors, or use features that the server computes.",
            code="vectors_needed",
        )
    source = current_source(feature_set)
    if source.encode is None:
        raise Conflict(
            f"The features {feature_set.name!r} are computed for all images together, so new "
            "images cannot be placed by them. Use other features.",
            code="vectors_needed",
        )
    with one_at_a_time():
        values = source.encode([_thumbnail(name, file) for name, file in files])
    return np.asarray(values, np.float32)


def _thumbnail(name: str, file: BinaryIO) -> NDArray[np.uint8]:
    """Return what the encoder would read of the image if it were in the collection."""
    try:
        # A byte more than allowed is enough to refuse it.
        data = file.read(get_settings().max_image_bytes + 1)
        encoded = prepare_image(data).encoded["thumb"]
    except RejectedImage as error:
        raise RejectedImage(f"{name[:100]!r}: {error}", code=error.code) from error
    with Pillow.open(io.BytesIO(encoded)) as picture:
        return np.asarray(picture.convert("RGB"))


def place(
    session: Session,
    campaign: Campaign,
    named: NamedAlignment,
    names: Sequence[str],
    rows: Float32,
    k: int,
) -> list[Placed]:
    """Place images with these rows (M, F), and find the k nearest images of each."""
    here = loaded(named.alignment)
    stored = here.stored
    prepared = stored.prepared(rows)
    places = stored.model.places(prepared)
    metric = stored.model.metric_places(prepared)
    nearest = here.nearest(places.positions, k)
    # Clusterings place images that features place, too, but only those in answers tell.
    voters = here.nearest(places.positions, _VOTERS, asked=True)
    images = _images(session, campaign, stored, nearest)
    attributes, clustering = _described(session, campaign, stored)
    maps = np.column_stack([places.positions, np.ones(len(rows))]) @ stored.images.to_map
    return [
        Placed(
            name,
            places.positions[row],
            places.deviations[row],
            (float(maps[row, 0]), float(maps[row, 1])),
            attributes,
            _cluster(clustering, stored, voters[row]),
            _neighbours(stored, images, nearest[row], places, metric, row),
        )
        for row, name in enumerate(names)
    ]


def _images(
    session: Session, campaign: Campaign, stored: StoredAlignment, nearest: NDArray[np.int64]
) -> Mapping[int, Image]:
    """Return the images at these rows that the collection still has, by row."""
    wanted = np.unique(nearest).tolist()
    hashes = {stored.images.hashes[row].tobytes().hex(): row for row in wanted}
    query = select(Image).where(
        Image.collection_id == campaign.collection_id, Image.sha256.in_(list(hashes))
    )
    return {hashes[image.sha256]: image for image in session.scalars(query)}


def _neighbours(
    stored: StoredAlignment,
    images: Mapping[int, Image],
    nearest: NDArray[np.int64],
    places: Any,
    metric: NDArray[np.float64],
    row: int,
) -> list[Near]:
    own = stored.images
    gaps = own.positions[nearest] - places.positions[row]
    distances = np.sqrt((gaps**2).sum(axis=1))
    both = Uncertainty(
        np.vstack([places.deviations[row], own.deviations[nearest]]).astype(np.float32),
        np.append(True, ~own.asked[nearest]),
    )
    points = np.vstack([places.positions[row], own.positions[nearest]])
    deviations = both.of_distances(points, 0, np.arange(1, len(points)))
    here = np.broadcast_to(metric[row], own.metric[nearest].shape)
    known = np.asarray(np.isfinite(own.metric[nearest]).all(axis=1), np.bool_)
    probability = stored.model.probability_of_places(
        here, np.nan_to_num(own.metric[nearest].astype(np.float64))
    )
    return [
        Near(
            images[int(near)],
            float(distances[rank]),
            float(deviations[rank]),
            float(probability[rank]) if known[rank] else None,
            bool(own.asked[near]),
        )
        for rank, near in enumerate(nearest)
        if int(near) in images
    ]


def _described(
    session: Session, campaign: Campaign, stored: StoredAlignment
) -> tuple[list[dict[str, Any]], Clustering | None]:
    """Return the attributes of the model that was aligned, and its newest clustering."""
    model = session.scalar(
        select(Model).where(
            Model.campaign_id == campaign.id, Model.version == stored.about["model_version"]
        )
    )
    if model is None:
        return [], None
    attributes = [
        {**attribute, "columns": attribute.get("columns", [attribute["index"]])}
        for attribute in (model.insight or {}).get("attributes", [])
    ]
    query = select(Clustering).where(Clustering.model_id == model.id)
    newest = query.order_by(Clustering.created_at.desc(), Clustering.id).limit(1)
    return attributes, session.scalar(newest)


def _cluster(
    clustering: Clustering | None, stored: StoredAlignment, nearest: NDArray[np.int64]
) -> AssignedCluster | None:
    if clustering is None:
        return None
    positions = stored.images.rows[nearest]
    labels = np.array(clustering.labels, np.int64)
    votes = [int(labels[p]) for p in positions if p < len(labels) and labels[p] >= 0]
    if not votes:
        return None
    number = int(np.bincount(votes).argmax())
    name = clustering.clusters[number]["name"] if number < len(clustering.clusters) else ""
    return AssignedCluster(clustering, number, name, votes.count(number) / len(votes))


def placed_rows(
    stored: StoredAlignment, parts: Iterator[tuple[NDArray[np.int64], Float32]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield positions in the collection, (B, K) places and deviations of stored rows, a part at a
    time."""
    for here, rows in parts:
        places = stored.model.places(stored.prepared(rows))
        yield here, places.positions, places.deviations
