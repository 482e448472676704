"""The axes of a model, with images along them: ordered attributes, or its main directions."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.results.insight import is_ordered
from app.results.models import Model
from app.results.vectors import read_vectors

N_IMAGES = 21
N_BINS = 60
MOST_DIRECTIONS = 4
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Axis:
    """One axis of the embedding.

    kind:    `attribute` (an ordered one that answers are about) or `direction` (a principal
    component of an embedding whose dimensions have no meaning)
    share:   of the answers about the attribute, or of the variance along the direction
    low, middle, high: the annotators' words
    ends:    coordinates of the first and last image
    counts:  number of images in each of N_BINS equal intervals between them
    images:  evenly spaced by rank, the lowest first, each with its coordinate
    """

    kind: Literal["attribute", "direction"]
    index: int
    share: float
    low: list[str]
    middle: list[str]
    high: list[str]
    ends: tuple[float, float]
    counts: list[int]
    images: list[tuple[Image, float]]


def read_axes(session: Session, campaign: Campaign, model: Model) -> list[Axis]:
    """Return the ordered attributes in use, the largest share first.

    If the strategy finds no attributes, return the main directions instead. If annotators agree on
    nothing that the model can predict, return nothing: every axis would be noise.
    """
    vectors = read_vectors(session, model)
    insight = model.insight or {}
    attributes = insight.get("attributes", [])
    if attributes or insight.get("structure") == "none":
        ordered = [attribute for attribute in attributes if is_ordered(attribute)]
        return [
            _axis(session, campaign, "attribute", attribute, vectors[:, attribute["index"]])
            for attribute in sorted(ordered, key=lambda attribute: -attribute["share"])
        ]
    places, shares = _main_directions(vectors)
    return [
        _axis(session, campaign, "direction", {"index": index, "share": share}, places[:, index])
        for index, share in enumerate(shares)
    ]


def _axis(
    session: Session,
    campaign: Campaign,
    kind: Literal["attribute", "direction"],
    summary: dict[str, Any],
    places: NDArray[np.float64],
) -> Axis:
    order = np.argsort(places, kind="stable")
    n = min(N_IMAGES, len(order))
    chosen = order[np.round(np.linspace(0, len(order) - 1, n)).astype(np.int64)]
    images = images_at(session, campaign, [int(position) for position in chosen])
    counts, _ = np.histogram(places, bins=N_BINS)
    return Axis(
        kind=kind,
        index=summary["index"],
        share=summary["share"],
        low=summary.get("low", []),
        middle=summary.get("middle", []),
        high=summary.get("high", []),
        ends=(float(places.min()), float(places.max())),
        counts=counts.tolist(),
        images=list(zip(images, places[chosen].tolist(), strict=True)),
    )


def _main_directions(
    vectors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], list[float]]:
    """Return (N, m) positions on the principal components that matter, and their shares of the
    variance."""
    centred = vectors - vectors.mean(axis=0)
    spread, axes = np.linalg.eigh(centred.T @ centred)
    shares = spread[::-1] / max(float(spread.sum()), 1e-300)
    m = min(MOST_DIRECTIONS, int((shares > LEAST_SHARE).sum()))
    return centred @ axes[:, ::-1][:, :m], [float(share) for share in shares[:m]]
