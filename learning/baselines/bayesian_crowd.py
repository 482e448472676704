"""Bayesian crowd clustering: annotators as linear classifiers of pairs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.exceptions import (
    ConvergenceWarning,
)
from sklearn.mixture import (
    BayesianGaussianMixture,
)

from learning.arrays import FloatArray, IntArray, check_count, check_index_range, check_positive
from learning.base import Arrays, Progress, State
from learning.baselines.common import EmbeddingBaseline
from learning.groupings import Groupings, Pairs


class BayesianCrowdClustering(EmbeddingBaseline):
    """Gomes, Welinder, Krause and Perona, "Crowdclustering" (2011).

    P(same | i, j, w) = sigmoid(x_i^T W_w x_j + tau_w), W_w symmetric, Gaussian priors on
    images, W_w (about the identity) and tau_w. Mean-field variational inference with the
    Jaakkola-Jordan bound: each image in turn, then each annotator, exact given the others.

    Two simplifications: the spread of q(W) is ignored when images are updated (annotators
    have hundreds of pairs), and the Dirichlet-process mixture over the images is fitted to
    their posterior means afterwards, not jointly.

    Parameters: n_dimensions D; image_deviation, annotator_deviation, bias_deviation of the
    priors; n_sweeps, the maximum, until the bound's slopes change by less than `tolerance`;
    max_clusters of the mixture; random_state.
    Attributes: embedding_ (N, D); annotator_weight_ (W, D, D); annotator_bias_ (W,);
    labels_ (N,) clusters; threshold_, on pair_distance = -log P(same).
    """

    annotator_weight_: FloatArray
    annotator_bias_: FloatArray
    labels_: IntArray

    def __init__(
        self,
        n_dimensions: int = 4,
        image_deviation: float = 1.0,
        annotator_deviation: float = 1.0,
        bias_deviation: float = 1.0,
        n_sweeps: int = 40,
        tolerance: float = 1e-3,
        max_clusters: int = 20,
        random_state: int | None = None,
    ) -> None:
        self.n_dimensions = n_dimensions
        self.image_deviation = image_deviation
        self.annotator_deviation = annotator_deviation
        self.bias_deviation = bias_deviation
        self.n_sweeps = n_sweeps
        self.tolerance = tolerance
        self.max_clusters = max_clusters
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("n_dimensions", "n_sweeps", "max_clusters"):
            check_count(name, getattr(self, name))
        for name in ("image_deviation", "annotator_deviation", "bias_deviation", "tolerance"):
            check_positive(name, getattr(self, name))

    def _learn(self, groupings: Groupings, progress: Progress | None) -> None:
        pairs = groupings.pairs()
        rng = np.random.default_rng(self.random_state)
        state = _Posterior(pairs, self, rng)
        for sweep in range(self.n_sweeps):
            before = state.slopes
            state.update_images()
            state.update_annotators()
            state.update_slopes()
            if progress is not None:
                progress(sweep + 1, self.n_sweeps, {})
            if float(np.abs(state.slopes - before).mean()) < self.tolerance:
                break
        self.embedding_ = state.images
        self.annotator_weight_, self.annotator_bias_ = state.weights, state.bias
        self.labels_ = self._clusters(rng)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) -log P(same), NaN for an uninformative pair."""
        self._check_fitted()
        check_index_range("images", groupings.images, -1, len(self.embedding_))
        check_index_range("annotators", groupings.annotators, 0, len(self.annotator_bias_))
        first, second = np.triu_indices(groupings.grid_size, 1)
        result = np.full((len(groupings), len(first)), np.nan)
        for rows, labels in groupings.label_blocks():
            points = self.embedding_[groupings.images[rows]]
            who = groupings.annotators[rows]
            turned = points @ self.annotator_weight_[who]
            logit = (turned @ points.transpose(0, 2, 1))[:, first, second]
            same = expit(logit + self.annotator_bias_[who][:, None])
            result[rows] = np.where(labels >= 0, -np.log(np.maximum(same, 1e-12)), np.nan)
        return result

    def _clusters(self, rng: np.random.Generator) -> IntArray:
        mixture = BayesianGaussianMixture(
            n_components=min(self.max_clusters, len(self.embedding_)),
            weight_concentration_prior_type="dirichlet_process",
            max_iter=300,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            # Small collections often have fewer distinct positions than clusters.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(mixture.fit_predict(self.embedding_), np.int64)

    def _learned(self) -> tuple[Arrays, State]:
        arrays, state = super()._learned()
        more = {
            "annotator_weight": self.annotator_weight_,
            "annotator_bias": self.annotator_bias_,
            "labels": self.labels_,
        }
        return arrays | more, state

    def _restore(self, arrays: Arrays, state: State) -> None:
        super()._restore(arrays, state)
        self.annotator_weight_ = arrays["annotator_weight"]
        self.annotator_bias_ = arrays["annotator_bias"]
        self.labels_ = arrays["labels"]


@dataclass(frozen=True)
class _Runs:
    """Rows of a table sorted by a key, run by run."""

    order: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, keys: IntArray, n: int) -> _Runs:
        order = np.argsort(keys, kind="stable")
        return cls(order, np.searchsorted(keys[order], np.arange(n + 1)))

    def __getitem__(self, key: int) -> IntArray:
        return self.order[self.bounds[key] : self.bounds[key + 1]]


