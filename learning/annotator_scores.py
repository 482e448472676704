"""In which directions of a shared space of images each answer deviates from everybody's.

See learning/annotator_types.py for the model. The people are divided into folds. Positions are
learned from the people of the other folds, so that nobody's answers are compared with what was
learned from them. Each answer is then reduced to sums over its pairs: with C columns per pair (a
constant, D products of positions, the probability that the others' model expects) the products
(C, C) of the columns, and their sums with the labels (C,). Everything that is tested follows from
these sums, so that the bootstrap can repeat all regressions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
import torch

from learning.answers import Answers
from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings, Pairs
from learning.pooled.fitting import PooledSettings, most_probable, start

_N_DIMENSIONS = 4
N_FOLDS = 3
_N_ITERATIONS = 40
# More answers of one person, or pairs and answers of all people, say little more and cost time.
_MOST_ANSWERS = 40
_MOST_PAIRS = 400_000
_MOST_ROWS = 8_000
# Where not all answers can be used, people keep this many, and grids this many images.
_KEPT_ANSWERS = 10
_KEPT_IMAGES = 64
_RIDGE = 1e-6
# So many answers of a fold are needed for each property of grids that is adjusted for.
_ANSWERS_PER_COLUMN = 10
# Keeps regressions without any pairs solvable: their result is 0.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class AnswerSums:
    """Sums over the pairs of G answers of W annotators.

    products:  (G, C, C) of the columns with each other; the first column is the constant
    labels:    (G, C) of the columns with the labels (1 together, 0 apart)
    annotator: (G,); fold: (G,) 0..F-1 of the annotator; n_annotators: W
    positions: (N, d) of the images by all answers; 0 for images that no answer shows
    """

    products: FloatArray
    labels: FloatArray
    annotator: IntArray
    fold: IntArray
    n_annotators: int
    positions: FloatArray

    @property
    def n_answers(self) -> IntArray:
        """(W,)."""
        return np.bincount(self.annotator, minlength=self.n_annotators)

    @cached_property
    def grams(self) -> FloatArray:
        """(F, C, C) sum of the products of each fold, with a small ridge."""
        grams = np.zeros((int(self.fold.max(initial=0)) + 1, *self.products.shape[1:]))
        np.add.at(grams, self.fold, self.products)
        width = grams.shape[1]
        ridge = _RIDGE * np.trace(grams, axis1=1, axis2=2) / width + _TINY
        return np.asarray(grams + ridge[:, None, None] * np.eye(width))


@dataclass(frozen=True, eq=False)
class Lines:
    """What remains of answers after a straight line through everybody's view: a slope for each
    annotator, and a constant for each answer.

    slope:    (W,)
    expected: (G, C) sums of the columns with what the lines expect
    scores:   (G, D) sums of the products of positions with the residuals, per root of pairs
    """

    slope: FloatArray
    expected: FloatArray
    scores: FloatArray


def fit_lines(sums: AnswerSums, labels: FloatArray) -> Lines:
    """Regress the labels on all columns for each fold, then each person's labels on the result.

    A careless person's line is flat. Constants belong to answers because people group what a grid
    shows: similar images are not all put together where a grid has no others. labels: (G, C), as
    in `sums`, or of a bootstrap.
    """
    totals = person_sums(labels, sums.fold, len(sums.grams))
    view = np.linalg.solve(sums.grams, totals[:, :, None])[sums.fold, :, 0]
    seen = np.einsum("gij,gj->gi", sums.products, view)
    n, first = np.maximum(sums.products[:, 0, 0], 1), sums.products[:, :, 0]
    x, y = seen[:, 0], labels[:, 0]
    each = [(view * seen).sum(axis=1) - x * x / n, (view * labels).sum(axis=1) - x * y / n]
    spread, common = person_sums(np.stack(each, axis=1), sums.annotator, sums.n_annotators).T
    slope = common / np.maximum(spread, 1e-9)
    own = slope[sums.annotator]
    constant = (y - own * x) / n
    expected = constant[:, None] * first + own[:, None] * seen
    return Lines(slope, expected, (labels - expected)[:, 1:-1] / np.sqrt(n)[:, None])


def grid_basis(sums: AnswerSums, slope: FloatArray) -> FloatArray:
    """(G, K) orthonormal: what scores depend on because of the grid, not of the annotator.

    Grids of similar images deviate from everybody's view in one direction for everyone. People
    get them by the round in which they take part. So scores are regressed, in each fold, on the
    mean expected probability of the grid, its square, and the mean times the slope (W,) of the
    annotator, because deviations are smaller in careless answers. Both are centred first: slopes
    alone would take differences between people with them.
    """
    mean = sums.products[:, 0, -1] / np.maximum(sums.products[:, 0, 0], 1)
    own = slope[sums.annotator]
    careless = (own - own.mean()) * (mean - mean.mean())
    columns = np.stack([np.ones_like(mean), mean, mean**2, careless], axis=1)
    blocks = []
    for fold in np.unique(sums.fold):
        rows = sums.fold == fold
        n_columns = min(columns.shape[1], max(1, int(rows.sum()) // _ANSWERS_PER_COLUMN))
        left, size, _ = np.linalg.svd(columns[:, :n_columns] * rows[:, None], full_matrices=False)
        blocks.append(left[:, size > _RIDGE * size[0]])
    return np.concatenate([np.zeros((len(mean), 0)), *blocks], axis=1)


def sum_answers(groupings: Groupings, seed: int = 0) -> AnswerSums:
    """The sums of answers that all tell something."""
    positions, _ = learned_positions(groupings, seed)
    axes = _principal(positions)
    fold = person_folds(groupings, seed)[groupings.annotators]
    width = axes.shape[1] * (axes.shape[1] + 1) // 2 + 2
    products, labels = np.zeros((len(groupings), width, width)), np.zeros((len(groupings), width))
    for number in np.unique(fold):
        own = fold == number
        if own.all():
            continue
        rows = np.flatnonzero(own)
        products[rows], labels[rows] = _fold_sums(
            groupings.subset(own), groupings.subset(~own), axes, seed
        )
    return AnswerSums(
        products, labels, groupings.annotators, fold, groupings.n_annotators, positions
    )


def person_folds(groupings: Groupings, seed: int) -> IntArray:
    """(W,) folds 0..F-1 in which people with answers are divided equally; -1 without answers."""
    people = np.unique(groupings.annotators)
    folds = np.full(groupings.n_annotators, -1)
    order = np.random.default_rng([seed, 2]).permutation(len(people))
    folds[people[order]] = np.arange(len(people)) % N_FOLDS
    return folds


def person_sums(values: FloatArray, owner: IntArray, n: int) -> FloatArray:
    """(n, D) sums of the rows of values (M, D) that have the same owner (M,)."""
    ones = np.ones(len(owner))
    table = scipy.sparse.csr_matrix((ones, (owner, np.arange(len(owner)))), (n, len(owner)))
    return np.asarray(table @ values)


def _fold_sums(
    own: Groupings, others: Groupings, axes: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray]:
    """(G, C, C) and (G, C) sums of the answers `own` about positions by `others`, which are aligned
    to axes (N, d)."""
    places, bias = learned_positions(others, seed)
    pairs = own.pairs()
    expected = scipy.special.expit(bias + (places[pairs.i] * places[pairs.j]).sum(axis=1))
    aligned = places @ np.linalg.lstsq(places, axes, rcond=None)[0]
    columns = np.column_stack([np.ones(len(pairs)), _products(aligned, pairs), expected])
    width = columns.shape[1]
    products, labels = np.zeros((len(own), width, width)), np.zeros((len(own), width))
    assert pairs.grid is not None
    grids, starts = np.unique(pairs.grid, return_index=True)
    label = pairs.same.astype(np.float64)
    for grid, first, end in zip(grids, starts, [*starts[1:], len(pairs)], strict=True):
        products[grid] = columns[first:end].T @ columns[first:end]
        labels[grid] = columns[first:end].T @ label[first:end]
    return products, labels


def sample_answers(groupings: Groupings, seed: int) -> Groupings:
    """The answers that tell something, up to limits of time.

    No person has more than _MOST_ANSWERS. Beyond _MOST_PAIRS pairs or _MOST_ROWS answers in all,
    large grids keep some of their images, and some people all or _KEPT_ANSWERS of their answers,
    because nobody can be judged by an answer or two. What is left out is random.
    """
    rng = np.random.default_rng([seed, 0])
    rows = rng.permutation(np.flatnonzero(groupings.informative_grids()))
    rows = rows[np.argsort(groupings.annotators[rows], kind="stable")]
    who = groupings.annotators[rows]
    rank = np.arange(len(who)) - np.searchsorted(who, who)
    people = rng.permutation(groupings.n_annotators)
    # A person's first answers come together, then the next person's; then everyone's next ones.
    turn = np.lexsort((rank, people[who], rank // _KEPT_ANSWERS))
    turn = turn[rank[turn] < _MOST_ANSWERS][:_MOST_ROWS]
    chosen = groupings.subset(np.sort(rows[turn]))
    if _n_pairs(chosen).sum() <= _MOST_PAIRS:
        return chosen
    thinned = _thinned(groupings.subset(rows[turn]), rng)
    affordable = np.flatnonzero(
        (np.cumsum(_n_pairs(thinned)) <= _MOST_PAIRS) & thinned.informative_grids()
    )
    order = np.argsort(rows[turn[affordable]])
    return thinned.subset(affordable[order])


def _n_pairs(groupings: Groupings) -> IntArray:
    """(G,) pairs of images in each grid."""
    size = (groupings.images >= 0).sum(axis=1)
    return np.asarray(size * (size - 1) // 2)


def _thinned(groupings: Groupings, rng: np.random.Generator) -> Groupings:
    """The answers with at most _KEPT_IMAGES random images each."""
    if groupings.grid_size <= _KEPT_IMAGES:
        return groupings
    # Padding comes last.
    keys = rng.random(groupings.images.shape) + (groupings.images < 0)
    kept = np.argsort(keys, axis=1)[:, :_KEPT_IMAGES]
    return replace(
        groupings,
        images=np.take_along_axis(groupings.images, kept, axis=1),
        groups=np.take_along_axis(groupings.groups, kept, axis=1),
    )


def learned_positions(groupings: Groupings, seed: int) -> tuple[FloatArray, float]:
    """(N, d) the most probable positions in a model without annotators, and the bias."""
    settings = PooledSettings(
        n_dimensions=_N_DIMENSIONS, annotators=False, n_iterations=_N_ITERATIONS
    )
    answers = Answers.of(groupings, torch.device("cpu"))
    generator = torch.Generator().manual_seed(seed)
    model = most_probable(start(answers, settings, generator), answers, settings)
    shown = model.placements.numpy() > 0
    return model.positions.double().numpy() * shown[:, None], float(model.bias)


def _principal(positions: FloatArray) -> FloatArray:
    """Positions (N, d) turned to axes of equal spread, so that no direction dominates."""
    shown = positions[(positions**2).sum(axis=1) > 0]
    values, vectors = np.linalg.eigh(shown.T @ shown / max(1, len(shown)))
    return np.asarray(positions @ (vectors / np.sqrt(np.maximum(values, _RIDGE))))


def _products(positions: FloatArray, pairs: Pairs) -> FloatArray:
    """(P, d(d+1)/2) the entries of the upper triangle of x_i x_j', made symmetric."""
    left, right = positions[pairs.i], positions[pairs.j]
    first, second = np.triu_indices(positions.shape[1])
    return (left[:, first] * right[:, second] + left[:, second] * right[:, first]) / 2
