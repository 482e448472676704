"""Types of annotators: whether people see the images in different ways, and which people agree.

The answers of other people (of other folds) give positions x and the probability p_ij that two
images are grouped together. The score of an answer g says in which directions of x it deviates:

    z_g = sum over the pairs of g of  r_ij * vech(x_i x_j')

the derivative of the likelihood with respect to a metric of the annotator's own (Rao's score; the
metric is that of Gomes et al., "Crowdclustering", 2011). r is what remains of the label after a
line of each annotator through everybody's view, with a constant of each answer. So carelessness,
coarse or fine grouping, and putting everything into one group leave nothing: they are not types.
Grids of similar images are grouped more finely than others, by everyone. Scores are therefore
regressed on how similar the images of a grid are, because people get such grids by the round in
which they take part.

If all people see the images in one way, the scores of a person's answers are independent with mean
zero. If there are types, answers of one person point in the same direction. The statistic is the
largest eigenvalue of the products of different answers of one person. Its null distribution is a
wild bootstrap (Wu 1986): the lines plus residuals with random signs for each answer, with all
regressions repeated. It needs no equal variances, so people may differ in noise and in the number
of answers. Directions beyond the first are tested in the same way. Who belongs to which type, and
whether there are more than two, is decided by how well views that others of the type share predict
people's answers (learning/annotator_views.py). Nothing here depends on the attributes of a trained
model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from learning.annotator_scores import (
    AnswerSums,
    fit_lines,
    grid_basis,
    person_sums,
    sample_answers,
    sum_answers,
)
from learning.annotator_views import Assignment, assign_types
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.groupings import Groupings

# A direction in which people differ by chance is taken for types this often.
LEVEL = 0.01
FEWEST_ANSWERS = 3
FEWEST_PEOPLE = 3
# Below this probability it is unclear to which type a person belongs.
LEAST_PROBABILITY = 0.8
MOST_TYPES = 6
_N_SHUFFLES = 999
_MOST_LEVERAGE = 0.9
_N_STEPS = 100
_N_STARTS = 5
# Variance of people within a type, in units of the variance of one answer.
_SPREADS = (0.0, 0.05, 0.1, 0.2, 0.4)
UNCLEAR = -1


@dataclass(frozen=True, eq=False)
class AnnotatorTypes:
    """Types 0, 1, ..., the largest first.

    type:        (W,) int64, UNCLEAR for people with too few or too undecided answers; with one
                 type, 0 for all others
    probability: (W,) of that type
    p_values:    of each tested direction in which people may differ: the first is that of "all see
                 the images in one way"; the last is above LEVEL unless no more were tested
    scores:      (W, D) mean score of each person, whitened: with n answers, their covariance is 1/n
    n_answers:   (W,) answers that were used
    positions:   (N, d) of the images by all answers
    """

    type: IntArray
    probability: FloatArray
    p_values: FloatArray
    scores: FloatArray
    n_answers: IntArray
    positions: FloatArray

    @property
    def n_types(self) -> int:
        return int(self.type.max(initial=0)) + 1

    @property
    def p(self) -> float:
        """Of the null hypothesis that there is one type."""
        return float(self.p_values[0])

    @property
    def sizes(self) -> IntArray:
        """(n_types,) people."""
        return np.bincount(self.type[self.type >= 0], minlength=self.n_types)


def find_types(groupings: Groupings, seed: int = 0) -> AnnotatorTypes:
    """Types of the annotators of `groupings`, and how sure it is that there are several.

    Answers that tell nothing (fewer than two images, nothing grouped) are ignored.
    """
    answers = sample_answers(groupings, seed)
    sums = sum_answers(answers, seed)
    p_values = _p_values(_PersonScores.of(sums), np.random.default_rng([seed, 1]))
    # People of different folds can be compared by their deviation from one common view.
    scores = _PersonScores.of(replace(sums, fold=np.zeros_like(sums.fold)))
    means = scores.means()
    directions = scores.directions(int((p_values <= LEVEL).sum()))
    single = AnnotatorTypes(
        np.where(scores.judged, 0, UNCLEAR),
        scores.judged.astype(np.float64),
        p_values,
        means,
        sums.n_answers,
        sums.positions,
    )
    if directions.shape[1] == 0:
        return single
    best: Assignment | None = None
    for n_types in range(2, directions.shape[1] + 2):
        start = _start_types(means @ directions, scores, n_types)
        assigned = assign_types(answers, start, n_types, seed)
        clear = scores.judged & (assigned.clarity >= LEAST_PROBABILITY)
        sizes = np.bincount(assigned.type[clear], minlength=n_types)
        if sizes.min() < FEWEST_PEOPLE or (best is not None and not assigned.predicts_better(best)):
            break
        best = assigned
    if best is None:
        return single
    clear = scores.judged & (best.clarity >= LEAST_PROBABILITY)
    rank = np.argsort(np.argsort(-np.bincount(best.type[clear]), kind="stable"))
    return replace(
        single,
        type=np.where(clear, rank[best.type], UNCLEAR),
        probability=np.where(scores.judged, best.clarity, 0.0),
    )


def _start_types(means: FloatArray, scores: _PersonScores, n_types: int) -> IntArray:
    """(W,) first types by the mean scores (W, k); UNCLEAR for people with few answers."""
    judged = scores.judged
    mixture = _best_mixture(means[judged], scores.sums.n_answers[judged], n_types)
    start = np.full(len(judged), UNCLEAR)
    start[judged] = mixture.share.argmax(axis=1)
    return start


@dataclass(frozen=True, eq=False)
class _PersonScores:
    """Scores with a covariance of 1 between answers of one person, and their bootstrap.

    expected, errors: (G, C) of the lines, and the rest, as large as before the regression on grids;
    scores: (G, D) adjusted for grids by the basis (G, K);
    whitening: (D, D); judged: (W,) people with enough answers
    """

    sums: AnswerSums
    expected: FloatArray
    errors: FloatArray
    scores: FloatArray
    basis: FloatArray
    whitening: FloatArray
    judged: BoolArray

    @classmethod
    def of(cls, sums: AnswerSums) -> _PersonScores:
        lines = fit_lines(sums, sums.labels)
        basis = grid_basis(sums, lines.slope)
        scores = _adjusted(lines.scores, basis)
        whitening = _whitening(scores, sums.annotator)
        judged = sums.n_answers >= FEWEST_ANSWERS
        # Residuals are smaller than errors by the leverage (HC3, MacKinnon & White 1985).
        leverage = np.minimum((basis**2).sum(axis=1), _MOST_LEVERAGE)
        errors = (sums.labels - lines.expected) / (1 - leverage)[:, None]
        return cls(sums, lines.expected, errors, scores, basis, whitening, judged)

    def means(self) -> FloatArray:
        """(W, D) mean score of each person; 0 without answers."""
        sums = person_sums(
            self.scores @ self.whitening, self.sums.annotator, self.sums.n_annotators
        )
        return np.asarray(sums / np.maximum(self.sums.n_answers, 1)[:, None])

    def bootstrapped(self, rng: np.random.Generator) -> FloatArray:
        """(D, D) products of different answers if everyone has the same view: the lines, plus the
        answers' errors with random signs. All regressions are repeated."""
        signs = rng.choice([-1.0, 1.0], (len(self.sums.labels), 1))
        lines = fit_lines(self.sums, self.expected + signs * self.errors)
        return self.products(_adjusted(lines.scores, self.basis))

    def products(self, scores: FloatArray) -> FloatArray:
        """(D, D) sum of the products of different answers of one person."""
        who = self.sums.annotator
        weight = self.judged[who] / np.sqrt(np.maximum(self.sums.n_answers[who], 1))
        values = (scores @ self.whitening) * weight[:, None]
        total = person_sums(values, who, self.sums.n_annotators)
        return np.asarray(total.T @ total - values.T @ values)

    def directions(self, n: int) -> FloatArray:
        """(D, n) the orthonormal directions in which people differ most."""
        products = self.products(self.scores)
        known = np.zeros((len(products), 0))
        for _ in range(n):
            known = np.column_stack([known, _leading(products, known)[1]])
        return known