class _Posterior:
    """Means of q, and the bound's slopes lambda(xi) of every pair."""

    def __init__(
        self, pairs: Pairs, priors: BayesianCrowdClustering, rng: np.random.Generator
    ) -> None:
        self.pairs, self.priors = pairs, priors
        d, n = priors.n_dimensions, pairs.n_images
        self.sign = np.where(pairs.same, 0.5, -0.5)
        self.images = priors.image_deviation * rng.standard_normal((n, d))
        self.image_covariance = np.tile(np.eye(d) * 1e-2, (n, 1, 1))
        self.weights = np.tile(np.eye(d), (pairs.n_annotators, 1, 1))
        self.bias = np.zeros(pairs.n_annotators)
        self.slopes = np.full(len(pairs), 0.125)
        both = np.concatenate([pairs.i, pairs.j])
        self._by_image = _Runs.of(both, n)
        self._by_annotator = _Runs.of(pairs.annotator, pairs.n_annotators)

    def update_images(self) -> None:
        """q(x_i) = N: Bayesian logistic regression on W x_j of its pairs, image by image."""
        pairs, n_pairs = self.pairs, len(self.pairs)
        prior = np.eye(self.images.shape[1]) / self.priors.image_deviation**2
        for image in range(pairs.n_images):
            rows = self._by_image[image]
            if not len(rows):
                self.images[image] = 0.0
                continue
            pair = rows % n_pairs
            other = np.where(rows < n_pairs, pairs.j[pair], pairs.i[pair])
            weight = self.weights[pairs.annotator[pair]]
            slope = self.slopes[pair]
            turned = np.einsum("pab,pb->pa", weight, self.images[other])
            spread = weight @ self.image_covariance[other] @ weight.transpose(0, 2, 1)
            precision = prior + 2 * np.einsum("p,pa,pb->ab", slope, turned, turned)
            precision += 2 * np.einsum("p,pab->ab", slope, spread)
            pull = self.sign[pair] - 2 * slope * self.bias[pairs.annotator[pair]]
            self.image_covariance[image] = np.linalg.inv(precision)
            self.images[image] = self.image_covariance[image] @ (pull @ turned)

    def update_annotators(self) -> None:
        """q(W_w, tau_w): Bayesian logistic regression on the products of the images."""
        d = self.images.shape[1]
        first, second = np.triu_indices(d)
        mean = np.append((first == second).astype(np.float64), 0.0)
        precision = np.full(len(mean), self.priors.annotator_deviation**-2)
        precision[-1] = self.priors.bias_deviation**-2
        for annotator in range(self.pairs.n_annotators):
            pair = self._by_annotator[annotator]
            left, right = self.images[self.pairs.i[pair]], self.images[self.pairs.j[pair]]
            products = left[:, first] * right[:, second]
            products += np.where(first != second, left[:, second] * right[:, first], 0.0)
            design = np.column_stack([products, np.ones(len(pair))])
            weighted = design * (2 * self.slopes[pair])[:, None]
            total = np.diag(precision) + design.T @ weighted
            solved = np.linalg.solve(total, precision * mean + self.sign[pair] @ design)
            matrix = np.zeros((d, d))
            matrix[first, second] = solved[:-1]
            matrix[second, first] = solved[:-1]
            self.weights[annotator], self.bias[annotator] = matrix, solved[-1]

    def update_slopes(self) -> None:
        """lambda(xi) = tanh(xi / 2) / (4 xi), at xi^2 = E[logit^2]."""
        pairs = self.pairs
        turned = np.einsum("pa,pab->pb", self.images[pairs.i], self.weights[pairs.annotator])
        logit = (turned * self.images[pairs.j]).sum(axis=1) + self.bias[pairs.annotator]
        xi = np.sqrt(logit**2 + 1e-8)
        self.slopes = np.tanh(xi / 2) / (4 * xi)
