"""Creates, names, merges and deletes clusterings of a model's images.

The clusters of a clustering never change: merging creates another clustering, and the first one
stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.annotation.checks import FINISHED
from app.annotation.exclusion import is_learned_from
from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign, Grid
from app.collections.models import Image
from app.core.cells import csv_line
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.spreadsheets import neutral
from app.results.models import Clustering, Model
from app.results.vectors import one_at_a_time, read_vectors
from learning.clusters import (
    Suggestion,
    cluster_figures,
    merged,
)
from learning.words import cluster_words

N_TYPICAL = 8
MOST_CLUSTERINGS = 50
MOST_ANSWERS_FOR_WORDS = 20_000
MOST_NAME = 200
TITLES = {"k-means": "k-means", "ward": "Ward", "average": "average linkage"}


def list_clusterings(session: Session, model: Model) -> list[Clustering]:
    """List the clusterings of a model, newest first."""
    query = select(Clustering).where(Clustering.model_id == model.id)
    # A model is published with its own clusters and those that the requester named before.
    is_own = Clustering.algorithm == "model"
    order = (Clustering.created_at.desc(), is_own, Clustering.name, Clustering.id)
    return list(session.scalars(query.order_by(*order)))


def get_clustering(
    session: Session, model: Model, clustering_id: UUID, *, edit: bool = False
) -> Clustering:
    """Return a clustering of this model, under its row lock if it is for `edit`; raises
    NotFound."""
    query = select(Clustering).where(
        Clustering.id == clustering_id, Clustering.model_id == model.id
    )
    clustering = session.scalar(query.with_for_update() if edit else query)
    if clustering is None:
        raise NotFound("This clustering does not exist in this model.")
    return clustering


def make_clustering(
    session: Session,
    account: Account,
    campaign: Campaign,
    model: Model,
    algorithm: str,
    n_clusters: int,
    name: str = "",
) -> Clustering:
    """Cluster the model's images. Raises InvalidInput if that is impossible, Conflict if there are
    too many clusterings already, Busy."""
    # Imported here, so that servers and commands start a second faster.
    from learning.image_clusters import ImageClusters

    require_room(session, model)
    with one_at_a_time():
        vectors = read_vectors(session, model)
        try:
            labels = ImageClusters(n_clusters, algorithm, campaign.seed).fit_predict(vectors)
        except ValueError as error:
            raise InvalidInput(_as_sentence(error), code="cannot_cluster") from error
        clusters, silhouettes = described(session, campaign, vectors, labels)
    clustering = Clustering(
        model_id=model.id,
        name=name.strip()
        or unused_name(session, model, f"{TITLES[algorithm]}, {n_clusters} clusters"),
        algorithm=algorithm,
        parameters={"n_clusters": n_clusters, "random_state": campaign.seed},
        labels=labels.tolist(),
        silhouettes=silhouettes,
        clusters=clusters,
    )
    return add_clustering(session, account, campaign, clustering, "clustering.made")


def suggest(session: Session, campaign: Campaign, model: Model, algorithm: str) -> Suggestion:
    """Return the number of clusters with the best mean silhouette. Raises InvalidInput if there are
    too few different positions, Busy."""
    # Imported here so that the server starts a second faster.
    from learning.image_clusters import suggest_n_clusters

    with one_at_a_time():
        vectors = read_vectors(session, model)
        try:
            return suggest_n_clusters(vectors, algorithm, random_state=campaign.seed)
        except ValueError as error:
            raise InvalidInput(_as_sentence(error), code="cannot_cluster") from error


def merge_clusters(
    session: Session,
    account: Account,
    campaign: Campaign,
    model: Model,
    clustering: Clustering,
    together: list[int],
    name: str = "",
) -> Clustering:
    """Create a clustering in which some clusters are merged. The names of all others are kept.

    name: of the merged cluster; by default the names of its parts, joined. Raises InvalidInput,
    Conflict, Busy.
    """
    require_room(session, model)
    n = len(clustering.clusters)
    chosen = sorted(set(together))
    unknown = [index for index in chosen if not 0 <= index < n]
    if unknown:
        raise InvalidInput(
            f"Clusters are numbered 0 to {n - 1}; there is no cluster {unknown[0]}.",
            code="unknown_cluster",
        )
    if len(chosen) < 2:
        raise InvalidInput("Choose at least two clusters to merge.", code="nothing_to_merge")
    before = np.array(clustering.labels, np.int64)
    labels = merged(before, chosen)
    with one_at_a_time():
        vectors = read_vectors(session, model)
        clusters, silhouettes = described(session, campaign, vectors, labels)
    for index, old in enumerate(clustering.clusters):
        if index not in chosen:
            kept: dict[str, Any] = {
                key: value for key, value in old.items() if key in ("name", "carried_from")
            }
            clusters[int(labels[before == index][0])].update(kept)
    names = [clustering.clusters[index]["name"] for index in chosen]
    joined = name.strip() or ", ".join(dict.fromkeys(given for given in names if given))
    clusters[int(labels[before == chosen[0]][0])]["name"] = joined[:MOST_NAME]
    merger = Clustering(
        model_id=model.id,
        merged_from=clustering.id,
        name=unused_name(session, model, _merged_name(clustering.name, len(clusters))),
        algorithm=clustering.algorithm,
        parameters=clustering.parameters,
        labels=labels.tolist(),
        silhouettes=silhouettes,
        clusters=clusters,
    )
    return add_clustering(session, account, campaign, merger, "clustering.merged")


def rename(clustering: Clustering, name: str | None, names: Mapping[int, str]) -> None:
    """Rename the clustering (None: keep its name) and some of its clusters (blank: no name). Raises
    InvalidInput."""
    if name is not None:
        clustering.name = _checked(name) or clustering.name
    clusters = [dict(cluster) for cluster in clustering.clusters]
    for index, given in names.items():
        if not 0 <= index < len(clusters):
            raise InvalidInput(
                f"Clusters are numbered 0 to {len(clusters) - 1}; there is no cluster {index}.",
                code="unknown_cluster",
            )
        clusters[index]["name"] = _checked(given)
        clusters[index].pop("carried_from", None)
    clustering.clusters = clusters


def delete_clustering(
    session: Session, account: Account, campaign: Campaign, clustering: Clustering
) -> None:
    session.delete(clustering)
    record_audit(
        session, account.id, "clustering.deleted", "campaign", campaign.id, name=clustering.name
    )


def mean_silhouette(clustering: Clustering) -> float:
    return float(np.mean(clustering.silhouettes))


COLUMNS = ("image", "filename", "cluster", "cluster_name", "silhouette")


def clusters_csv(session: Session, campaign: Campaign, clustering: Clustering) -> Iterator[str]:
    """Yield one line per image: its cluster by number and name, and its silhouette."""
    query = (
        select(Image.position, Image.filename)
        .where(Image.collection_id == campaign.collection_id)
        .order_by(Image.position)
    )
    yield csv_line(COLUMNS)
    for (position, filename), label, silhouette in zip(
        session.execute(query), clustering.labels, clustering.silhouettes, strict=False
    ):
        name = clustering.clusters[label]["name"]
        yield csv_line([position, neutral(filename), label, neutral(name), round(silhouette, 6)])


def newest_clusters_csv(session: Session, campaign: Campaign, model: Model) -> Iterator[str]:
    """Yield the same for the model's newest clustering; only the header if there is none."""
    clusterings = list_clusterings(session, model)
    return (
        clusters_csv(session, campaign, clusterings[0])
        if clusterings
        else iter([csv_line(COLUMNS)])
    )


