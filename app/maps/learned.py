"""The attributes that a model learned, as columns and axes of its map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.errors import NotFound
from app.maps.columns import Column, column_of_numbers
from app.results.insight import is_ordered
from app.results.models import Model
from app.results.vectors import one_at_a_time, read_vectors

HIGHEST = 100


def learned_attributes(model: Model) -> list[dict[str, Any]]:
    """Return the model's attributes, the largest share of the answers first; none for a strategy
    that learns no attributes."""
    attributes: list[dict[str, Any]] = (model.insight or {}).get("attributes", [])
    return sorted(attributes, key=lambda attribute: -attribute["share"])


def ordered_attribute(model: Model, index: int) -> dict[str, Any]:
    """Return an attribute whose images form one line. Raises NotFound."""
    attribute = _attribute(model, index)
    if not is_ordered(attribute):
        raise NotFound(f"Attribute {index} of model {model.version} has clusters, not an order.")
    return attribute


def learned_column(session: Session, campaign: Campaign, model: Model, index: int) -> Column:
    """Return each image's place on an ordered attribute, from 0 to HIGHEST, or its cluster in
    another one. Raises NotFound, Busy."""
    attribute = _attribute(model, index)
    with one_at_a_time():
        vectors = np.nan_to_num(read_vectors(session, model))
        if is_ordered(attribute):
            return column_of_numbers(_in_percent(vectors[:, index]))
        labels = _clusters(vectors[:, attribute["columns"]], attribute["clusters"])
    names = [
        cluster["words"][0] if cluster["words"] else f"cluster {number + 1}"
        for number, cluster in enumerate(attribute["clusters"])
    ]
    return Column(_distinct(names), labels.tolist())


def _attribute(model: Model, index: int) -> dict[str, Any]:
    for attribute in learned_attributes(model):
        if attribute["index"] == index:
            return attribute
    raise NotFound(f"Model {model.version} has no attribute {index}.")


def _in_percent(places: NDArray[np.float64]) -> NDArray[np.float64]:
    low = places.min()
    return np.asarray(np.round(HIGHEST * (places - low) / max(places.max() - low, 1e-12)))


def _clusters(places: NDArray[np.float64], clusters: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Return the number of each image's cluster. The model stores typical images of its clusters
    only, so k-means starts from these."""
    # Imported here, so that servers start a second faster.
    from learning.image_clusters import clusters_around

    starts = np.array([places[cluster["images"]].mean(axis=0) for cluster in clusters])
    return clusters_around(places, starts)


def _distinct(names: list[str]) -> list[str]:
    """Number names that occur more than once."""
    return [
        f"{name} ({names[: number + 1].count(name)})" if names.count(name) > 1 else name
        for number, name in enumerate(names)
    ]
