"""Combines several workers' labels of each pair."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene

from learning.arrays import FloatArray, IntArray
from learning.groupings import Pairs


@dataclass(frozen=True)
class Consensus:
    """i < j: (P,) images of different pairs; same: (P,) probability that they belong together."""

    i: IntArray
    j: IntArray
    same: FloatArray

    def links(self) -> tuple[IntArray, IntArray]:
        """(must-links (M, 2), cannot-links (C, 2)); undecided pairs are in neither."""
        rows = np.stack([self.i, self.j], axis=1)
        return rows[self.same > 0.5], rows[self.same < 0.5]

    def images(self) -> IntArray:
        """The images in any pair."""
        return np.unique(np.concatenate([self.i, self.j]))


def majority(pairs: Pairs) -> Consensus:
    """The share of the workers who said same."""
    first, second, place = _different(pairs)
    share = np.bincount(place, pairs.same[_two(pairs)]) / np.bincount(place)
    return Consensus(first, second, share)


def dawid_skene(pairs: Pairs, n_iter: int = 100) -> Consensus:
    """Dawid & Skene (1979) with pairs as tasks, by crowd-kit: each worker's sensitivity and
    specificity, the share of same pairs, and what that makes of every pair."""
    first, second, place = _different(pairs)
    two = _two(pairs)
    table = pd.DataFrame(
        {"task": place, "worker": pairs.annotator[two], "label": pairs.same[two].astype(int)}
    )
    with warnings.catch_warnings():
        # crowd-kit uses parts of pandas that a later version drops.
        warnings.simplefilter("ignore", DeprecationWarning)
        probabilities = (
            DawidSkene(n_iter=n_iter).fit_predict_proba(table).reindex(range(len(first)))
        )
    # If all workers gave all pairs the same label, there is no other column.
    chance = probabilities[1].to_numpy(np.float64) if 1 in probabilities else np.zeros(len(first))
    return Consensus(first, second, chance)


def _two(pairs: Pairs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether a pair has two images; a grid that shows an image twice pairs it with itself."""
    return np.asarray(pairs.i != pairs.j)


def _different(pairs: Pairs) -> tuple[IntArray, IntArray, IntArray]:
    two = _two(pairs)
    low, high = np.minimum(pairs.i, pairs.j)[two], np.maximum(pairs.i, pairs.j)[two]
    codes, place = np.unique(low * pairs.n_images + high, return_inverse=True)
    return codes // pairs.n_images, codes % pairs.n_images, place
