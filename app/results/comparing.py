"""Compares two models of the same images, of one campaign or of two."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import InvalidInput
from app.results.models import Model
from app.results.vectors import one_at_a_time, read_vectors
from learning.comparison import Alignment, Comparison, compare

LEAST_IMAGES = 5
MOST_POINTS = 2_000
MOST_MOVED = 12
MatchedBy = Literal["position", "content", "content and file name"]


@dataclass(frozen=True)
class ComparedImage:
    """Positions on a common map, in [-1, 1]: in this model and, after alignment, in the other."""

    image: Image
    place: tuple[float, float]
    other_place: tuple[float, float]
    moved: float


@dataclass(frozen=True)
class ComparedModels:
    """A comparison. images: at most MOST_POINTS of n_images, those that moved most first."""

    n_images: int
    matched_by: MatchedBy
    comparison: Comparison
    images: list[ComparedImage]


def compare_models(
    session: Session, campaign: Campaign, model: Model, other: Campaign, other_model: Model, k: int
) -> ComparedModels:
    """Compare two models; raises InvalidInput if they have too few images in common, Busy."""
    with one_at_a_time():
        images, rows, other_rows, matched_by = _matched(session, campaign, other)
        vectors, others = read_vectors(session, model), read_vectors(session, other_model)
        known = (rows < len(vectors)) & (other_rows < len(others))
        images = [image for image, both in zip(images, known, strict=True) if both]
        if len(images) < LEAST_IMAGES:
            raise InvalidInput(
                f"Only {len(images)} images are in both models, but at least {LEAST_IMAGES} "
                "are needed. Images of different collections are matched by content, then "
                "by file name.",
                code="too_few_in_common",
            )
        try:
            comparison = compare(
                vectors[rows[known]], others[other_rows[known]], min(k, len(images) - 2)
            )
        except ValueError as error:
            raise InvalidInput(
                f"These models cannot be compared: {error}.", code="no_comparison"
            ) from None
        return ComparedModels(
            len(images), matched_by, comparison, placed_images(images, comparison.alignment)
        )


def placed_images(
    images: list[Image], alignment: Alignment, seen: NDArray[np.float64] | None = None
) -> list[ComparedImage]:
    """Return the images on a common map, those that moved most first. seen: (M, d) points whose
    main axes the map shows, by default those of the reference."""
    main = alignment.reference if seen is None else seen
    axes = np.linalg.svd(main, full_matrices=False)[2][:2]
    maps = [_flat(points @ axes.T) for points in (alignment.reference, alignment.aligned)]
    scale = max(float(np.abs(flat).max()) for flat in maps)
    order = np.argsort(-alignment.moved, kind="stable")
    if len(order) > MOST_POINTS:
        # Those that moved most, and a random sample of the others.
        rest = np.random.default_rng(0).permutation(order[MOST_MOVED:])
        order = np.concatenate([order[:MOST_MOVED], rest[: MOST_POINTS - MOST_MOVED]])
    return [
        ComparedImage(
            image=images[row],
            place=_pair(maps[0][row] / scale),
            other_place=_pair(maps[1][row] / scale),
            moved=float(alignment.moved[row]),
        )
        for row in order
    ]


def _flat(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _pair(place: NDArray[np.float64]) -> tuple[float, float]:
    return round(float(place[0]), 5), round(float(place[1]), 5)


def _matched(
    session: Session, campaign: Campaign, other: Campaign
) -> tuple[list[Image], NDArray[np.int64], NDArray[np.int64], MatchedBy]:
    """Return the images in common, and their positions in both collections."""
    mine = _images(session, campaign)
    if campaign.collection_id == other.collection_id:
        positions = np.arange(len(mine))
        return mine, positions, positions, "position"
    theirs = _images(session, other)
    by_content = {image.sha256: image.position for image in theirs}
    pairs = {
        image.position: by_content[image.sha256] for image in mine if image.sha256 in by_content
    }
    n_by_content = len(pairs)
    taken, names = set(pairs.values()), _single_names(mine) & _single_names(theirs)
    by_name = {image.filename: image.position for image in theirs if image.filename in names}
    for image in mine:
        match = by_name.get(image.filename)
        if image.position not in pairs and match is not None and match not in taken:
            pairs[image.position] = match
    positions = np.array(sorted(pairs), np.int64)
    matches = np.array([pairs[int(position)] for position in positions], np.int64)
    how: MatchedBy = "content" if len(pairs) == n_by_content else "content and file name"
    return [mine[position] for position in positions], positions, matches, how


def _images(session: Session, campaign: Campaign) -> list[Image]:
    """Return the images of a campaign's collection, by position."""
    query = (
        select(Image)
        .options(defer(Image.attributes), defer(Image.features))
        .where(Image.collection_id == campaign.collection_id)
        .order_by(Image.position)
    )
    return list(session.scalars(query))


def _single_names(images: list[Image]) -> set[str]:
    """Return the file names that only one image has."""
    counts = Counter(image.filename for image in images)
    return {name for name, count in counts.items() if count == 1}