def _adjusted(scores: FloatArray, basis: FloatArray) -> FloatArray:
    """What remains of scores (G, D) after a regression on the orthonormal columns (G, K)."""
    return scores - basis @ (basis.T @ scores)


def _leading(products: FloatArray, without: FloatArray) -> tuple[float, FloatArray]:
    """The largest eigenvalue, and its vector, of `products` (D, D) orthogonal to the directions
    `without` (D, k)."""
    others = np.eye(len(products)) - without @ without.T
    eigenvalues, vectors = np.linalg.eigh(others @ products @ others)
    return float(eigenvalues[-1]), vectors[:, -1]


def _whitening(scores: FloatArray, annotator: IntArray) -> FloatArray:
    """(D, D) a factor for scores (G, D) after which answers of one person have covariance 1."""
    n = np.bincount(annotator)
    means = person_sums(scores, annotator, len(n)) / np.maximum(n, 1)[:, None]
    inner = scores - means[annotator]
    covariance = inner.T @ inner / max(1, len(scores) - int((n > 0).sum()))
    covariance += 1e-3 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12)))


def _p_values(scores: _PersonScores, rng: np.random.Generator) -> FloatArray:
    """The p value of each direction in which people differ, and of the first in which they do
    not."""
    width = len(scores.whitening)
    if scores.judged.sum() < 2 * FEWEST_PEOPLE:
        return np.ones(1)
    products = scores.products(scores.scores)
    null = [scores.bootstrapped(rng) for _ in range(_N_SHUFFLES)]
    p_values: list[float] = []
    known = np.zeros((width, 0))
    while len(p_values) < min(MOST_TYPES - 1, width):
        strength, direction = _leading(products, known)
        larger = sum(_leading(each, known)[0] >= strength for each in null)
        p_values.append((1 + larger) / (1 + _N_SHUFFLES))
        if p_values[-1] > LEVEL:
            break
        known = np.column_stack([known, direction])
    return np.array(p_values)


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A mixture of normal distributions of people's mean scores. share: (W, K) probability of each
    type."""

    log_likelihood: float
    share: FloatArray


def _best_mixture(means: FloatArray, n_answers: IntArray, n_types: int) -> _Mixture:
    """The most likely mixture of several starts and variances. means: (W, k); n_answers: (W,)."""
    tried = [
        _expectation_maximisation(means, 1.0 / n_answers[:, None] + spread, centres)
        for spread in _SPREADS
        for centres in _starts(means, n_types)
    ]
    return max(tried, key=lambda fit: fit.log_likelihood)


def _starts(means: FloatArray, n_types: int) -> list[FloatArray]:
    """Parts of equal size along the strongest direction, and random people."""
    rng = np.random.default_rng(0)
    parts = np.array_split(np.argsort(means[:, 0]), n_types)
    random = [means[rng.choice(len(means), n_types, replace=False)] for _ in range(_N_STARTS)]
    return [np.stack([means[part].mean(axis=0) for part in parts]), *random]


def _expectation_maximisation(
    means: FloatArray, variance: FloatArray, centres: FloatArray
) -> _Mixture:
    """The mixture from a start (K, k); variance: (W, 1) of each person's mean."""
    n_people, width = means.shape
    log_share = np.full(len(centres), -np.log(len(centres)))
    before = -np.inf
    for _ in range(_N_STEPS):
        gaps = ((means[:, None] - centres) ** 2).sum(axis=2)
        joint = log_share - gaps / variance / 2 - width * np.log(variance) / 2
        total = scipy.special.logsumexp(joint, axis=1)
        share = np.exp(joint - total[:, None])
        if total.sum() - before < 1e-6:
            break
        before = float(total.sum())
        weight = share / variance
        centres = weight.T @ means / np.maximum(weight.sum(axis=0), 1e-9)[:, None]
        log_share = np.log((share.sum(axis=0) + 1.0) / (n_people + len(centres)))
    return _Mixture(float(total.sum()), share)
