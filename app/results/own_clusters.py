"""The clusters that a model itself learned: stored as a clustering, and per image."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.bundles import images_at
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import InvalidInput
from app.results.carried import OWN, Described, carry_names
from app.results.clusterings import described_clusters
from app.results.model_parts import read_arrays, required_insight, tells
from app.results.models import Clustering, Model
from app.strategies.memberships import FILE, Memberships
from learning.words import cluster_words


@dataclass(frozen=True)
class OwnClusters:
    """What is stored of a model's own clustering, like of any other. kept: share of the images that
    stay in their cluster of the previous model, None if there is none."""

    labels: list[int]
    silhouettes: list[float]
    clusters: list[dict[str, Any]]
    kept: float | None = None


def own_clusters(
    memberships: Memberships, vectors: NDArray[np.float64], described: Described, seed: int
) -> OwnClusters:
    """Return the model's clusters with statistics and descriptions. Names of the previous model's
    clusters go to those that contain most of the same images. This needs no session, because it
    takes seconds."""
    words = cluster_words(memberships.cluster, *described.answers)
    clusters, silhouettes = described_clusters(vectors, memberships.cluster, words, seed)
    kept = None
    if described.own is not None:
        same = carry_names(clusters, memberships.cluster, described.own)
        n = min(len(described.own.labels), len(memberships))
        now, earlier = memberships.cluster[:n], np.array(described.own.labels[:n], np.int64)
        before = np.array([same.get(cluster, -1) for cluster in range(memberships.n_clusters)])
        kept = float((before[now] == earlier).mean())
    return OwnClusters(memberships.cluster.tolist(), silhouettes, clusters, kept)


def store_own_clusters(session: Session, model: Model, own: OwnClusters) -> Clustering:
    clustering = Clustering(
        model_id=model.id,
        name=f"The model's own, {len(own.clusters)} clusters",
        algorithm=OWN,
        parameters={"n_clusters": len(own.clusters)},
        labels=own.labels,
        silhouettes=own.silhouettes,
        clusters=own.clusters,
    )
    session.add(clustering)
    session.flush()
    return clustering


def own_clustering(session: Session, model: Model) -> Clustering | None:
    """Return the stored clustering, unless the requester has deleted it."""
    query = select(Clustering).where(
        Clustering.model_id == model.id,
        Clustering.algorithm == OWN,
        Clustering.merged_from.is_(None),
    )
    return session.scalar(query)


def stored_clusters(session: Session, model: Model) -> list[dict[str, Any]]:
    """Return names and descriptions of the model's own clusters, by number; none if they were
    deleted."""
    clustering = own_clustering(session, model)
    return [] if clustering is None else clustering.clusters


def cluster_insight(model: Model) -> dict[str, Any]:
    """Return what a model says about its own clusters; raises NotFound if it has none."""
    return required_insight(model, "clusters", "clusters of its own")


def tells_clusters(model: Model) -> bool:
    return tells(model, "clusters")


def read_memberships(campaign: Campaign, model: Model) -> Memberships:
    """Read the memberships; raises NotFound if the model has none, or its file is missing or does
    not match the images."""
    cluster_insight(model)
    return read_arrays(Memberships, FILE, campaign, model, "clusters")


@dataclass(frozen=True)
class Member:
    """An image with its cluster, the second one (None if there is only one), and their
    probabilities. asked: whether it is in an answer that the model learned from."""

    image: Image
    cluster: int
    probability: float
    second_cluster: int | None
    second_probability: float
    asked: bool


def chosen_positions(
    memberships: Memberships, order: str, cluster: int | None, asked: bool | None
) -> NDArray[np.int64]:
    """Return positions in the requested order ("position" or "uncertain"), filtered by cluster and
    by occurring in answers. Raises InvalidInput for a cluster that does not exist."""
    if cluster is not None and not 0 <= cluster < memberships.n_clusters:
        raise InvalidInput(
            f"Clusters are numbered 0 to {memberships.n_clusters - 1}; "
            f"there is no cluster {cluster}.",
            code="unknown_cluster",
        )
    positions = (
        memberships.uncertain_first() if order == "uncertain" else np.arange(len(memberships))
    )
    if cluster is not None:
        positions = positions[memberships.cluster[positions] == cluster]
    if asked is not None:
        positions = positions[memberships.asked[positions] == asked]
    return positions


def members_at(
    session: Session, campaign: Campaign, memberships: Memberships, positions: Sequence[int]
) -> list[Member]:
    images = images_at(session, campaign, positions)
    return [member_of(memberships, image) for image in images]


def member_of(memberships: Memberships, image: Image) -> Member:
    place = image.position
    second = int(memberships.second[place])
    return Member(
        image=image,
        cluster=int(memberships.cluster[place]),
        probability=round(float(memberships.probability[place]), 6),
        second_cluster=second if second >= 0 else None,
        second_probability=round(float(memberships.second_probability[place]), 6),
        asked=bool(memberships.asked[place]),
    )


def examples_of(
    session: Session, campaign: Campaign, insight: Mapping[str, Any]
) -> dict[int, Image]:
    """Return the images that are certain and uncertain examples of the clusters, by position."""
    wanted = {
        position
        for cluster in insight["clusters"]
        for side in ("certain", "uncertain")
        for position in cluster[side]
    }
    return {image.position: image for image in images_at(session, campaign, sorted(wanted))}