def described(
    session: Session, campaign: Campaign, vectors: NDArray[np.float64], labels: NDArray[np.int64]
) -> tuple[list[dict[str, Any]], list[float]]:
    """Return what is stored of each cluster, and the silhouette of each image."""
    words = cluster_words(labels, *described_answers(session, campaign, len(labels)))
    return described_clusters(vectors, labels, words, campaign.seed)


def described_clusters(
    vectors: NDArray[np.float64],
    labels: NDArray[np.int64],
    words: Sequence[Sequence[str]],
    seed: int,
) -> tuple[list[dict[str, Any]], list[float]]:
    """Return what is stored of each cluster, by number, and the silhouette of each image."""
    figures = cluster_figures(vectors, labels, N_TYPICAL, seed)
    clusters = [
        {
            "name": "",
            "size": int(size),
            "silhouette": round(float(figures.silhouette[labels == index].mean()), 6),
            "cohesion": round(float(figures.cohesion[index]), 6),
            "words": list(words[index]),
            "images": figures.typical[index],
        }
        for index, size in enumerate(figures.sizes)
    ]
    return clusters, [round(float(value), 6) for value in figures.silhouette]


def described_answers(
    session: Session, campaign: Campaign, n_images: int
) -> tuple[list[list[int]], list[list[int]], list[list[str]]]:
    """Return images, groups and descriptions of the newest answers with descriptions that the model
    can use."""
    query = (
        select(Grid.images, Answer.groups, Answer.descriptions)
        .join(Grid, Answer.grid_id == Grid.id)
        .join(Annotator, Answer.annotator_id == Annotator.id)
        .where(
            Answer.campaign_id == campaign.id,
            Answer.state.in_(FINISHED),
            Grid.role == "ask",
            func.cardinality(Answer.descriptions) > 0,
            is_learned_from(),
        )
        .order_by(Answer.submitted_at.desc(), Answer.id)
        .limit(MOST_ANSWERS_FOR_WORDS)
    )
    rows = [
        (images, groups or [], words)
        for images, groups, words in session.execute(query)
        if max(images) < n_images
    ]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def require_room(session: Session, model: Model) -> None:
    """Raise Conflict if the model has as many clusterings as it may have."""
    count = select(func.count()).select_from(Clustering).where(Clustering.model_id == model.id)
    if (session.scalar(count) or 0) >= MOST_CLUSTERINGS:
        raise Conflict(
            f"This model already has {MOST_CLUSTERINGS} clusterings. Delete one first.",
            code="too_many_clusterings",
        )


