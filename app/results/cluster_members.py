"""All images of one cluster, in the order in which they are looked at."""

import numpy as np

from app.core.errors import InvalidInput
from app.results.models import Clustering


def members_of(clustering: Clustering, index: int, order: str) -> list[int]:
    """Return the positions of a cluster's images. order: "typical" (the largest silhouette first),
    "doubtful" (the smallest first) or "position". Raises InvalidInput."""
    if not 0 <= index < len(clustering.clusters):
        raise InvalidInput(
            f"Clusters are numbered 0 to {len(clustering.clusters) - 1}; there is no cluster "
            f"{index}.",
            code="unknown_cluster",
        )
    positions = np.flatnonzero(np.array(clustering.labels) == index)
    if order != "position":
        sign = -1 if order == "typical" else 1
        own = sign * np.array(clustering.silhouettes)[positions]
        positions = positions[np.argsort(own, kind="stable")]
    return [int(position) for position in positions]
