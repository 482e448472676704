"""Features of what images look like: colours and the directions of edges.

CrowdSter section 4 compares the crowd with these simple features.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from skimage.color import rgb2gray, rgb2lab
from skimage.feature import hog
from skimage.transform import resize
from sklearn.decomposition import PCA

from learning.arrays import FloatArray

_SIDE, _CELL, _DIRECTIONS = 64, 16, 8
# Lightness ranges over 100, the colour axes over about as much around zero.
_LAB_LOW, _LAB_HIGH, _LEVELS = (0, -50, -50), (100, 50, 50), 8
_MOST_FEATURES = 40


def appearance_features(images: Iterable[NDArray[np.uint8]]) -> FloatArray:
    """(N, F) features of images (H, W, 3) uint8, F at most 40.

    Principal components of mean Lab colours of a 4 x 4 raster, histograms of the Lab axes,
    and histograms of oriented gradients (Dalal & Triggs 2005); the three have equal weight.
    Raises ValueError without an image.
    """
    rows = [_parts(image) for image in images]
    if not rows:
        raise ValueError("at least one image is needed")
    blocks = [np.stack(block) for block in zip(*rows, strict=True)]
    table = np.concatenate([_standardised(block) for block in blocks], axis=1)
    if len(table) == 1:
        return np.zeros((1, 1))
    n_kept = min(_MOST_FEATURES, *table.shape)
    return np.asarray(PCA(n_kept, random_state=0).fit_transform(table))


def _parts(image: NDArray[np.uint8]) -> tuple[FloatArray, FloatArray, FloatArray]:
    small: FloatArray = resize(image, (_SIDE, _SIDE), anti_aliasing=True)
    lab = rgb2lab(small)
    cells = lab.reshape(4, _SIDE // 4, 4, _SIDE // 4, 3).mean(axis=(1, 3))
    levels = [
        np.histogram(lab[..., k], _LEVELS, (_LAB_LOW[k], _LAB_HIGH[k]))[0] / _SIDE**2
        for k in range(3)
    ]
    edges = hog(
        rgb2gray(small),
        orientations=_DIRECTIONS,
        pixels_per_cell=(_CELL, _CELL),
        cells_per_block=(1, 1),
    )
    return cells.ravel(), np.concatenate(levels), edges


def _standardised(block: FloatArray) -> FloatArray:
    """Centred, with a total variance of one."""
    centred: FloatArray = block - block.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=1).mean())
    return centred / spread if spread > 0 else centred
