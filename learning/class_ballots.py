"""Answers in which each image gets one of several classes, or any of several labels, and their
agreement.

One class is stored as its number. Several labels are stored as a bit mask, in which bit `l` stands
for label `l`: 0 means that no label fits, 5 means the first and the third. Either is a group's
number, so that all kinds of answers are stored in the same way; -1 is an image without an answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings
from learning.quality import Agreement
from learning.votes import MISSING, Votes

NONE = -1
# Ten labels need 1,024 masks, which a smallint holds.
MOST_CLASSES = 10


def class_votes_of(groupings: Groupings) -> Votes:
    """(N, W) class that each annotator gave each image, -1 for none.

    If an annotator answered about an image several times, the last answer counts: answers are in
    order of time. -1 in a later answer does not replace a class.
    """
    return _last_number(groupings).astype(np.int8)


def label_votes_of(groupings: Groupings, n_labels: int) -> NDArray[np.int8]:
    """(L, N, W) votes on each label: 1 on, 0 off, -1 without an answer; the last answer counts."""
    last = _last_number(groupings)
    bits = on_off(last, n_labels)
    votes = np.where(last[..., None] == NONE, MISSING, bits).astype(np.int8)
    return np.ascontiguousarray(np.moveaxis(votes, -1, 0))


def unanswered(groupings: Groupings) -> IntArray:
    """(N,) number of annotators who saw an image but never answered about it."""
    shown = np.zeros((groupings.n_images, groupings.n_annotators), np.bool_)
    row, place = np.nonzero(groupings.images >= 0)
    shown[groupings.images[row, place], groupings.annotators[row]] = True
    return np.asarray((shown & (_last_number(groupings) == NONE)).sum(axis=1), np.int64)


def on_off(masks: ArrayLike, n_labels: int) -> BoolArray:
    """(..., L) whether each label is on in each mask; none is in -1."""
    given = np.asarray(masks, np.int64)
    on = (np.maximum(given, 0)[..., None] >> np.arange(n_labels)) & 1
    return np.asarray(on, np.bool_)


def masks_of(labels: ArrayLike) -> IntArray:
    """(...,) masks of (..., L) labels that are on."""
    on = np.asarray(labels, np.bool_)
    return np.asarray((on << np.arange(on.shape[-1])).sum(axis=-1), np.int64)


def _last_number(groupings: Groupings) -> NDArray[np.int16]:
    """(N, W) last group number, -1 for none."""
    last = np.full((groupings.n_images, groupings.n_annotators), NONE, np.int16)
    row, place = np.nonzero((groupings.images >= 0) & (groupings.groups >= 0))
    # Numbers are assigned in order, so the last one stays.
    last[groupings.images[row, place], groupings.annotators[row]] = groupings.groups[row, place]
    return last


def class_agreement(known: ArrayLike, given: ArrayLike) -> Agreement | None:
    """Cohen's kappa (1960) of two answers to the same images, (S,) classes each, over the images
    with a class in both; with its deviation if the given classes were assigned at random.

    None if nothing can be compared, because the known classes are all equal. Given classes that are
    all equal, or missing, have agreement 0. Raises ValueError if the lengths differ.
    """
    reference, classes = _same_length(known, given)
    if not _varies(reference[reference != NONE]):
        return None
    both = (reference != NONE) & (classes != NONE)
    return _kappa([(reference[both], classes[both])])


def class_consistency(earlier: ArrayLike, later: ArrayLike) -> Agreement | None:
    """Agreement of an annotator's two answers to the same images.

    None if either has the same class for all images: a careless annotator would agree perfectly.
    """
    given = np.asarray(later, np.int64)
    return class_agreement(earlier, later) if _varies(given[given != NONE]) else None


def label_agreement(known: ArrayLike, given: ArrayLike, n_labels: int) -> Agreement | None:
    """The mean over labels of Cohen's kappa of two answers to the same images, (S,) masks each.

    A label counts if it is on for some of the known images and off for others. A label that is on
    (or off) for all given images has agreement 0. None if no label counts. The deviation is that of
    the mean if the given masks were assigned to the images at random, so labels that go together
    are not taken for independent. Raises ValueError if the lengths differ.
    """
    reference, masks = _same_length(known, given)
    asked = reference != NONE
    counts = [_varies(on) for on in on_off(reference[asked], n_labels).T]
    if not any(counts):
        return None
    both = asked & (masks != NONE)
    pairs = zip(on_off(reference[both], n_labels).T, on_off(masks[both], n_labels).T, strict=True)
    return _kappa([pair for pair, wanted in zip(pairs, counts, strict=True) if wanted])


def label_consistency(earlier: ArrayLike, later: ArrayLike, n_labels: int) -> Agreement | None:
    """Agreement of an annotator's two answers to the same images.

    None if either has the same labels for all images: a careless annotator would agree perfectly.
    """
    given = np.asarray(later, np.int64)
    if not _varies(given[given != NONE]):
        return None
    return label_agreement(earlier, later, n_labels)


def _kappa(pairs: list[tuple[NDArray[np.generic], NDArray[np.generic]]]) -> Agreement:
    """The mean kappa of several pairs of (n,) values of the same n images.

    A kappa is linear in the number of images that agree, so the mean is a sum over images of
    scores (n, n) of a known and a given image. Its variance over all permutations of the given
    images has a closed form (Hoeffding 1951).
    """
    n = len(pairs[0][0])
    if n < 2:
        return Agreement(0.0, 0.0)
    scores: FloatArray = np.zeros((n, n))
    for known, given in pairs:
        same = (known[:, None] == given[None]).astype(np.float64)
        expected = same.mean()
        if _varies(known) and _varies(given):
            scores += (same - expected) / (1 - expected) / len(pairs)
    centred = scores - scores.mean(axis=0) - scores.mean(axis=1)[:, None] + scores.mean()
    deviation = float((np.square(centred).sum() / (n - 1)) ** 0.5) / n
    return Agreement(float(np.diag(scores).mean()), deviation)


def _varies(values: NDArray[np.generic]) -> bool:
    return len(np.unique(values)) > 1


def _same_length(known: ArrayLike, given: ArrayLike) -> tuple[IntArray, IntArray]:
    reference, answer = np.asarray(known, np.int64), np.asarray(given, np.int64)
    if len(reference) != len(answer):
        raise ValueError(f"Answers to {len(reference)} and {len(answer)} images can't be compared.")
    return reference, answer
