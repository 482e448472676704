"""Clusters that a requester draws on the map: some images become a cluster of their own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.results.clusterings import add_clustering, described, require_room, unused_name
from app.results.models import Clustering, Model
from app.results.vectors import one_at_a_time, read_vectors

SELECTION = "selection"
REST = "the rest"


def separate_images(
    session: Session,
    account: Account,
    campaign: Campaign,
    model: Model,
    images: Sequence[int],
    name: str,
    base: Clustering | None,
) -> Clustering:
    """Create a clustering in which some images are a cluster of their own, and all others are in
    the clusters of `base`, or in one cluster without it.

    images: positions; name: of their cluster. Clusters that lose all their images are left out.
    Raises InvalidInput, Conflict if there are too many clusterings already, Busy.
    """
    require_room(session, model)
    with one_at_a_time():
        vectors = read_vectors(session, model)
        before = _labels_before(base, len(vectors))
        labels, parts = _separated(before, images)
        clusters, silhouettes = described(session, campaign, vectors, labels)
    names = [REST] if base is None else [cluster["name"] for cluster in base.clusters]
    for cluster, part in zip(clusters, parts, strict=True):
        cluster["name"] = name.strip() if part is None else names[part]
    title = "Selection" if base is None else f"{base.name[:150]}, with a selection"
    clustering = Clustering(
        model_id=model.id,
        name=unused_name(session, model, title),
        algorithm=SELECTION,
        parameters={"n_clusters": len(clusters)},
        labels=labels.tolist(),
        silhouettes=silhouettes,
        clusters=clusters,
    )
    return add_clustering(session, account, campaign, clustering, "clustering.selected")


def _labels_before(base: Clustering | None, n: int) -> NDArray[np.int64]:
    return np.zeros(n, np.int64) if base is None else np.array(base.labels, np.int64)


def _separated(
    before: NDArray[np.int64], images: Sequence[int]
) -> tuple[NDArray[np.int64], list[int | None]]:
    """Return the new labels, and for each new cluster the one that it was, None for the images."""
    unknown = [image for image in images if not 0 <= image < len(before)]
    if unknown:
        raise InvalidInput(
            f"There is no image {unknown[0]}. Images of this model are numbered 0 to "
            f"{len(before) - 1}.",
            code="unknown_image",
        )
    chosen = np.zeros(len(before), bool)
    chosen[list(images)] = True
    if not chosen.any() or chosen.all():
        raise InvalidInput(
            "Select some of the images, but not all of them.", code="nothing_to_separate"
        )
    with_own = np.where(chosen, before.max() + 1, before)
    kept, labels = np.unique(with_own, return_inverse=True)
    parts: list[int | None] = [int(label) for label in kept[:-1]]
    return labels.astype(np.int64), [*parts, None]
