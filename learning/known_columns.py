"""How well attributes of a model agree with known columns of a collection's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from learning.arrays import FloatArray, IntArray
from learning.metrics import clustering_scores

# Columns with fewer different numbers are categories, such as a code, a class or a rating.
LEAST_NUMBERS = 11
MOST_CATEGORIES = 30
LEAST_IMAGES = 10
LEAST_PER_CATEGORY = 2


@dataclass(frozen=True, eq=False)
class KnownColumn:
    """A column with which embeddings can be compared.

    rows: (M,) images with a value; values: (M,) numbers of the categories, or ranks for a column
    of numbers
    """

    kind: Literal["categories", "numbers"]
    rows: IntArray
    values: FloatArray

    @property
    def n_values(self) -> int:
        return len(np.unique(self.values))


@dataclass(frozen=True)
class Agreement:
    """score: for categories the adjusted mutual information of clusters and categories, for numbers
    the correlation of ranks; 0 is chance, 1 complete. balanced_accuracy: for categories, the mean
    share of their images in the matched cluster; chance is 1 / number of categories.
    """

    score: float
    balanced_accuracy: float | None


def known_column(values: Sequence[str | None]) -> KnownColumn | None:
    """A column from its texts (N,), None for images without a value.

    The values are numbers if all texts are and LEAST_NUMBERS differ, otherwise categories, without
    those of fewer than LEAST_PER_CATEGORY images. None for a column that cannot be compared: too
    few images, only one value, or a different value for nearly every image.
    """
    present = [row for row, value in enumerate(values) if value is not None and value.strip()]
    texts = [str(values[row]).strip() for row in present]
    numbers = _numbers(texts)
    if numbers is not None and len(np.unique(numbers)) >= LEAST_NUMBERS:
        return KnownColumn("numbers", np.array(present, np.int64), _ranks(numbers))
    counts = Counter(texts)
    names = sorted(name for name, count in counts.items() if count >= LEAST_PER_CATEGORY)
    code = {name: number for number, name in enumerate(names)}
    kept = [(row, code[text]) for row, text in zip(present, texts, strict=True) if text in code]
    if len(kept) < LEAST_IMAGES or not 2 <= len(names) <= MOST_CATEGORIES:
        return None
    rows, codes = zip(*kept, strict=True)
    return KnownColumn("categories", np.array(rows, np.int64), np.array(codes, np.float64))


def agreement_with(
    column: KnownColumn, coordinates: FloatArray, random_state: int = 0
) -> Agreement:
    """How well positions (N, d) predict the values of a column.

    Categories use k-means with as many clusters as categories. Numbers use the multiple correlation
    of their ranks with those of the coordinates, adjusted for d. Raises ValueError for coordinates
    that are not finite.
    """
    places = np.asarray(coordinates, np.float64)[column.rows]
    if places.ndim != 2 or not np.isfinite(places).all():
        raise ValueError(f"coordinates must be (N, d) and finite, got shape {coordinates.shape}")
    if column.kind == "numbers":
        return Agreement(_multiple_correlation(column.values, places), None)
    categories = column.values.astype(np.int64)
    clusters = _clusters(places, column.n_values, random_state)
    return Agreement(
        clustering_scores(categories, clusters)["ami"], matched_accuracy(categories, clusters)
    )


def matched_accuracy(true: IntArray, clusters: IntArray) -> float:
    """Mean over the categories of the share of their images in the cluster that is matched to them,
    one to one (Hungarian method); true, clusters: (M,)."""
    # Imported here so that servers and commands start a second faster.
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(true, clusters)
    recall = table / table.sum(axis=1, keepdims=True)
    return float(recall[linear_sum_assignment(-recall)].sum() / len(recall))


def _clusters(places: FloatArray, n_clusters: int, random_state: int) -> IntArray:
    from learning.image_clusters import ImageClusters

    n_places = len(np.unique(places, axis=0))
    return ImageClusters(min(n_clusters, n_places), "k-means", random_state).fit_predict(places)


def _multiple_correlation(ranks: FloatArray, places: FloatArray) -> float:
    """sqrt of the adjusted R² of a linear regression of ranks on ranks; 0 below chance."""
    predictors = np.column_stack([_ranks(column) for column in places.T])
    predictors = predictors[:, predictors.std(axis=0) > 0]
    n, d = predictors.shape
    if d == 0 or n <= d + 1:
        return 0.0
    centred = predictors - predictors.mean(axis=0)
    target = ranks - ranks.mean()
    weights, *_ = np.linalg.lstsq(centred, target, rcond=None)
    unexplained = float(((target - centred @ weights) ** 2).sum() / (target**2).sum())
    return float(np.sqrt(max(0.0, 1.0 - unexplained * (n - 1) / (n - d - 1))))


def _numbers(texts: Sequence[str]) -> FloatArray | None:
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return np.array(numbers) if all(map(isfinite, numbers)) else None


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), np.float64)
