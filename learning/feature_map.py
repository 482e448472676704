"""A flat map of images by their features, before anybody was asked about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from learning.arrays import FloatArray
from learning.tsne_map import in_unit_square
from learning.wide_tables import as_table, is_large, reduced


def feature_map(features: ArrayLike) -> FloatArray:
    """(N, 2) places in the unit square: the two principal axes of features (N, F), centred, with
    their aspect ratio. Raises ValueError for features that are not (N, F) and finite."""
    table = as_table(features)
    if is_large(table):
        table = reduced(table, random_state=0)
    flat = np.zeros((len(table), 2))
    axes = min(2, *table.shape)
    flat[:, :axes] = PCA(axes, random_state=0).fit_transform(table)
    return in_unit_square(flat)
