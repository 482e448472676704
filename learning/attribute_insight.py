"""What pages show about each attribute: columns, clusters or levels, and an example grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from learning.arrays import FloatArray, IntArray
from learning.baselines import PaperContextEmbedding
from learning.cen import ContextEmbeddingNetwork
from learning.clusters import cluster_figures, largest_first
from learning.groupings import Groupings
from learning.words import cluster_words

# An attribute with more values than this is shown with fewer, larger clusters.
_MOST_CLUSTERS = 20
_N_TYPICAL = 6
# Enough images to recognise an attribute, even in campaigns with small grids.
_EXAMPLE_SIZE = 12
_EXAMPLE_CANDIDATES = 4_000
_ROWS_AT_ONCE = 8_192
# Columns with less than this share of the strongest one's spread show nothing visible.
_MIN_SPREAD = 0.05


@dataclass(frozen=True)
class AttributeCluster:
    """Images that are similar in one attribute.

    size: number of images; silhouette: their mean, in the attribute's columns; images: typical
    ones, medoid first; words: the annotators' words, most distinctive first
    """

    size: int
    silhouette: float
    images: tuple[int, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class ExampleGrid:
    """Images that differ in one attribute (Context Embedding Networks, figure 10).

    groups: the cluster of each image in the attribute's columns; of an ordered attribute its
    level, from the lowest (0) up.
    """

    images: tuple[int, ...]
    groups: tuple[int, ...]


@dataclass(frozen=True)
class AttributeInsight:
    """One attribute.

    columns: the embedding's columns for it, strongest first; one for an ordered attribute.
    clusters: those of an unordered attribute, largest first. example: None if the model cannot
    make grids about an attribute.
    """

    columns: tuple[int, ...]
    clusters: tuple[AttributeCluster, ...]
    example: ExampleGrid | None

    @property
    def ordered(self) -> bool:
        """Whether its images are on one line."""
        return len(self.columns) == 1


def attribute_insight(
    model: ContextEmbeddingNetwork | PaperContextEmbedding,
    groupings: Groupings,
    probability: FloatArray,
    descriptions: Sequence[Sequence[str]],
    attributes: Sequence[int],
    random_state: int = 0,
) -> list[AttributeInsight]:
    """Insight into the given attributes of a model that was fitted to `groupings`.

    probability: (G, K) the model's `attribute_probability` of them; descriptions: G sequences,
    the text of each group number (blank for none). Raises ValueError for an attribute that no
    column shows.
    """
    seen = np.unique(groupings.images[groupings.images >= 0])
    insights = []
    for attribute in attributes:
        columns = attribute_columns(model, attribute)
        if not columns:
            raise ValueError(f"no column of the embedding represents attribute {attribute}")
        labels = image_clusters(model.embedding_[:, columns], seen, random_state)
        clusters: tuple[AttributeCluster, ...] = ()
        if len(columns) > 1:
            words = _words(labels, groupings, descriptions, probability[:, attribute])
            clusters = clusters_of(model.embedding_[:, columns], labels, seen, words)
        example = _example(model, groupings, attribute, labels, random_state)
        insights.append(AttributeInsight(columns, clusters, example))
    return insights


def attribute_columns(
    model: ContextEmbeddingNetwork | PaperContextEmbedding, attribute: int
) -> tuple[int, ...]:
    """The embedding's columns for an attribute, largest spread first, without those that hardly
    spread."""
    if isinstance(model, PaperContextEmbedding):
        return (attribute,)
    own = np.flatnonzero(model.dimension_attribute_ == attribute)
    spread = model.embedding_[:, own].std(axis=0)
    order = np.argsort(-spread, kind="stable")
    least = _MIN_SPREAD * spread.max(initial=0.0)
    return tuple(int(own[place]) for place in order if spread[place] >= least)


def image_clusters(places: FloatArray, seen: IntArray, random_state: int = 0) -> IntArray:
    """(N,) cluster of every image by its position, places (N, d).

    K-means of the images `seen` in answers, with the number of clusters that has the largest
    mean silhouette. Other images belong to the nearest centre. In one dimension, clusters are
    numbered along it; otherwise from the largest to the smallest.
    """
    # Imported here so that servers and commands start a second faster.
    from learning.image_clusters import ImageClusters, suggest_n_clusters

    own = places[seen]
    distinct, labels = np.unique(own, axis=0, return_inverse=True)
    labels = labels.reshape(-1)
    if len(distinct) > 2:
        most = min(_MOST_CLUSTERS, len(distinct) - 1)
        n_clusters = suggest_n_clusters(own, most=most, random_state=random_state).n_clusters
        labels = ImageClusters(n_clusters, random_state=random_state).fit_predict(own)
    labels = largest_first(labels)
    if places.shape[1] == 1:
        means = np.array([own[labels == label].mean() for label in range(labels.max() + 1)])
        labels = np.argsort(np.argsort(means, kind="stable"), kind="stable")[labels]
    centres = np.array([own[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    result = np.empty(len(places), np.int64)
    for start in range(0, len(places), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        result[rows] = cdist(places[rows], centres).argmin(axis=1)
    result[seen] = labels
    return result


def _words(
    labels: IntArray,
    groupings: Groupings,
    descriptions: Sequence[Sequence[str]],
    probability: FloatArray,
) -> list[tuple[str, ...]]:
    """For each cluster, from the answers that are probably about the attribute."""
    about = np.flatnonzero(probability > 0.5)
    shown = [groupings.images[row] >= 0 for row in about]
    return cluster_words(
        labels,
        [groupings.images[row][present] for row, present in zip(about, shown, strict=True)],
        [groupings.groups[row][present] for row, present in zip(about, shown, strict=True)],
        [descriptions[int(row)] for row in about],
        weights=probability[about],
    )


def clusters_of(
    places: FloatArray, labels: IntArray, seen: IntArray, words: Sequence[tuple[str, ...]]
) -> tuple[AttributeCluster, ...]:
    """Clusters of the images `seen`, with places (N, d), labels (N,) from 0 on and the words of
    each cluster."""
    own = labels[seen]
    figures = cluster_figures(places[seen], own, n_typical=_N_TYPICAL)
    return tuple(
        AttributeCluster(
            size=int(size),
            silhouette=float(figures.silhouette[own == label].mean()),
            images=tuple(int(seen[row]) for row in figures.typical[label]),
            words=words[label],
        )
        for label, size in enumerate(figures.sizes)
    )


def _example(
    model: ContextEmbeddingNetwork | PaperContextEmbedding,
    groupings: Groupings,
    attribute: int,
    labels: IntArray,
    random_state: int,
) -> ExampleGrid | None:
    if isinstance(model, PaperContextEmbedding) and model.variant == "annotator":
        # It has no context encoder, which making grids needs.
        return None
    size = min(max(groupings.grid_size, _EXAMPLE_SIZE), groupings.n_images)
    [grid] = model.synthesize_grids(
        1, size, attribute, _EXAMPLE_CANDIDATES, random_state=random_state
    )
    images = grid[np.argsort(labels[grid], kind="stable")]
    return ExampleGrid(
        tuple(int(image) for image in images), tuple(int(group) for group in labels[images])
    )