def add_clustering(
    session: Session, account: Account, campaign: Campaign, clustering: Clustering, event: str
) -> Clustering:
    """Store a new clustering, and record the event for the audit."""
    session.add(clustering)
    session.flush()
    session.refresh(clustering)
    record_audit(session, account.id, event, "campaign", campaign.id, name=clustering.name)
    return clustering


def unused_name(session: Session, model: Model, name: str) -> str:
    """Return `name`, or "NAME (2)" … if other clusterings of the model have it."""
    taken = {clustering.name for clustering in list_clusterings(session, model)}
    names = (f"{name} ({number})" if number > 1 else name for number in count(1))
    return next(candidate for candidate in names if candidate not in taken)


def _merged_name(name: str, n_clusters: int) -> str:
    """Turn "k-means, 8 clusters" into "k-means, 8 clusters, merged to 6"."""
    return f"{name.partition(', merged to ')[0][: MOST_NAME - 20]}, merged to {n_clusters}"


def _checked(name: str) -> str:
    short = " ".join(name.split())
    if len(short) > MOST_NAME:
        raise InvalidInput(f"A name can have at most {MOST_NAME} characters.", code="bad_name")
    return short


def _as_sentence(error: ValueError) -> str:
    text = str(error)
    for name, words in (("n_clusters", "the number of clusters"), ("X", "the images")):
        text = text.replace(f"{name} must", f"{words} must")
    return f"{text[0].upper()}{text[1:]}."
