"""Answers of the kind `select`: a vote on every image of a grid, and how votes agree.

A vote is stored as a group's number, so that all kinds of answers are kept alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import IntArray
from learning.groupings import Groupings
from learning.quality import Agreement
from learning.votes import MISSING, Votes

YES, NO, UNSURE = 0, 1, 2
CHOICES = ("yes", "no", "unsure")


def votes_of(groupings: Groupings) -> Votes:
    """(N, W) 1 yes, 0 no, -1 where an annotator was not asked or unsure.

    Of several votes of one annotator on one image the last counts: answers come oldest first.
    """
    last = _last_choice(groupings)
    return np.select([last == YES, last == NO], [1, 0], MISSING).astype(np.int8)


def counts_of(groupings: Groupings) -> tuple[IntArray, IntArray, IntArray]:
    """(N,) annotators who say yes, no, and are unsure; the last vote of each counts."""
    last = _last_choice(groupings)
    yes, no, unsure = ((last == choice).sum(axis=1).astype(np.int64) for choice in range(3))
    return yes, no, unsure


def _last_choice(groupings: Groupings) -> NDArray[np.int8]:
    """(N, W) choice, -1 for none."""
    last = np.full((groupings.n_images, groupings.n_annotators), -1, np.int8)
    row, place = np.nonzero((groupings.images >= 0) & (groupings.groups >= 0))
    # Assigned in order: the last one stays.
    last[groupings.images[row, place], groupings.annotators[row]] = groupings.groups[row, place]
    return last


def ballot_agreement(known: ArrayLike, given: ArrayLike) -> Agreement | None:
    """Cohen's kappa (1960) of two answers to the same images, (S,) votes each, of the images that
    both say yes or no to; its deviation if the given votes were dealt out at random.

    None where there is nothing to compare: the known votes are all alike. Given votes that are all
    alike, or all unsure, are no agreement: 0. Raises ValueError when they differ in length.
    """
    one, other = np.asarray(known, np.int64), np.asarray(given, np.int64)
    if len(one) != len(other):
        raise ValueError(f"Votes on {len(one)} and {len(other)} images cannot be compared.")
    if not _has_both(one):
        return None
    both = np.isin(one, (YES, NO)) & np.isin(other, (YES, NO))
    one, other = one[both] == YES, other[both] == YES
    n, yes, said = len(one), int(one.sum()), int(other.sum())
    if n < 2 or yes in (0, n) or said in (0, n):
        return Agreement(0.0, 0.0)
    expected = (yes * said + (n - yes) * (n - said)) / n**2
    # Yes to both has a hypergeometric distribution; each one more makes two votes agree more.
    deviation = (yes * (n - yes) * said * (n - said) / (n**2 * (n - 1))) ** 0.5
    scale = 1 - expected
    return Agreement(float((one == other).mean() - expected) / scale, 2 * deviation / n / scale)


def ballot_consistency(earlier: ArrayLike, later: ArrayLike) -> Agreement | None:
    """Agreement of an annotator's two answers; None where either says the same of all images:
    who never looks repeats perfectly."""
    return ballot_agreement(earlier, later) if _has_both(np.asarray(later, np.int64)) else None


def _has_both(votes: NDArray[np.int64]) -> bool:
    return bool((votes == YES).any() and (votes == NO).any())
