"""Answers of the kind `select`, which are a vote on every image of a grid, and their agreement.

A vote is stored as a group's number, so that all kinds of answers are stored in the same way.
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
    """(N, W) votes: 1 yes, 0 no, -1 if an annotator was not asked or is unsure.

    If an annotator voted on an image several times, the last vote counts: answers are in order of
    time.
    """
    last = _last_choice(groupings)
    return np.select([last == YES, last == NO], [1, 0], MISSING).astype(np.int8)


def counts_of(groupings: Groupings) -> tuple[IntArray, IntArray, IntArray]:
    """(N,) numbers of annotators who vote yes, no and unsure; the last vote of each counts."""
    last = _last_choice(groupings)
    yes, no, unsure = ((last == choice).sum(axis=1).astype(np.int64) for choice in range(3))
    return yes, no, unsure


def _last_choice(groupings: Groupings) -> NDArray[np.int8]:
    """(N, W) choice, -1 for none."""
    last = np.full((groupings.n_images, groupings.n_annotators), -1, np.int8)
    row, place = np.nonzero((groupings.images >= 0) & (groupings.groups >= 0))
    # Votes are assigned in order, so the last one stays.
    last[groupings.images[row, place], groupings.annotators[row]] = groupings.groups[row, place]
    return last


def ballot_agreement(known: ArrayLike, given: ArrayLike) -> Agreement | None:
    """Cohen's kappa (1960) of two answers to the same images, (S,) votes each, over the images with
    yes or no in both; with its deviation if the given votes were assigned at random.

    None if nothing can be compared, because the known votes are all equal. Given votes that are all
    equal, or all unsure, have agreement 0. Raises ValueError if the lengths differ.
    """
    reference, votes = np.asarray(known, np.int64), np.asarray(given, np.int64)
    if len(reference) != len(votes):
        raise ValueError(f"Votes on {len(reference)} and {len(votes)} images cannot be compared.")
    if not _has_both(reference):
        return None
    both = np.isin(reference, (YES, NO)) & np.isin(votes, (YES, NO))
    reference, votes = reference[both] == YES, votes[both] == YES
    n, yes, given_yes = len(reference), int(reference.sum()), int(votes.sum())
    if n < 2 or yes in (0, n) or given_yes in (0, n):
        return Agreement(0.0, 0.0)
    expected = (yes * given_yes + (n - yes) * (n - given_yes)) / n**2
    # The number of images with yes in both is hypergeometric; one more makes two more votes agree.
    deviation = (yes * (n - yes) * given_yes * (n - given_yes) / (n**2 * (n - 1))) ** 0.5
    scale = 1 - expected
    return Agreement(
        float((reference == votes).mean() - expected) / scale, 2 * deviation / n / scale
    )


def ballot_consistency(earlier: ArrayLike, later: ArrayLike) -> Agreement | None:
    """Agreement of an annotator's two answers to the same images.

    None if either has the same vote for all images: a careless annotator would agree perfectly.
    """
    return ballot_agreement(earlier, later) if _has_both(np.asarray(later, np.int64)) else None


def _has_both(votes: NDArray[np.int64]) -> bool:
    return bool((votes == YES).any() and (votes == NO).any())
