"""Carries clusters that a requester has named over to the next model.

A clustering belongs to one model, because its clusters are those of the model's positions. When the
next model is learned, the same algorithm clusters its images again, and each new cluster that
corresponds clearly to a named one gets its name. Clusters of selected images keep their images.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.results.clusterings import described_answers, described_clusters, list_clusterings
from app.results.models import Clustering, Model
from app.results.selected_clusters import SELECTION
from learning.clusters import largest_first, matched
from learning.words import cluster_words

logger = logging.getLogger(__name__)

OWN = "model"
# Each costs a clustering of all images at the end of a training.
MOST_CARRIED = 5
CARRIED_FROM = "carried_from"


@dataclass(frozen=True)
class NamedClustering:
    """A clustering of the model `version`, with the names of its clusters ("" for none)."""

    version: int
    name: str
    algorithm: str
    parameters: dict[str, Any]
    labels: list[int]
    names: list[str]

    @property
    def is_merged(self) -> bool:
        return len(self.names) < int(self.parameters["n_clusters"])

    @classmethod
    def of(cls, clustering: Clustering, version: int) -> "NamedClustering":
        return cls(
            version=version,
            name=clustering.name,
            algorithm=clustering.algorithm,
            parameters=clustering.parameters,
            labels=clustering.labels,
            names=[cluster["name"] for cluster in clustering.clusters],
        )


@dataclass(frozen=True)
class Described:
    """What the database contributes to new clusters.

    answers: those with descriptions; own: the newest clustering that a model itself learned;
    named: the newest model's other clusterings in which a cluster has a name.
    """

    answers: tuple[list[list[int]], list[list[int]], list[list[str]]]
    own: NamedClustering | None = None
    named: Sequence[NamedClustering] = ()


@dataclass(frozen=True)
class NewClustering:
    """A clustering of a model that is not stored yet. It was merged from the model's own clusters
    if its algorithm is "model"."""

    name: str
    algorithm: str
    parameters: dict[str, Any]
    labels: list[int]
    silhouettes: list[float]
    clusters: list[dict[str, Any]]

    def stored(self, model: Model, own: Clustering | None) -> Clustering:
        return Clustering(
            model_id=model.id,
            merged_from=own.id if own is not None and self.algorithm == OWN else None,
            name=self.name,
            algorithm=self.algorithm,
            parameters=self.parameters,
            labels=self.labels,
            silhouettes=self.silhouettes,
            clusters=self.clusters,
        )


def read_described(session: Session, campaign: Campaign) -> Described:
    versions = select(Model).where(Model.campaign_id == campaign.id).order_by(Model.version.desc())
    newest = session.scalar(versions.limit(1))
    named = [] if newest is None else _named_by_requester(session, newest)
    answers = described_answers(session, campaign, campaign.n_images)
    return Described(answers, _newest_own(session, campaign), named)


def _newest_own(session: Session, campaign: Campaign) -> NamedClustering | None:
    query = (
        select(Clustering, Model.version)
        .join(Model, Clustering.model_id == Model.id)
        .where(
            Model.campaign_id == campaign.id,
            Clustering.algorithm == OWN,
            Clustering.merged_from.is_(None),
        )
        .order_by(Model.version.desc())
        .limit(1)
    )
    row = session.execute(query).first()
    return None if row is None else NamedClustering.of(row[0], row[1])


def _named_by_requester(session: Session, model: Model) -> list[NamedClustering]:
    """Return the newest first. A clustering is left out if it was merged into a newer one: its
    names are in that."""
    listed = list_clusterings(session, model)
    merged = {clustering.merged_from for clustering in listed}
    named = [
        NamedClustering.of(clustering, model.version)
        for clustering in listed
        if (clustering.algorithm != OWN or clustering.merged_from is not None)
        and clustering.id not in merged
        and any(cluster["name"] for cluster in clustering.clusters)
    ]
    return named[:MOST_CARRIED]


def carry_names(
    clusters: Sequence[dict[str, Any]], labels: NDArray[np.int64], before: NamedClustering
) -> dict[int, int]:
    """Give new clusters the names of the earlier ones to which they correspond clearly (`matched`
    of `learning.clusters`), with the version of the model that these names come from.

    labels: (N,) the new cluster of every image. Returns the earlier cluster of each new one.
    """
    n = min(len(labels), len(before.labels))
    same = matched(labels[:n], np.array(before.labels[:n], np.int64))
    for cluster, other in same.items():
        if before.names[other]:
            clusters[cluster]["name"] = before.names[other]
            clusters[cluster][CARRIED_FROM] = before.version
    return same


def carried_clusterings(
    vectors: NDArray[np.float64],
    own: Sequence[int] | None,
    described: Described,
    seed: int,
) -> list[NewClustering]:
    """Return the requester's named clusterings, made again from the positions of a new model.

    vectors: (N, d); own: the (N,) clusters that the model itself learned, if it did. A clustering
    is left out if no name can be carried, or if its algorithm cannot cluster these images. This
    needs no session, because it takes seconds.
    """
    carried = []
    for before in described.named:
        try:
            labels = _clustered_again(before, vectors, own, seed)
        except ValueError as error:
            logger.warning("clustering %r is not carried over: %s", before.name, error)
            continue
        words = cluster_words(labels, *described.answers)
        clusters, silhouettes = described_clusters(vectors, labels, words, seed)
        carry_names(clusters, labels, before)
        if any(cluster["name"] for cluster in clusters):
            parameters = _parameters(before, own)
            clustering = NewClustering(
                before.name, before.algorithm, parameters, labels.tolist(), silhouettes, clusters
            )
            carried.append(clustering)
    return carried


def _parameters(before: NamedClustering, own: Sequence[int] | None) -> dict[str, Any]:
    """Return the parameters of a clustering made again. The number of clusters that a model itself
    learns changes from model to model."""
    if before.algorithm != OWN or own is None:
        return before.parameters
    return {"n_clusters": len(set(own))}


def _clustered_again(
    before: NamedClustering,
    vectors: NDArray[np.float64],
    own: Sequence[int] | None,
    seed: int,
) -> NDArray[np.int64]:
    """Return (N,) labels by the algorithm of an earlier clustering; raises ValueError."""
    # Imported here, so that servers and commands start a second faster.
    from learning.image_clusters import ImageClusters

    if before.algorithm == SELECTION:
        return _kept(np.array(before.labels, np.int64), vectors)
    if before.algorithm == OWN:
        if own is None:
            raise ValueError("the model has no clusters of its own")
        labels = np.array(own, np.int64)
    else:
        n_clusters = int(before.parameters["n_clusters"])
        clusterer = ImageClusters(n_clusters, before.algorithm, seed)
        labels = np.asarray(clusterer.fit_predict(vectors), np.int64)
    return _merged_as_before(labels, before) if before.is_merged else labels


def _kept(labels: NDArray[np.int64], vectors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (N,) the same clusters of the images that somebody selected; images that are new join
    the cluster whose centre is nearest."""
    n = min(len(labels), len(vectors))
    if not n:
        raise ValueError("none of the images is left")
    clusters = np.unique(labels[:n])
    centres = np.stack([vectors[:n][labels[:n] == cluster].mean(axis=0) for cluster in clusters])
    distances = ((vectors[n:, None] - centres) ** 2).sum(axis=2)
    return np.concatenate([labels[:n], clusters[distances.argmin(axis=1)]])


def _merged_as_before(labels: NDArray[np.int64], before: NamedClustering) -> NDArray[np.int64]:
    """Merge new clusters most of whose images were in the same merged cluster."""
    n = min(len(labels), len(before.labels))
    shared = np.zeros((int(labels.max()) + 1, len(before.names)), np.int64)
    np.add.at(shared, (labels[:n], np.array(before.labels[:n], np.int64)), 1)
    return largest_first(shared.argmax(axis=1)[labels])
